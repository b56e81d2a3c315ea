import { newId, newNonce } from '../../src/core/ids.ts';
import type { AgentRow, InstanceRow, OfferRow, ReceiptRow, Store } from '../../src/store/contract.ts';

export const NOW = Date.parse('2026-10-10T14:00:00Z');
export const CLAUDE = 'agent://local/shop/claude';
export const CODEX = 'agent://local/shop/codex';

export function agentRow(address = CLAUDE, changes: Partial<AgentRow> = {}): AgentRow {
  return { address, kind: 'slot', harness: 'claude', epoch: 0, createdAt: NOW, ...changes };
}

export function instanceRow(changes: Partial<InstanceRow> = {}): InstanceRow {
  return {
    id: newId('ins'),
    harness: 'claude',
    sessionKey: 'session-1',
    address: CLAUDE,
    epoch: 1,
    state: 'idle',
    headless: false,
    named: false,
    standby: false,
    cwd: '/home/dev/shop',
    root: '/home/dev/shop',
    transcript: '/home/dev/.claude/projects/shop/s.jsonl',
    pid: 4242,
    model: 'model-1',
    env: { CLAUDE_PID: '4242' },
    turnHops: 3,
    turnAt: NOW,
    midFrames: 1,
    midBytes: 900,
    stopInTurn: 1,
    stopTotal: 2,
    announced: 'AgentBus connected',
    startedAt: NOW,
    seenAt: NOW,
    endedAt: null,
    endReason: null,
    ...changes,
  };
}

export type NewInbox = Parameters<Store['addInbox']>[0];

export function inboxRow(changes: Partial<NewInbox> = {}): NewInbox {
  return {
    workspace: 'local',
    source: CODEX,
    id: newId('msg'),
    recipient: CLAUDE,
    conversation: newId('cnv'),
    conversationSeq: 1,
    task: null,
    status: false,
    type: 'agentbus.message.v1',
    priority: 1,
    hops: 1,
    jws: '{}',
    digest: 'digest-1',
    receivedAt: NOW,
    expiresAt: NOW + 3_600_000,
    ...changes,
  };
}

/** Adds a message and answers with its row as stored. */
export function receive(store: Store, changes: Partial<NewInbox> = {}) {
  const row = inboxRow(changes);
  store.addInbox(row);
  return store
    .listInbox(row.recipient, { unreadOnly: false, after: 0, limit: 10_000 })
    .find(({ id, source }) => id === row.id && source === row.source)!;
}

/** An instance that is saved together with the agent it speaks for. */
export function join(store: Store, changes: Partial<InstanceRow> = {}): InstanceRow {
  const row = instanceRow(changes);
  store.addAgent(agentRow(row.address));
  store.saveInstance(row);
  return row;
}

export function offerRow(instance: string, message: number, changes: Partial<OfferRow> = {}): OfferRow {
  return {
    nonce: newNonce(),
    instance,
    message,
    kind: 'prompt',
    native: 'UserPromptSubmit',
    transcript: '/home/dev/.claude/projects/shop/s.jsonl',
    start: 120,
    toolIds: ['toolu_1', 'toolu_2'],
    promptHash: 'hash',
    laterHashes: [],
    at: NOW,
    state: 'open',
    ...changes,
  };
}

export function receiptRow(messageId: string, changes: Partial<ReceiptRow> = {}): ReceiptRow {
  return {
    id: newId('rct'),
    messageId,
    state: 'offered',
    at: NOW,
    agent: CLAUDE,
    sender: CODEX,
    detail: { event: 'Stop' },
    queued: true,
    ...changes,
  };
}
