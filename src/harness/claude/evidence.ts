import { join } from 'node:path';
import { findFrames } from '../../core/frame.ts';
import type { BaseFact, Evidence, OpenOffer, Verdict } from '../../core/harness.ts';
import { list, record, text, type Json } from '../../core/payload.ts';

/**
 * Claude Code's transcript: append-only JSON lines that form a tree by uuid and parentUuid. A row of
 * type attachment/hook_additional_context is our text accepted; a real assistant row that descends
 * from it is our text shown. HARNESS.md has the rows and what they do not prove.
 */
export interface ClaudeFact extends BaseFact {
  what: 'context' | 'reject' | 'answer' | 'prompt' | 'tool-result' | 'compact' | 'stop-summary' | 'other';
  uuid: string | null;
  parent: string | null;
  /** ms since the epoch */
  at: number;
  hookEvent: string | null;
  whole: string[];
  cut: string[];
  reason: string | null;
  /** API message id of an assistant row. */
  message: string | null;
  toolIds: string[];
  /** The start of a prompt's text. */
  prompt: string;
  entrypoint: string | null;
}

const PROMPT_CHARS = 200;
// Only at these does text that is no JSON reach the model.
const RAW_TEXT = new Set(['SessionStart', 'UserPromptSubmit']);
const REJECTS = new Set(['hook_cancelled', 'hook_non_blocking_error', 'hook_stopped_continuation']);

function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  return list(content)
    .map((part) => text(record(part)['text']) ?? '')
    .join('');
}

/**
 * Output of ours that Claude took for plain text: half a JSON document or two of them, so a frame in it
 * is at best a part of what we said, with its quotes and line breaks escaped.
 */
function framesInRawText(content: string): string[] {
  const { whole, cut } = findFrames(content.includes('\\"') ? content.replaceAll('\\"', '"').replaceAll('\\n', '\n') : content);
  return [...whole, ...cut];
}

function attachmentFact(fact: ClaudeFact, attachment: Json): void {
  const type = text(attachment['type']);
  fact.hookEvent = text(attachment['hookEvent']);
  if (type === 'hook_additional_context') {
    const frames = [attachment['content']].flat().map((part) => findFrames(typeof part === 'string' ? part : ''));
    fact.whole = frames.flatMap((found) => found.whole);
    fact.cut = frames.flatMap((found) => found.cut);
    if (fact.whole.length + fact.cut.length > 0) fact.what = 'context';
  } else if (type === 'hook_success') {
    fact.cut = RAW_TEXT.has(fact.hookEvent ?? '') ? framesInRawText(text(attachment['content']) ?? '') : [];
    if (fact.cut.length > 0) fact.what = 'context';
  } else if (type !== null && REJECTS.has(type)) {
    const command = text(attachment['command']);
    // Somebody else's failing hook is no verdict on ours; where the row names no command, it may be ours.
    if (command !== null && !command.includes('agentbus-hook')) return;
    fact.what = 'reject';
    fact.reason = type;
  } else if (type === 'queued_command') {
    fact.what = 'prompt';
    fact.prompt = (text(attachment['prompt']) ?? contentText(attachment['prompt'])).slice(0, PROMPT_CHARS);
  }
}

function userFact(fact: ClaudeFact, row: Json): void {
  const content = record(row['message'])['content'];
  const results = list(content).filter((part) => record(part)['type'] === 'tool_result');
  if (results.length > 0) {
    fact.what = 'tool-result';
    fact.toolIds = results.map((part) => text(record(part)['tool_use_id']) ?? '');
    return;
  }
  const prompt = contentText(content);
  if (row['isMeta'] === true || prompt.startsWith('[Request interrupted')) return;
  fact.what = 'prompt';
  fact.prompt = prompt.slice(0, PROMPT_CHARS);
}

function project(row: Json, pos: number): ClaudeFact | null {
  if (row['isSidechain'] === true) return null;
  const fact: ClaudeFact = {
    pos,
    what: 'other',
    uuid: text(row['uuid']),
    parent: text(row['parentUuid']) ?? text(row['logicalParentUuid']),
    at: Date.parse(text(row['timestamp']) ?? '') || 0,
    hookEvent: null,
    whole: [],
    cut: [],
    reason: null,
    message: null,
    toolIds: [],
    prompt: '',
    entrypoint: text(row['entrypoint']),
  };
  if (row['type'] === 'attachment') attachmentFact(fact, record(row['attachment']));
  else if (row['type'] === 'user') userFact(fact, row);
  else if (row['type'] === 'assistant') {
    const message = record(row['message']);
    fact.message = text(message['id']);
    if (row['isApiErrorMessage'] !== true && message['model'] !== '<synthetic>') fact.what = 'answer';
  } else if (row['subtype'] === 'compact_boundary') fact.what = 'compact';
  else if (row['subtype'] === 'stop_hook_summary') fact.what = 'stop-summary';
  return fact.uuid === null ? null : fact;
}

type Index = Map<string, ClaudeFact>;

function* ancestors(fact: ClaudeFact, index: Index): Generator<ClaudeFact> {
  const seen = new Set<ClaudeFact>();
  for (let at: ClaudeFact | undefined = fact; at && !seen.has(at); at = at.parent === null ? undefined : index.get(at.parent)) {
    seen.add(at);
    yield at;
  }
}

function descends(fact: ClaudeFact, from: ClaudeFact, index: Index): boolean {
  for (const ancestor of ancestors(fact, index)) if (ancestor === from) return true;
  return false;
}

/** With parallel tools a PostToolUse row hangs beside the main chain; it was sent if a later answer follows the same call. */
function answersCallOf(answer: ClaudeFact, call: string, index: Index): boolean {
  if (answer.message === call) return false;
  for (const ancestor of ancestors(answer, index)) if (ancestor.message === call) return true;
  return false;
}

function judgeAccepted(offer: OpenOffer, shown: ClaudeFact, truncated: boolean, facts: readonly ClaudeFact[], index: Index): Verdict {
  const boundary = facts.find((fact) => fact.what === 'compact' && fact.pos > shown.pos)?.pos ?? Infinity;
  let call: string | null = null;
  if (offer.native.startsWith('PostToolUse')) {
    for (const ancestor of ancestors(shown, index)) if (ancestor.message !== null && call === null) call = ancestor.message;
  }
  // A slow answer goes on with further calls while its first ones are done: what belongs to it says nothing.
  const answers = facts.filter((fact) => fact.what === 'answer' && fact.pos > shown.pos && (call === null || fact.message !== call));
  const proof = answers.find(
    (answer) => answer.pos < boundary && (descends(answer, shown, index) || (call !== null && answersCallOf(answer, call, index))),
  );
  if (proof)
    return {
      state: 'presented',
      evidence: `claude transcript: answer ${proof.message ?? proof.uuid} follows ${offer.native} context`,
      truncated,
    };
  if (boundary !== Infinity) return { state: 'miss', reason: 'compacted before the model answered' };
  if (answers.length > 0) return { state: 'miss', reason: 'taken out of the conversation (Esc or rewind)' };
  return { state: 'accepted' };
}

function anchorOf(offer: OpenOffer, facts: readonly ClaudeFact[]): ClaudeFact | undefined {
  const later = facts.filter((fact) => fact.pos >= offer.offset);
  if (offer.kind === 'prompt') return later.find((fact) => fact.what === 'prompt' && offer.isPrompt(fact.prompt));
  if (offer.kind === 'session-start') return later.find((fact) => fact.what === 'prompt');
  if (offer.kind === 'stop') return later.find((fact) => fact.what === 'stop-summary');
  return facts.find((fact) => fact.what === 'tool-result' && fact.toolIds.some((id) => offer.toolIds.includes(id)));
}

function judge(offer: OpenOffer, facts: readonly ClaudeFact[]): Verdict {
  const index: Index = new Map(facts.map((fact) => [fact.uuid!, fact]));
  const whole = facts.find((fact) => fact.what === 'context' && fact.hookEvent === offer.native && fact.whole.includes(offer.nonce));
  const shown = whole ?? facts.find((fact) => fact.what === 'context' && fact.hookEvent === offer.native && fact.cut.includes(offer.nonce));
  if (shown) return judgeAccepted(offer, shown, whole === undefined, facts, index);

  const later = facts.filter((fact) => fact.pos >= offer.offset);
  const reject = later.find((fact) => fact.what === 'reject' && fact.hookEvent === offer.native && fact.at >= offer.at);
  if (reject) return { state: 'miss', reason: `the harness refused the hook's output (${reject.reason})` };

  const answered = (from: ClaudeFact): boolean =>
    facts.some((fact) => fact.what === 'answer' && fact.pos > from.pos && descends(fact, from, index));
  const anchor = anchorOf(offer, facts);
  if (anchor && (offer.kind === 'stop' || answered(anchor))) return { state: 'miss', reason: 'the model went on without it' };
  const passed = later.find((fact) => fact.what === 'prompt' && offer.isLaterPrompt(fact.prompt) && answered(fact));
  if (passed) return { state: 'miss', reason: 'a later prompt was answered without it' };
  return { state: 'unknown' };
}

export const evidence: Evidence<ClaudeFact> = {
  roots: (home, env) => [join(env.CLAUDE_CONFIG_DIR ?? join(home, '.claude'), 'projects')],
  skip: ['{"type":"api-request'],
  project,
  judge,
  headless(facts) {
    const entrypoint = facts.findLast((fact) => fact.entrypoint !== null)?.entrypoint;
    return entrypoint === undefined || entrypoint === null ? null : entrypoint.startsWith('sdk');
  },
  // Rows reach the disk 20 to 110 ms after they were made.
  flushDelay: 150,
};
