import { createHash } from 'node:crypto';
import { measure, moreUnreadLine, renderFrame, type FrameInput } from '../core/frame.ts';
import type { HookEvent, InjectPoint } from '../core/harness.ts';
import { newId, newNonce } from '../core/ids.ts';
import { readJws } from '../core/jws.ts';
import type { InboxRow, InstanceRow, Store } from '../store/contract.ts';

// Both sides of a comparison are cut to this many characters; harnesses trim and extend prompts.
const PROMPT_CHARS = 80;

/** A prompt's start, hashed with the offer's nonce: enough to find its row, useless for anything else. */
export function promptHash(nonce: string, prompt: string): string {
  return createHash('sha256')
    .update(`${nonce}\n${prompt.trim().slice(0, PROMPT_CHARS)}`)
    .digest('base64url')
    .slice(0, 22);
}

export function frameInput(row: InboxRow, offer: string): FrameInput {
  const envelope = readJws(row.jws);
  return {
    id: row.id,
    type: row.type,
    from: row.source,
    conversation: row.conversation,
    traceparent: envelope.traceparent,
    receivedAt: row.receivedAt,
    expires: envelope.expiretime,
    redelivery: row.shows > 0,
    offer,
    data: envelope.data,
  };
}

interface Shown {
  row: InboxRow;
  nonce: string;
}

export interface Batch {
  text: string;
  shown: Shown[];
}

const GAP = '\n\n';

/**
 * The text of an output: whole frames within the budget (only the first may be cut) and, at a prompt,
 * the count of what else is unread. Pure but for the nonces.
 */
export function composeBatch(rows: readonly InboxRow[], point: InjectPoint, unread: number | null): Batch {
  const shown: Shown[] = [];
  const texts: string[] = [];
  const reserve = unread === null ? 0 : measure(GAP + moreUnreadLine(unread), point.unit);
  let room = point.budget - reserve;
  for (const row of rows) {
    const nonce = newNonce();
    const isFirst = texts.length === 0;
    const frame = renderFrame(frameInput(row, nonce), isFirst ? room : Number.MAX_SAFE_INTEGER, point.unit);
    const size = measure(frame.text, point.unit) + (isFirst ? 0 : GAP.length);
    // The order of a conversation must hold, so nothing behind a frame that does not fit is tried.
    if (size > room || (!isFirst && frame.truncated)) break;
    room -= size;
    texts.push(frame.text);
    shown.push({ row, nonce });
  }
  const rest = unread === null ? 0 : unread - shown.length;
  if (texts.length > 0 && rest > 0) texts.push(moreUnreadLine(rest));
  return { text: texts.join(GAP), shown };
}

/** Stores what is about to be shown. Without a stored offer nothing is shown. Runs inside the caller's transaction. */
export function storeOffers(store: Store, instance: InstanceRow, event: HookEvent, batch: Batch, start: number, now: number): void {
  for (const { row, nonce } of batch.shown) {
    store.addOffer({
      nonce,
      instance: instance.id,
      message: row.seq,
      kind: event.kind,
      native: event.native,
      transcript: event.transcript,
      start,
      toolIds: event.tools.map((call) => call.id).filter((id) => id !== null),
      promptHash: event.prompt === null ? null : promptHash(nonce, event.prompt),
      laterHashes: [],
      at: now,
      state: 'open',
    });
    store.countShow(row.seq, event.kind === 'stop');
    addReceipt(store, row, 'offered', { event: event.native, offer: nonce, instance: instance.id, redelivery: row.shows > 0 }, now);
  }
}

/** A step of a message at its recipient: kept here, and on its way to the sender. */
export function addReceipt(store: Store, row: InboxRow, state: string, detail: Record<string, unknown>, now: number): void {
  store.addReceipt({ id: newId('rct'), messageId: row.id, state, at: now, agent: row.recipient, sender: row.source, detail, queued: true });
}
