import { buildEnvelope, priorityRank, type Priority } from '../../src/core/envelope.ts';
import { signEnvelope } from '../../src/core/jws.ts';
import type { InboxRow } from '../../src/store/contract.ts';
import { newKeys } from '../core/samples.ts';
import { CLAUDE, CODEX, NOW } from '../store/rows.ts';

const keys = newKeys();
let seq = 0;

export interface Wanted {
  conversation?: string;
  priority?: Priority;
  from?: string;
  type?: string;
  hops?: number;
  data?: unknown;
  stopUsed?: boolean;
  shows?: number;
}

/** An inbox row as the store gives it; each later than the one before. */
export function message(wanted: Wanted = {}): InboxRow {
  seq++;
  const envelope = buildEnvelope(
    {
      from: wanted.from ?? CODEX,
      to: CLAUDE,
      data: wanted.data ?? 'hello',
      type: wanted.type,
      priority: wanted.priority,
      conversation: wanted.conversation ?? `cnv-${seq}`,
      hops: wanted.hops,
    },
    NOW,
  );
  return {
    seq,
    workspace: 'local',
    source: envelope.source,
    id: envelope.id,
    recipient: CLAUDE,
    conversation: envelope.conversationid,
    conversationSeq: seq,
    task: null,
    status: false,
    type: envelope.type,
    priority: priorityRank(envelope.priority),
    hops: envelope.hops,
    jws: signEnvelope(envelope, keys.id, keys.key),
    digest: 'digest',
    receivedAt: NOW,
    expiresAt: Date.parse(envelope.expiretime),
    state: 'unread',
    shows: wanted.shows ?? 0,
    unproven: 0,
    stopUsed: wanted.stopUsed ?? false,
  };
}
