import type { Harness, OpenOffer, Verdict } from '../core/harness.ts';
import { LIMITS } from '../core/limits.ts';
import type { InstanceRow, OfferRow, Store } from '../store/contract.ts';
import { addReceipt, promptHash } from './offer.ts';
import type { TranscriptReader } from './transcript.ts';

export interface SettleContext {
  store: Store;
  transcripts: TranscriptReader;
  now(): number;
  /** The user's home directory, under which harnesses keep their records. */
  userHome: string;
}

function toOpenOffer(row: OfferRow): OpenOffer {
  return {
    nonce: row.nonce,
    kind: row.kind,
    native: row.native,
    at: row.at,
    offset: row.start,
    toolIds: row.toolIds,
    isPrompt: (text) => row.promptHash !== null && promptHash(row.nonce, text) === row.promptHash,
    isLaterPrompt: (text) => row.laterHashes.length > 0 && row.laterHashes.includes(promptHash(row.nonce, text)),
  };
}

function judge(context: SettleContext, harness: Harness, instance: InstanceRow, row: OfferRow): Verdict {
  const { evidence } = harness;
  const roots = evidence.roots(context.userHome, instance.env);
  const offer = toOpenOffer(row);
  if (row.transcript !== null) {
    const facts = context.transcripts.facts(evidence, roots, row.transcript, row.start);
    const verdict: Verdict = facts ? evidence.judge(offer, facts) : { state: 'unknown' };
    if (verdict.state !== 'unknown') return verdict;
  }
  // A fork or a backtrack goes on in another file, which repeats what the model still has.
  if (instance.transcript !== null && instance.transcript !== row.transcript) {
    const facts = context.transcripts.facts(evidence, roots, instance.transcript, 0);
    if (facts) return evidence.judge({ ...offer, offset: 0 }, facts);
  }
  return { state: 'unknown' };
}

/** What an instance has seen at a stop counts as read once the turn that it began has ended. */
export function readAfterStop(store: Store, instance: InstanceRow, now: number): void {
  if (instance.state === 'busy') return;
  for (const seq of store.seenAtStop(instance.id)) {
    const message = store.inboxBySeq(seq);
    if (message && store.advance(seq, 'read')) addReceipt(store, message, 'read', { by: 'stop' }, now);
  }
}

/** Keeps what is known of an offer now, and tells its sender. Runs inside the caller's transaction. */
export function acknowledge(context: Pick<SettleContext, 'store' | 'now'>, offer: OfferRow, verdict: Verdict): void {
  const { store } = context;
  const message = store.inboxBySeq(offer.message);
  if (!message) return;
  const now = context.now();
  const detail = { event: offer.native, offer: offer.nonce, instance: offer.instance };
  if (verdict.state === 'presented') {
    store.setOffer(offer.nonce, 'presented');
    store.advance(message.seq, 'presented');
    addReceipt(
      store,
      message,
      'presented',
      { ...detail, evidence: verdict.evidence, ...(verdict.truncated ? { truncated: true } : {}) },
      now,
    );
  } else if (verdict.state === 'accepted' && offer.state === 'open') {
    store.setOffer(offer.nonce, 'accepted');
    addReceipt(store, message, 'in-context', detail, now);
  } else if (verdict.state === 'miss') {
    store.setOffer(offer.nonce, 'miss');
    addReceipt(store, message, 'missed', { ...detail, reason: verdict.reason }, now);
  }
}

/** An offer that can no longer be proved either way: the message may be shown once more, marked. */
function giveUp(context: SettleContext, offer: OfferRow, reason: string): void {
  const { store } = context;
  const message = store.inboxBySeq(offer.message);
  store.setOffer(offer.nonce, 'unproven');
  if (!message) return;
  store.countUnproven(message.seq);
  addReceipt(store, message, 'unproven', { event: offer.native, offer: offer.nonce, instance: offer.instance, reason }, context.now());
}

/**
 * How it stands with the session whose record is looked at. `ended`: nothing more will be written, so
 * what is unknown stays unproven; what is accepted waits, since a resumed session still has it in its
 * context. `replaced`: another session speaks for the address, which has nothing of it.
 */
export type SessionState = 'live' | 'ended' | 'replaced';

/**
 * Looks at the harness's record for everything that was offered to an instance and has no verdict yet.
 * Runs inside the caller's transaction.
 */
export function settle(context: SettleContext, harness: Harness, instance: InstanceRow, session: SessionState): void {
  const open = context.store.openOffers(instance.id);
  const paths = new Set<string>();
  for (const offer of open) {
    if (offer.transcript !== null) paths.add(offer.transcript);
    if (instance.transcript !== null) paths.add(instance.transcript);
    const verdict = judge(context, harness, instance, offer);
    acknowledge(context, offer, verdict);
    if (verdict.state !== 'unknown' && verdict.state !== 'accepted') continue;
    if (session === 'replaced') giveUp(context, offer, 'another session took over before the model answered');
    else if (session === 'ended' && verdict.state === 'unknown') giveUp(context, offer, 'the session ended without a trace of it');
    else if (context.now() - offer.at > LIMITS.offerUnproven) giveUp(context, offer, 'no proof within a day');
  }
  if (context.store.openOffers(instance.id).length === 0) for (const path of paths) context.transcripts.forget(path);
  readAfterStop(context.store, instance, context.now());
}
