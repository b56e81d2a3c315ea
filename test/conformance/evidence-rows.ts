import { renderFrame } from '../../src/core/frame.ts';
import type { BaseFact, Evidence, OpenOffer, Verdict } from '../../src/core/harness.ts';
import type { EvidenceOffer } from './fixtures.ts';

/** The nonce that stands for a tag of a captured record. */
export function nonceOf(tag: string): string {
  return tag
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '')
    .padEnd(12, 'x')
    .slice(0, 12);
}

function frameOf(tag: string): string {
  const input = {
    id: 'msg_01J9ZK6Q8R2M3N4P5Q6R7S8T9V',
    type: 'agentbus.message.v1',
    from: 'agent://local/shop/codex',
    conversation: 'cnv_01J9ZK6Q8R2M3N4P5Q6R7S8T9V',
    traceparent: `00-${'4b'.repeat(16)}-${'00'.repeat(8)}-01`,
    receivedAt: 0,
    expires: '2026-12-07T00:00:00Z',
    redelivery: false,
    offer: nonceOf(tag),
    data: 'hello & "goodbye"',
  };
  return renderFrame(input, 100_000, 'utf8').text;
}

const END = '</agentbus-message>';
// As text, inside JSON text, and as Codex escapes it; without its end where the harness has cut it.
const FORMS: readonly { tag: RegExp; write: (text: string) => string }[] = [
  { tag: /<agentbus-message id="(\w+)">PAYLOAD(<\/agentbus-message>)?/g, write: (text) => text },
  {
    tag: /<agentbus-message id=\\"(\w+)\\">PAYLOAD(<\/agentbus-message>)?(?:<\/agentbus-mes)?/g,
    write: (text) => JSON.stringify(text).slice(1, -1),
  },
  {
    tag: /&lt;agentbus-message id="(\w+)"&gt;PAYLOAD(&lt;\/agentbus-message&gt;)/g,
    write: (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
  },
];

/** The value with real frames where the captured record has the short tags of the capture. */
export function withFrames(value: unknown): unknown {
  if (typeof value === 'string') {
    let text = value;
    for (const { tag, write } of FORMS) {
      text = text.replaceAll(tag, (_match, id: string, end?: string) => write(end ? frameOf(id) : frameOf(id).slice(0, -END.length)));
    }
    return text;
  }
  if (Array.isArray(value)) return value.map(withFrames);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withFrames(item)]));
}

/** The lines of a record as the harness would have written them, with real frames. */
export function linesOf(rows: readonly Record<string, unknown>[]): string[] {
  return rows.map((row) => `${JSON.stringify(withFrames(row))}\n`);
}

function timeOf(rows: readonly Record<string, unknown>[]): number {
  const times = rows.map((row) => Date.parse(String(row['timestamp']))).filter((time) => !Number.isNaN(time));
  return Math.min(...times) - 1;
}

/** Judges an offer on each prefix of a record, as a session that is read again and again would. */
export function verdicts(evidence: Evidence, rows: readonly Record<string, unknown>[], offer: EvidenceOffer): Verdict[] {
  const lines = linesOf(rows);
  const starts = lines.reduce((all, line) => [...all, all.at(-1)! + Buffer.byteLength(line)], [0]);
  const from = offer.from ?? 0;
  const open: OpenOffer = {
    nonce: nonceOf(offer.tag),
    kind: offer.kind,
    native: offer.native,
    at: timeOf(rows.slice(from)),
    offset: starts[from]!,
    toolIds: offer.toolIds ?? [],
    isPrompt: (text) => text.trim() === offer.prompt,
    isLaterPrompt: (text) => offer.later?.includes(text.trim()) ?? false,
  };
  const facts: BaseFact[] = [];
  const found: Verdict[] = [];
  for (const [index, line] of lines.entries()) {
    const skipped = evidence.skip.some((prefix) => line.startsWith(prefix));
    const fact = skipped ? null : evidence.project(JSON.parse(line) as Record<string, unknown>, starts[index]!);
    if (fact) facts.push(fact);
    if (index + 1 >= from) found.push(evidence.judge(open, facts));
  }
  return found;
}
