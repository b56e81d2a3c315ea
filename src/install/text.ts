// Config files are edited as text: one splice after another, while `spans` keeps note of what is ours.
// Taking the spans out again gives back the file as it was, byte for byte.
import { createHash } from 'node:crypto';
import { AgentBusError } from '../core/errors.ts';

export interface Edit {
  start: number;
  end: number;
  text: string;
}

export interface Span {
  start: number;
  end: number;
}

/** A file under edit. `spans` is null once text outside our spans was replaced: then only structure tells what is ours. */
export interface Draft {
  text: string;
  spans: Span[] | null;
}

const BOM = '\uFEFF';

/** The text of a file without its BOM. Bytes that are not UTF-8 are refused, since writing them back would change them. */
export function decodeFile(bytes: Uint8Array, path: string): { text: string; bom: boolean } {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new AgentBusError('AB-2001', `${path} is not UTF-8 text; left as it is`, 'Save the file as UTF-8, then run install again.');
  }
  return text.startsWith(BOM) ? { text: text.slice(1), bom: true } : { text, bom: false };
}

export function encodeFile(text: string, bom: boolean): Buffer {
  return Buffer.from(bom ? BOM + text : text, 'utf8');
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** The line ending that most of a text's lines have; the first line's when it is even. */
export function lineEnding(text: string): string {
  const all = text.split('\n').length - 1;
  const crlf = text.split('\r\n').length - 1;
  if (crlf * 2 === all && all > 0) return text.indexOf('\r\n') === text.indexOf('\n') - 1 ? '\r\n' : '\n';
  return crlf * 2 > all ? '\r\n' : '\n';
}

/** The white space that the line of an offset begins with. */
export function indentAt(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start, offset))?.[0] ?? '';
}

/** Whether only white space stands before an offset on its line. */
export function startsLine(text: string, offset: number): boolean {
  return /(?:^|\n)[ \t]*$/.test(text.slice(0, offset));
}

/** Where the line of an offset ends, before its line ending. */
export function lineEnd(text: string, offset: number): number {
  const newline = text.indexOf('\n', offset);
  if (newline < 0) return text.length;
  return newline > offset && text[newline - 1] === '\r' ? newline - 1 : newline;
}

export function splice(draft: Draft, edit: Edit): Draft {
  const { start, end } = edit;
  const delta = edit.text.length - (end - start);
  const text = draft.text.slice(0, start) + edit.text + draft.text.slice(end);
  if (!draft.spans) return { text, spans: null };
  const home = draft.spans.find((span) => span.start <= start && end <= span.end);
  if (!home && end > start) return { text, spans: null };
  const spans = draft.spans.map((span) => {
    if (span === home) return { start: span.start, end: span.end + delta };
    return span.start >= end ? { start: span.start + delta, end: span.end + delta } : span;
  });
  if (!home) spans.push({ start, end: start + edit.text.length });
  return { text, spans: spans.filter((span) => span.end > span.start).sort((a, b) => a.start - b.start) };
}

/** The text without our spans. */
export function withoutSpans(text: string, spans: readonly Span[]): string {
  let rest = '';
  let at = 0;
  for (const span of spans) {
    rest += text.slice(at, span.start);
    at = span.end;
  }
  return rest + text.slice(at);
}

/** Finds remembered spans in a text that somebody else changed meanwhile; null unless each is there exactly once, in order. */
export function relocateSpans(text: string, remembered: readonly { text: string }[]): Span[] | null {
  const spans: Span[] = [];
  let from = 0;
  for (const { text: wanted } of remembered) {
    const start = text.indexOf(wanted);
    if (start < from || text.includes(wanted, start + 1)) return null;
    from = start + wanted.length;
    spans.push({ start, end: from });
  }
  return spans;
}
