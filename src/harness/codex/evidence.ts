import { join } from 'node:path';
import { findFrames } from '../../core/frame.ts';
import type { BaseFact, Evidence, OpenOffer, Verdict } from '../../core/harness.ts';
import { list, record, text, type Json } from '../../core/payload.ts';

/**
 * Codex's rollout: append-only JSON lines. Accepted context is a developer message (at Stop: a user
 * message with our text XML-escaped), and every row the model made says by `sampled_through_sequence`
 * how much of the history it had seen. Refused output leaves no row.
 */
export interface CodexFact extends BaseFact {
  what: 'context' | 'answer' | 'prompt' | 'tool-output' | 'compacted' | 'turn-start' | 'turn-end' | 'usage';
  whole: string[];
  cut: string[];
  /** Place in the thread's history; null in rows of older versions. */
  sequence: number | null;
  /** The last place that the model had seen when it made this row. */
  sampled: number | null;
  callId: string | null;
  prompt: string;
  /** `exec` or `user`, of a turn-start. */
  trigger: string | null;
  aborted: boolean;
}

const ANSWERS = new Set(['function_call', 'custom_tool_call', 'local_shell_call', 'reasoning', 'web_search_call']);

/** Undoes the XML escaping that Codex gives a Stop hook's reason. */
export function unescape(escaped: string): string {
  return escaped
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&apos;', "'")
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}

function blank(pos: number, row: Json): CodexFact {
  const metadata = record(row['metadata']);
  const number = (value: unknown): number | null => (typeof value === 'number' ? value : null);
  return {
    pos,
    what: 'usage',
    whole: [],
    cut: [],
    sequence: number(metadata['history_sequence']),
    sampled: number(metadata['sampled_through_sequence']),
    callId: null,
    prompt: '',
    trigger: null,
    aborted: false,
  };
}

function responseItem(fact: CodexFact, payload: Json): CodexFact | null {
  const type = text(payload['type']) ?? '';
  if (ANSWERS.has(type) || (type === 'message' && payload['role'] === 'assistant')) return { ...fact, what: 'answer' };
  if (type.endsWith('_output')) return { ...fact, what: 'tool-output', callId: text(payload['call_id']) };
  if (type !== 'message') return null;
  // A whole frame stands in one string; what only adds up over two strings is no frame.
  const parts = list(payload['content']).map((part) => text(record(part)['text']) ?? '');
  const hook = parts[0]?.startsWith('<hook_prompt ') === true;
  const frames = parts.map((part) => findFrames(hook ? unescape(part) : part));
  const whole = frames.flatMap((found) => found.whole);
  const cut = frames.flatMap((found) => found.cut);
  if (whole.length + cut.length > 0) return { ...fact, what: 'context', whole, cut };
  return payload['role'] === 'user' && !hook ? { ...fact, what: 'prompt', prompt: parts.join('').slice(0, 200) } : null;
}

function project(row: Json, pos: number): CodexFact | null {
  const payload = record(row['payload']);
  const fact = blank(pos, row);
  if (row['type'] === 'response_item') return responseItem(fact, payload);
  if (row['type'] === 'compacted') return { ...fact, what: 'compacted' };
  if (row['type'] === 'token_usage_record') return fact;
  if (row['type'] !== 'event_msg') return null;
  if (payload['type'] === 'task_started')
    return { ...fact, what: 'turn-start', trigger: text(record(payload['turn_attribution'])['turn_trigger']) };
  if (payload['type'] === 'task_complete') return { ...fact, what: 'turn-end' };
  if (payload['type'] === 'turn_aborted') return { ...fact, what: 'turn-end', aborted: true };
  return payload['type'] === 'token_count' ? fact : null;
}

/** Whether the model made `answer` with `earlier` in its request. */
function hadSeen(answer: CodexFact, earlier: CodexFact, facts: readonly CodexFact[]): boolean {
  if (answer.what !== 'answer' || answer.pos < earlier.pos) return false;
  if (earlier.sequence !== null) return (answer.sampled ?? -1) >= earlier.sequence;
  // Without metadata: made after the next finished request.
  const usage = facts.find((fact) => fact.what === 'usage' && fact.pos > earlier.pos);
  return usage !== undefined && answer.pos > usage.pos;
}

function judgeAccepted(offer: OpenOffer, shown: CodexFact, truncated: boolean, facts: readonly CodexFact[]): Verdict {
  // A summary drops our message, though later rows still count past its place in the history.
  const compacted = facts.find((fact) => fact.what === 'compacted' && fact.pos > shown.pos)?.pos ?? Infinity;
  const proof = facts.find((fact) => fact.pos < compacted && hadSeen(fact, shown, facts));
  if (proof) {
    const through = proof.sampled === null ? '' : ` sampled through ${proof.sampled}`;
    return {
      state: 'presented',
      evidence: `codex rollout: answer${through} follows ${offer.native} context${shown.sequence === null ? '' : ` ${shown.sequence}`}`,
      truncated,
    };
  }
  return compacted === Infinity ? { state: 'accepted' } : { state: 'miss', reason: 'compacted before the model answered' };
}

function judge(offer: OpenOffer, facts: readonly CodexFact[]): Verdict {
  const whole = facts.find((fact) => fact.what === 'context' && fact.whole.includes(offer.nonce));
  const shown = whole ?? facts.find((fact) => fact.what === 'context' && fact.cut.includes(offer.nonce));
  if (shown) return judgeAccepted(offer, shown, whole === undefined, facts);

  const later = facts.filter((fact) => fact.pos >= offer.offset);
  if (offer.kind === 'stop') {
    return later.some((fact) => fact.what === 'turn-end') ? { state: 'miss', reason: 'the turn ended without it' } : { state: 'unknown' };
  }
  const anchor =
    offer.kind === 'prompt'
      ? later.find((fact) => fact.what === 'prompt' && offer.isPrompt(fact.prompt))
      : offer.kind === 'post-tool'
        ? facts.find((fact) => fact.what === 'tool-output' && fact.callId !== null && offer.toolIds.includes(fact.callId))
        : // Our text stands before whatever enters the history next.
          later.find((fact) => fact.what === 'prompt' || fact.what === 'tool-output');
  if (anchor && later.some((fact) => hadSeen(fact, anchor, facts))) return { state: 'miss', reason: 'the model went on without it' };
  const passed = later.find(
    (fact) => fact.what === 'prompt' && offer.isLaterPrompt(fact.prompt) && later.some((answer) => hadSeen(answer, fact, facts)),
  );
  if (passed) return { state: 'miss', reason: 'a later prompt was answered without it' };
  if (offer.kind === 'prompt' && later.some((fact) => fact.what === 'turn-end' && fact.aborted))
    return { state: 'miss', reason: 'the turn was interrupted before it' };
  return { state: 'unknown' };
}

export const evidence: Evidence<CodexFact> = {
  roots: (home, env) => [join(env.CODEX_HOME ?? join(home, '.codex'), 'sessions')],
  skip: [],
  project,
  judge,
  headless(facts) {
    const trigger = facts.findLast((fact) => fact.trigger !== null)?.trigger;
    return trigger === undefined || trigger === null ? null : trigger === 'exec';
  },
  flushDelay: 50,
};
