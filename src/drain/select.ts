import { priorityRank, TYPES } from '../core/envelope.ts';
import { LIMITS } from '../core/limits.ts';
import type { InboxRow } from '../store/contract.ts';

/** Where messages can be shown, and what has been shown in this turn so far. */
export type Place =
  | { kind: 'prompt'; human: boolean }
  | { kind: 'post-tool'; framesThisTurn: number; bytesThisTurn: number }
  | { kind: 'stop'; active: boolean; extensionsThisTurn: number; extensionsSincePrompt: number; enabled: boolean };

const HIGH = priorityRank('high');

/** Messages past the hop limit wait for a person: two models that answer each other for ever end here. */
export function waitsForHuman(row: InboxRow, place: Place): boolean {
  return row.hops >= LIMITS.maxHops && !(place.kind === 'prompt' && place.human);
}

function byConversation(rows: readonly InboxRow[]): Map<string, InboxRow[]> {
  const groups = new Map<string, InboxRow[]>();
  for (const row of rows) groups.set(row.conversation, [...(groups.get(row.conversation) ?? []), row]);
  return groups;
}

/** An urgent message lifts the ones before it in its conversation, which have to come first. */
function rank(queue: readonly InboxRow[]): number {
  return Math.max(...queue.map((row) => row.priority));
}

function atPrompt(rows: readonly InboxRow[]): InboxRow[] {
  const queues = [...byConversation(rows).values()];
  const shownOf = new Map<string, number>();
  const chosen: InboxRow[] = [];
  while (chosen.length < LIMITS.promptFrames) {
    const open = queues.filter((queue) => queue.length > 0);
    if (open.length === 0) break;
    const shown = (queue: readonly InboxRow[]): number => shownOf.get(queue[0]!.source) ?? 0;
    open.sort((a, b) => rank(b) - rank(a) || shown(a) - shown(b) || a[0]!.seq - b[0]!.seq);
    const row = open[0]!.shift()!;
    shownOf.set(row.source, (shownOf.get(row.source) ?? 0) + 1);
    chosen.push(row);
  }
  return chosen;
}

function first(rows: readonly InboxRow[], urgent: (row: InboxRow) => boolean): InboxRow[] {
  const queue = [...byConversation(rows).values()]
    .filter((group) => group.some(urgent))
    .sort((a, b) => rank(b) - rank(a) || a[0]!.seq - b[0]!.seq)[0];
  return queue ? [queue[0]!] : [];
}

/** A question, an answer, the end of a task: somebody's work waits for it, or has waited. */
function isTaskNews(row: InboxRow, inFlight: ReadonlySet<string>): boolean {
  return !row.status && (inFlight.has(row.conversation) || row.type === TYPES.taskResult || row.type === TYPES.taskError);
}

/**
 * What may be shown now, in order. `rows` are the showable messages, each conversation in its own
 * order; `inFlight` are the conversations about tasks that are being worked on. Pure; docs/architecture.md has the rules.
 */
export function selectMessages(place: Place, rows: readonly InboxRow[], inFlight: ReadonlySet<string>): InboxRow[] {
  // Dropping a message drops what follows it in its conversation, so the order holds.
  const stopped = new Set<string>();
  const allowed = rows.filter((row) => {
    if (stopped.has(row.conversation) || waitsForHuman(row, place)) stopped.add(row.conversation);
    return !stopped.has(row.conversation);
  });
  if (place.kind === 'prompt') return atPrompt(allowed);
  if (place.kind === 'post-tool') {
    const full = place.framesThisTurn >= LIMITS.midTurnFramesPerTurn || place.bytesThisTurn >= LIMITS.midTurnBytesPerTurn;
    return full ? [] : first(allowed, (row) => row.priority >= HIGH || isTaskNews(row, inFlight));
  }
  const over =
    place.active || !place.enabled || place.extensionsThisTurn > 0 || place.extensionsSincePrompt >= LIMITS.stopExtensionsPerPrompt;
  if (over) return [];
  return first(allowed, (row) => (row.priority >= HIGH || row.type === TYPES.taskRequest) && !row.stopUsed).filter((row) => !row.stopUsed);
}
