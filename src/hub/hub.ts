import { createHash } from 'node:crypto';
import { parseAddress } from '../core/address.ts';
import { isExpired, TYPES, type Envelope } from '../core/envelope.ts';
import { AgentBusError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { openJws, publicKeyFromRaw, type OpenedJws } from '../core/jws.ts';
import { LIMITS } from '../core/limits.ts';
import { record, text } from '../core/payload.ts';
import { applyToTask, expireTask, taskOf, type Task } from '../core/task.ts';
import { attachmentsOf, hashOf, noAttachment } from '../core/task-data.ts';
import type { Delivery, HubAgent, HubReceipt, HubRecord, HubStore, MessageStep, RecordQuery } from './store.ts';

export interface SubmitResult {
  id: string;
  state: 'accepted';
  duplicate: boolean;
}

/** States that a recipient may report, each a step that the sender can see. */
export const RECEIPT_STATES = [
  'offered',
  'in-context',
  'missed',
  'presented',
  'unproven',
  'read',
  'replied',
  'resolved',
  'expired',
  'held',
] as const;
// What a message counts as afterwards. A step that says nothing new about the message leaves it.
const CLOSING: ReadonlySet<string> = new Set(['presented', 'read', 'replied', 'resolved', 'expired']);

// Answers to what is open: the task allows one each, and talk must not keep a task from its end.
const CLOSES: ReadonlySet<string> = new Set([TYPES.taskInput, TYPES.taskResult, TYPES.taskError, TYPES.taskCancel]);

// ms. An attachment that no message names by then is forgotten.
const UNSENT = 24 * 3600_000;

/**
 * The hub: routes, stores, verifies. The daemon runs it in-process when no remote hub is configured;
 * both take this same path.
 */
export interface Hub {
  enroll(device: { id: string; workspace: string; publicKey: string }): Promise<void>;
  publicKey(device: string): Promise<string | null>;
  announce(device: string, address: string, card: Record<string, unknown>): Promise<void>;
  directory(device: string): Promise<HubAgent[]>;
  submit(device: string, jws: string): Promise<SubmitResult>;
  submitReceipt(device: string, jws: string): Promise<void>;
  pull(device: string, after: number, limit: number): Promise<Delivery[]>;
  ack(device: string, seqs: readonly number[]): Promise<void>;
  /** The device refused a delivery for good: the message is dead, and its sender learns why. */
  nak(device: string, seq: number, reason: string): Promise<void>;
  addRecords(device: string, records: readonly { id: string; at: number; body: Record<string, unknown> }[]): Promise<void>;
  records(device: string, query: RecordQuery): Promise<HubRecord[]>;
  /** Keeps an attachment for an agent of the device, who may then send it; answers with its hash. */
  putBlob(device: string, address: string, bytes: Buffer): Promise<string>;
  /** The bytes of an attachment, for a party of a message that names it. Throws AB-5008. */
  blob(device: string, address: string, ref: string): Promise<Buffer>;
  /** Ends tasks whose time is over, and drops attachments of expired messages. */
  sweep(): Promise<void>;
  /** Deletes a portion of what is long over. */
  forget(): Promise<void>;
  trace(device: string, messageId: string): Promise<HubReceipt[]>;
  /** Calls back when something is waiting for the device; answers with the way to stop it. */
  watch(device: string, onNews: () => void): () => void;
}

function idInUse(id: string): AgentBusError {
  return new AgentBusError('AB-5005', `${id} was used for another message`, 'every message needs an id of its own');
}

export function createHub(store: HubStore, now: () => number): Hub {
  const watchers = new Map<string, Set<() => void>>();

  function wake(device: string): void {
    for (const onNews of watchers.get(device) ?? []) onNews();
  }

  async function workspaceOf(device: string): Promise<string> {
    const row = await store.device(device);
    if (!row) throw new AgentBusError('AB-4001', `unknown device ${device}`, 'enroll the device first');
    return row.workspace;
  }

  /** Whether the address is the device's; throws AB-4002. */
  async function requireAddress(device: string, address: string): Promise<HubAgent> {
    const agent = await store.agent(address);
    if (agent?.device === device) return agent;
    throw new AgentBusError(
      'AB-4002',
      `${address} does not belong to this device`,
      'an address belongs to the device that claimed it first',
    );
  }

  async function verify(device: string, jws: string): Promise<OpenedJws> {
    const row = await store.device(device);
    const opened = openJws(jws, (id) => (row && id === device ? publicKeyFromRaw(row.publicKey) : null));
    await requireAddress(device, opened.envelope.source);
    if (Date.parse(opened.envelope.time) > now() + LIMITS.clockSkewAhead) {
      throw new AgentBusError('AB-4001', 'message refused: its time lies in the future', 'check the clock of the sending machine');
    }
    return opened;
  }

  async function recipientOf(envelope: Envelope): Promise<HubAgent> {
    const recipient = await store.agent(envelope.subject);
    const workspace = parseAddress(envelope.source)!.workspace;
    if (!recipient || recipient.workspace !== workspace) {
      throw new AgentBusError(
        'AB-5001',
        `no agent called ${envelope.subject}`,
        '`agentbus agents` lists who is known; a Codex session exists from its first prompt on',
      );
    }
    return recipient;
  }

  async function checkLimits(envelope: Envelope): Promise<void> {
    if (CLOSES.has(envelope.type)) return;
    // What a clock that was set back meanwhile left in the future is long over.
    const recent = await store.recentMessages(envelope.source, envelope.subject, now() - 60_000, now());
    if (recent >= LIMITS.pairPerMinute) {
      throw new AgentBusError(
        'AB-5006',
        `more than ${LIMITS.pairPerMinute} messages a minute to ${envelope.subject}`,
        'wait a minute, or put more into one message',
      );
    }
    const open = await store.openMessages(envelope.subject, envelope.source, now());
    if (open.all >= LIMITS.inboxPerAgent || open.fromSource >= LIMITS.inboxPerSender) {
      throw new AgentBusError('AB-5007', `the inbox of ${envelope.subject} is full`, 'it has not read what is there; try again later');
    }
  }

  /** A step that the hub itself takes. */
  function stepOf(
    message: { workspace: string; id: string; source: string; recipient: string },
    state: string,
    detail: Record<string, unknown>,
  ): MessageStep {
    const { workspace, id, source, recipient } = message;
    const receipt: HubReceipt = { id: newId('rct'), workspace, messageId: id, state, at: now(), agent: recipient, detail };
    return { receipt, source, except: null, state };
  }

  async function endIfOverdue(workspace: string, id: string): Promise<void> {
    const devices = await store.endTask(workspace, id, (task) => expireTask(task, newId('rct'), now()));
    devices.forEach(wake);
  }

  async function sweep(): Promise<void> {
    for (const { workspace, id } of await store.overdueTasks(now(), 1_000)) await endIfOverdue(workspace, id);
    await store.sweepBlobs(now());
  }

  async function submit(device: string, jws: string): Promise<SubmitResult> {
    const { envelope } = await verify(device, jws);
    if (isExpired(envelope, now()))
      throw new AgentBusError('AB-7004', `message ${envelope.id} expired before it was taken`, 'send it again with a longer --expires');
    const recipient = await recipientOf(envelope);
    const workspace = recipient.workspace;
    const digest = createHash('sha256').update(jws).digest('hex');
    const known = await store.message(workspace, envelope.id);
    // Receipts and replies name a message by its id alone, so within a workspace that has to be one message.
    if (known && known.source !== envelope.source) throw idInUse(envelope.id);
    if (!known) await checkLimits(envelope);
    const message = {
      workspace,
      source: envelope.source,
      id: envelope.id,
      recipient: envelope.subject,
      conversation: envelope.conversationid,
      jws,
      digest,
      device: recipient.device,
      acceptedAt: now(),
      expiresAt: Date.parse(envelope.expiretime),
      blobs: attachmentsOf(envelope.data).map(({ ref }) => hashOf(ref)),
    };
    if (message.blobs.length > LIMITS.attachments)
      throw new AgentBusError('AB-7005', `${message.blobs.length} attachments`, `at most ${LIMITS.attachments} in one message`);
    const task = taskOf(envelope);
    if (task !== null) await endIfOverdue(workspace, task);
    const decide = (current: Task | null) => applyToTask(current, envelope, workspace, now());
    const added = await store.addMessage(message, stepOf(message, 'accepted', {}), task === null ? undefined : { id: task, decide });
    if (added.result === 'refused') {
      added.devices.forEach(wake);
      throw added.error;
    }
    const { result } = added;
    if (result === 'conflict') throw idInUse(envelope.id);
    if (result === 'new') {
      wake(device);
      wake(recipient.device);
    }
    return { id: envelope.id, state: 'accepted', duplicate: result === 'duplicate' };
  }

  async function submitReceipt(device: string, jws: string): Promise<void> {
    const { envelope } = await verify(device, jws);
    const data = record(envelope.data);
    const state = text(data['state']);
    const workspace = await workspaceOf(device);
    const message = envelope.inreplyto === undefined ? null : await store.message(workspace, envelope.inreplyto);
    if (envelope.type !== TYPES.receipt || !RECEIPT_STATES.some((known) => known === state) || !message) {
      throw new AgentBusError('AB-7001', 'not a receipt for a known message', 'docs/protocol.md has its form');
    }
    if (message.recipient !== envelope.source)
      throw new AgentBusError('AB-4002', 'a receipt comes from the recipient alone', 'docs/protocol.md has its form');
    const at = Date.parse(envelope.time);
    const receipt = {
      id: envelope.id,
      workspace,
      messageId: message.id,
      state: state!,
      at,
      agent: message.recipient,
      detail: record(data['detail']),
    };
    const told = await store.addStep({ receipt, source: message.source, except: device, state: CLOSING.has(state!) ? state : null });
    if (told) wake(told);
  }

  async function settleDeliveries(device: string, seqs: readonly number[], state: string, detail: Record<string, unknown>): Promise<void> {
    for (const told of await store.ack(device, seqs, (message) => stepOf(message, state, detail))) wake(told);
  }

  return {
    enroll(device) {
      publicKeyFromRaw(device.publicKey);
      return store.addDevice({ ...device, enrolledAt: now() });
    },
    publicKey: async (device) => (await store.device(device))?.publicKey ?? null,
    async announce(device, address, card) {
      const workspace = await workspaceOf(device);
      const parsed = parseAddress(address);
      if (parsed?.workspace !== workspace)
        throw new AgentBusError('AB-7002', `${address} is not in workspace ${workspace}`, 'an agent lives in its device’s workspace');
      if (!(await store.putAgent({ address, workspace, device, card, updatedAt: now() }))) {
        throw new AgentBusError(
          'AB-4002',
          `${address} belongs to another device`,
          'an address belongs to the device that claimed it first',
        );
      }
    },
    directory: async (device) => store.agents(await workspaceOf(device)),
    submit,
    submitReceipt,
    pull: (device, after, limit) => store.deliveries(device, after, limit),
    ack: (device, seqs) => settleDeliveries(device, seqs, 'delivered', {}),
    nak: (device, seq, reason) => settleDeliveries(device, [seq], 'dead', { reason }),
    async putBlob(device, address, bytes) {
      const { workspace } = await requireAddress(device, address);
      if (bytes.length > LIMITS.attachmentBytes)
        throw new AgentBusError('AB-7005', `the attachment has ${bytes.length} bytes`, `at most ${LIMITS.attachmentBytes}`);
      const hash = createHash('sha256').update(bytes).digest('hex');
      await store.putBlob({ workspace, hash, bytes, reader: address, until: now() + UNSENT });
      return hash;
    },
    async blob(device, address, ref) {
      const { workspace } = await requireAddress(device, address);
      const bytes = await store.blob(workspace, hashOf(ref), address);
      if (!bytes) throw noAttachment(ref);
      return bytes;
    },
    sweep,
    forget: () => store.forget(now() - LIMITS.kept),
    async addRecords(device, records) {
      const workspace = await workspaceOf(device);
      await store.addRecords(records.map((row) => ({ ...row, workspace })));
    },
    records: async (device, query) => store.records(await workspaceOf(device), query),
    trace: async (device, messageId) => store.receipts(await workspaceOf(device), messageId),
    watch(device, onNews) {
      const set = watchers.get(device) ?? new Set();
      watchers.set(device, set.add(onNews));
      return () => void set.delete(onNews);
    },
  };
}
