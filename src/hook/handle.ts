import { connectedLine, measure } from '../core/frame.ts';
import type { HandedEnv, Harness, HookEvent, InjectPoint } from '../core/harness.ts';
import { LIMITS } from '../core/limits.ts';
import { expiredTasksLine, openTasksLine } from '../core/task.ts';
import { holds, joinSession, promoteIfFree, type IdentityContext } from '../daemon/identity.ts';
import { pausedKey } from '../daemon/overview.ts';
import type { Settings } from '../daemon/settings.ts';
import { addReceipt, composeBatch, promptHash, storeOffers, type Batch } from '../drain/offer.ts';
import { selectMessages, waitsForHuman, type Place } from '../drain/select.ts';
import { readAfterStop, settle, type SettleContext } from '../drain/settle.ts';
import { plainName, recordsOf } from '../record/record.ts';
import type { InboxRow, InstanceRow, RecordRow } from '../store/contract.ts';
import { expiredTasks, forgetExpired } from '../store/expired.ts';

export interface HookContext extends SettleContext, IdentityContext {
  settings(): Settings;
  /** After the answer: look at the record once more in `delay` ms, and a few times later while something is open. */
  settleLater(instance: string, delay: number, attempt?: number): void;
  /** The session went on: what the inbox tool returned to it before counts as read now. */
  confirmReads(instance: string): void;
  /** Tokens and US dollars that an agent's session used: they count for the task that it works on. */
  used(address: string, tokens: number, usd: number): void;
  /** After the answer: writes what the call is recorded as, and tells the hub of a new agent. */
  afterHook(instance: InstanceRow, records: () => RecordRow[]): void;
}

/** Candidates looked at for one output; more than enough for three frames over many conversations. */
const CANDIDATES = 50;

/**
 * Whether the session runs without a person. The environment says so at its start, else the record;
 * null while neither does, and then nothing is shown: a scheduled run must not take a person's mail.
 */
function isHeadless(context: HookContext, harness: Harness, event: HookEvent, handed: HandedEnv | null): boolean | null {
  const said = handed ? harness.headless(handed) : null;
  if (said !== null) return said;
  if (event.transcript === null || !harness.evidence.headless) return null;
  const roots = harness.evidence.roots(context.userHome, handed ?? {});
  const size = context.transcripts.size(roots, event.transcript);
  // A small record is read whole, and then silence means a version that does not say; of a large one the end is read.
  const whole = size <= LIMITS.transcriptWindow;
  const facts = size === 0 ? null : context.transcripts.facts(harness.evidence, roots, event.transcript, whole ? 0 : size);
  if (facts === null) return null;
  const headless = harness.evidence.headless(facts);
  context.transcripts.forget(event.transcript);
  return headless ?? (whole ? false : null);
}

function findOrJoin(
  context: HookContext,
  harness: Harness,
  event: HookEvent,
  handed: HandedEnv | null,
): { instance: InstanceRow; previous: InstanceRow | null; again: boolean } | null {
  const { store } = context;
  const known = store.instance(harness.id, event.sessionKey);
  const starts = event.kind === 'session-start' && event.source !== 'compact';
  // Two configs with our hook fire one start twice; the second is no new session and says nothing.
  const again = starts && known !== null && known.state !== 'ended' && context.now() - known.startedAt < LIMITS.sameStart;
  if (again) return { instance: known, previous: known, again };
  const joins = starts || known === null || (known.state === 'ended' && event.kind === 'prompt');
  if (known && !joins) return { instance: known, previous: known, again: false };
  if (event.subagent || event.kind === 'session-end') return null;
  const headless = isHeadless(context, harness, event, handed);
  if (headless === null) return null;
  const instance = joinSession(context, harness, event, handed ?? {}, headless);
  // A resumed session still has in its context what it was offered; another one has nothing of it, and
  // what was offered to whoever held the place before can't be proved any more.
  if (known) store.moveOffers(known.id, instance.id);
  for (const id of store.instancesWithOffers()) {
    const other = store.instanceById(id);
    if (other && other.id !== instance.id && other.address === instance.address) settle(context, harness, other, 'replaced');
  }
  return { instance, previous: known, again: false };
}

/** The instance after the event: presence, and the budgets that a prompt renews. */
export function progressed(instance: InstanceRow, event: HookEvent, human: boolean, now: number): InstanceRow {
  // A subagent's record and model are its own.
  if (event.subagent) return { ...instance, seenAt: now };
  const next: InstanceRow = {
    ...instance,
    seenAt: now,
    transcript: event.transcript ?? instance.transcript,
    model: plainName(event.model) ?? instance.model,
  };
  if (event.kind === 'prompt') {
    Object.assign(next, { state: 'busy', turnAt: now, turnHops: 0, midFrames: 0, midBytes: 0, stopInTurn: 0 });
    if (human) next.stopTotal = 0;
  } else if (event.kind === 'post-tool' || event.kind === 'post-tool-failure') next.state = 'busy';
  else if (event.kind === 'stop' || event.kind === 'stop-failure' || event.kind === 'interrupt') next.state = 'idle';
  else if (event.kind === 'session-end') Object.assign(next, { state: 'ended', endedAt: now, endReason: event.reason });
  // Whoever interrupts a turn wants quiet: nothing of ours starts or extends one before the next human prompt.
  if (event.kind === 'interrupt') next.stopTotal = LIMITS.stopExtensionsPerPrompt;
  return next;
}

function placeOf(context: HookContext, instance: InstanceRow, event: HookEvent, human: boolean): Place | null {
  if (event.kind === 'prompt') return { kind: 'prompt', human };
  if (event.kind === 'post-tool') return { kind: 'post-tool', framesThisTurn: instance.midFrames, bytesThisTurn: instance.midBytes };
  if (event.kind !== 'stop' || (instance.headless && !instance.named)) return null;
  return {
    kind: 'stop',
    active: event.stopHookActive,
    extensionsThisTurn: instance.stopInTurn,
    extensionsSincePrompt: instance.stopTotal,
    enabled: context.settings().stopInject(instance.harness),
  };
}

/** The messages that may be shown to a recipient now: those of the first conversations, in their order. */
export function candidates(context: HookContext, recipient: string): InboxRow[] {
  const now = context.now();
  const rows = context.store.showable(recipient, now, CANDIDATES);
  const conversations = [...new Set(rows.map((row) => row.conversation))];
  return conversations.flatMap((conversation) => context.store.showableIn(recipient, conversation, now, 3));
}

export interface Injected {
  output: string;
  batch: Batch | null;
  instance: InstanceRow;
}

/** Where in the harness's record the answer to an offer made now will begin. */
function recordSize(context: HookContext, harness: Harness, instance: InstanceRow, event: HookEvent): number {
  if (event.transcript === null) return 0;
  return context.transcripts.size(harness.evidence.roots(context.userHome, instance.env), event.transcript);
}

/** Whether nothing may be shown here now: a stand-by, or paused by its person. */
function isMuted(context: HookContext, instance: InstanceRow): boolean {
  return instance.standby || context.store.meta(pausedKey(instance.address)) === '1';
}

/** The sender learns that the loop brake holds a message, once. */
function noteHeld(context: HookContext, rows: readonly InboxRow[]): void {
  for (const row of rows) {
    if (context.store.receipts(row.id).some((receipt) => receipt.state === 'held')) continue;
    addReceipt(context.store, row, 'held', { reason: `${row.hops} hops without a person: waits for a human prompt` }, context.now());
  }
}

/** The conversations about tasks that are worked on; only between two tool calls does it matter. */
function inFlight(context: HookContext, place: Place, address: string, rows: readonly InboxRow[]): ReadonlySet<string> {
  if (place.kind !== 'post-tool') return new Set();
  return new Set(rows.map((row) => row.conversation).filter((id) => context.store.inFlight(id, address)));
}

/** Tasks that expired since the last prompt, and the open ones for a session that came to its place without a start that named them. */
function untoldTasks({ store }: HookContext, instance: InstanceRow): string {
  if (instance.headless && !instance.named) return '';
  const expired = expiredTasks(store, instance.address).flatMap((id) => store.task(id) ?? []);
  const open = instance.announced === null ? store.openTasks(instance.address) : [];
  return [expiredTasksLine(expired, instance.address), openTasksLine(open, instance.address)].filter((line) => line !== '').join('\n');
}

/** A batch behind a line of its own, both within the budget. */
function composeBehind(line: string, rows: readonly InboxRow[], point: InjectPoint, unread: number | null): Batch {
  if (line === '') return composeBatch(rows, point, unread);
  const batch = composeBatch(rows, { ...point, budget: point.budget - measure(line, point.unit) - 2 }, unread);
  return { ...batch, text: batch.text === '' ? line : `${line}\n\n${batch.text}` };
}

/** Chooses, stores and renders what is shown at this event; the answer is the hook's whole stdout. */
export function inject(context: HookContext, harness: Harness, instance: InstanceRow, event: HookEvent, human: boolean): Injected {
  const nothing = { output: '', batch: null, instance };
  const place = placeOf(context, instance, event, human);
  const point: InjectPoint | undefined =
    event.kind === 'prompt' || event.kind === 'post-tool' || event.kind === 'stop' ? harness.inject[event.kind] : undefined;
  if (!place || !point || event.subagent || isMuted(context, instance)) return nothing;
  // One open offer per event: else a refusal in the harness's record could be either's.
  if (context.store.openOffers(instance.id).some((offer) => offer.state === 'open' && offer.native === event.native)) return nothing;
  const rows = candidates(context, instance.address);
  noteHeld(
    context,
    rows.filter((row) => waitsForHuman(row, place)),
  );
  const chosen = selectMessages(place, rows, inFlight(context, place, instance.address, rows));
  const tasks = place.kind === 'prompt' ? untoldTasks(context, instance) : '';
  if (chosen.length === 0 && tasks === '') return nothing;
  const unread = place.kind === 'prompt' ? context.store.unreadCount(instance.address, context.now()) : null;
  const batch = composeBehind(tasks, chosen, point, unread);
  if (batch.text === '') return nothing;
  // The turn's budget is for whole frames: what would pass it waits for the next prompt.
  const bytes = measure(batch.text, 'utf8');
  if (place.kind === 'post-tool' && instance.midBytes + bytes > LIMITS.midTurnBytesPerTurn) return nothing;

  storeOffers(context.store, instance, event, batch, recordSize(context, harness, instance, event), context.now());
  const hops = place.kind === 'prompt' && place.human ? 0 : Math.max(0, ...batch.shown.map(({ row }) => row.hops));
  const next: InstanceRow = { ...instance, turnHops: Math.max(instance.turnHops, hops) };
  if (tasks !== '') {
    next.announced ??= tasks;
    forgetExpired(context.store, instance.address);
  }
  if (place.kind === 'post-tool') Object.assign(next, { midFrames: next.midFrames + 1, midBytes: next.midBytes + bytes });
  if (place.kind === 'stop') Object.assign(next, { state: 'busy', stopInTurn: next.stopInTurn + 1, stopTotal: next.stopTotal + 1 });
  return { output: point.render(event.native, batch.text), batch, instance: next };
}

/** A compaction took the open tasks out of the context, and what this turn was shown: what is not read yet is shown again. */
function repeat(context: HookContext, harness: Harness, instance: InstanceRow, event: HookEvent): Injected {
  const nothing = { output: '', batch: null, instance };
  const point = harness.inject['session-start'];
  if (!point || isMuted(context, instance)) return nothing;
  const tasks = openTasksLine(context.store.openTasks(instance.address), instance.address);
  const seen = instance.state === 'busy' ? context.store.seenSince(instance.id, instance.turnAt) : [];
  const rows = seen.map((seq) => context.store.inboxBySeq(seq)!);
  const batch = composeBehind(tasks, rows, point, null);
  if (batch.text === '') return nothing;
  storeOffers(context.store, instance, event, batch, recordSize(context, harness, instance, event), context.now());
  return { output: point.render(event.native, batch.text), batch, instance };
}

/** The line of a session start, where a person sees the session; a resume repeats it only when it would say something else. */
function announce(
  context: HookContext,
  harness: Harness,
  instance: InstanceRow,
  previous: InstanceRow | null,
  event: HookEvent,
): { output: string; instance: InstanceRow } {
  const point = harness.inject['session-start'];
  if (!point || instance.standby || (instance.headless && !instance.named)) return { output: '', instance };
  const unread = context.store.unreadCount(instance.address, context.now());
  const tasks = openTasksLine(context.store.openTasks(instance.address), instance.address);
  const line = connectedLine(instance.address, unread) + (tasks === '' ? '' : `\n${tasks}`);
  const next = { ...instance, announced: line };
  if (event.source === 'resume' && previous?.address === instance.address && previous.announced === line)
    return { output: '', instance: next };
  return { output: point.render(event.native, line), instance: next };
}

function respond(
  context: HookContext,
  harness: Harness,
  instance: InstanceRow,
  previous: InstanceRow | null,
  event: HookEvent,
  human: boolean,
): Injected {
  if (event.kind !== 'session-start' || event.subagent) return inject(context, harness, instance, event, human);
  if (event.source === 'compact') return repeat(context, harness, instance, event);
  return { ...announce(context, harness, instance, previous, event), batch: null };
}

/**
 * One hook call: settles what the harness's record proves by now, shows what may be shown, records
 * what happened. Answers with the hook's whole stdout, empty when there is nothing to say.
 */
export function handleHook(context: HookContext, harness: Harness, payload: Record<string, unknown>, handed: HandedEnv | null): string {
  const event = harness.parse(payload);
  if (!event) return '';
  const { store } = context;
  const now = context.now();
  const human = event.prompt !== null && !harness.isMachinePrompt(event.prompt);

  const result = store.mark(() => {
    const joined = findOrJoin(context, harness, event, handed);
    if (!joined) return null;
    // A hook that comes after its session's end is recorded, and brings nothing back: the address may be another's.
    if (joined.instance.state === 'ended') return { instance: joined.instance, output: '', shown: [] };
    const instance = progressed(promoteIfFree(context, joined.instance), event, human, now);
    context.confirmReads(instance.id);
    const open = store.openOffers(instance.id);
    if (event.kind === 'prompt' && event.prompt !== null) {
      for (const offer of open) store.addLaterHash(offer.nonce, promptHash(offer.nonce, event.prompt));
    }
    if (open.length > 0) settle(context, harness, instance, 'live');
    readAfterStop(store, instance, now);
    if (event.usage) context.used(instance.address, event.usage.input + event.usage.output, 0);
    const shown = joined.again ? { output: '', batch: null, instance } : respond(context, harness, instance, joined.previous, event, human);
    store.saveInstance(shown.instance);
    return { instance: shown.instance, output: shown.output, shown: shown.batch?.shown.map(({ row }) => row.id) ?? [] };
  });
  if (!result) return '';

  const { instance, shown } = result;
  if (event.kind === 'session-end') context.settleLater(instance.id, 2 * harness.evidence.flushDelay);
  else if (event.kind === 'stop' || event.kind === 'stop-failure' || event.kind === 'interrupt')
    context.settleLater(instance.id, harness.evidence.flushDelay);
  context.afterHook(instance, () => recordsOf(event, instance, shown, now));
  return result.output;
}

/** What is still open of sessions that ended, died or fell silent: called at the daemon's start and now and then. */
export function sweep(context: HookContext, harnessOf: (id: string) => Harness | null): void {
  const { store } = context;
  store.mark(() => {
    for (const id of store.instancesWithOffers()) {
      const instance = store.instanceById(id);
      const harness = instance && harnessOf(instance.harness);
      if (instance && harness) settle(context, harness, instance, holds(context, instance) ? 'live' : 'ended');
    }
  });
}
