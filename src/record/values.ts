const LONGEST_QUOTED = 4_096;
export const SCHEME = /^(?:Bearer|Basic|Token|Digest|ApiKey|Negotiate|AWS4-HMAC-SHA256) /i;
// A comma or an ampersand ends a word where another setting, or nothing, follows.
const WORD = /(?:\\\r?\n|\\(?![nrt"'])|[,&](?![\w.%-]{1,64}[=:]|[\s"'\\]|$)|[^\s"'`,;&)}\]<>\\])*/y;
const WORD_START = new RegExp(`${WORD.source.slice(0, -1)}{0,300}`, 'y');
// What stands between a setting's sign and its value: the letter of a string's kind, a type, YAML's tags and anchors.
const BEFORE =
  /(?:[bfru$@]{1,2}(?=["'])|\$(?=')|string\(\d{1,6}\) |&?[A-Za-z][\w<>[\]|]{0,30} {0,4}= {0,4}(?=\\{0,15}["'`])|!!?\w{1,20} |&\w{1,40} )?/y;
const BLOCK = /[|>][+-]?\d?[ \t]{0,8}(?:\r?\n|\\{1,8}n)/y;
const LINE = /(?:\r?\n|\\{1,8}n)/y;

export interface Found {
  start: number;
  end: number;
  /** In quotes, or in a block of its own: where it ends is sure. */
  whole: boolean;
}

function at(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : from;
}

export function lineEnd(text: string, from: number): number {
  const end = /[\n\r]|\\{1,8}[nr]/g;
  end.lastIndex = from;
  return end.exec(text)?.index ?? text.length;
}

/** The end of a quoted value: its closing quote, as often escaped as the opening one, else the end of its line. */
function quotedEnd(text: string, from: number, escapes: number, quote: string): number {
  const window = text.slice(from, from + LONGEST_QUOTED);
  for (let end = window.indexOf(quote); end >= 0; end = window.indexOf(quote, end + 1)) {
    let slashes = 0;
    while (window[end - 1 - slashes] === '\\') slashes++;
    if (slashes >= escapes && (slashes - escapes) % (2 * escapes + 2) === 0) return from + end - escapes;
  }
  return lineEnd(text, from);
}

function wordEnd(text: string, from: number, sure: boolean): number {
  const start = from + (SCHEME.exec(text.slice(from, from + 20))?.[0].length ?? 0);
  if (sure) return at(WORD, text, start);
  // Of what may be no secret only the beginning is looked at: the rest would be read again behind each name in it.
  const end = at(WORD_START, text, start);
  return isOpaque(text.slice(from, end)) ? at(WORD, text, start) : end;
}

// What tools put before the lines they show: a colour, a file's name, a number, the sign of a diff or of a quotation.
export const LINE_MARK = String.raw`(?:\x1b\[[\d;]{0,12}m)?(?:[^\s:"']{1,100}:)?(?:[ \t]{0,8}\d{1,7}(?:[:\t→-]|\\{1,8}t))?[+>#-]?`;
const INDENT = new RegExp(`^${LINE_MARK}([ \\t]*(?:- )?)`);

/** The line before a place, as far as it is no further away than 160 characters; null: it is. */
export function lineBefore(text: string, place: number): string | null {
  const before = text.slice(Math.max(0, place - 160), place);
  const line = before.split(/[\n\r]|\\{1,8}[nr]/).at(-1)!;
  return line === before && place > 160 ? null : line;
}

/** The end of the lines behind a place that are indented deeper than the line of the place before. */
function blockEnd(text: string, nameAt: number, from: number): number {
  const indent = INDENT.exec(lineBefore(text, nameAt) ?? '')![1]!.length;
  let end = from;
  for (let start = from; start < text.length && start - from < LONGEST_QUOTED;) {
    if (INDENT.exec(text.slice(start, start + 160))![1]!.length <= indent) break;
    end = lineEnd(text, start);
    start = at(LINE, text, end);
    if (start === end) break;
  }
  return end;
}

/** Whether a value looks like nothing that a person would write into a sentence: long, of letters and digits. */
export function isOpaque(value: string): boolean {
  const bare = value.replace(SCHEME, '').trim();
  if (bare.length < 8 || /[\s(]|=(?!=?$)/.test(bare) || /^[0-9a-f]+$/.test(bare)) return false;
  return /[A-Za-z]/.test(bare) && /\d/.test(bare) && !/^(?:\.{0,2}\/|https?:|v?\d+\.\d)/.test(bare);
}

export interface Place {
  /** Where the name begins. */
  nameAt: number;
  /** Behind the sign. */
  from: number;
  /** The name is in quotes of its own. */
  closed: boolean;
  /** A value follows for sure. */
  sure: boolean;
  /** The name begins a line: all of the line is its value. */
  isLine: boolean;
}

/** The value at a place: in its quotes, in those around both, a block, the rest of the line, else one word. */
export function valueAt(text: string, { nameAt, from, closed, sure, isLine }: Place): Found {
  const start = at(BEFORE, text, from);
  const block = at(BLOCK, text, start);
  if (sure && block > start) return { start: block, end: blockEnd(text, nameAt, block), whole: true };
  const quote = /^(\\{0,15})(["'`])/.exec(text.slice(start, start + 16));
  if (quote) {
    const [, slashes = '', sign = ''] = quote;
    const long = text.startsWith(sign.repeat(3), start) ? sign.repeat(3) : sign;
    const opened = start + slashes.length + long.length;
    return { start: opened, end: quotedEnd(text, opened, slashes.length, long), whole: true };
  }
  const around = text[nameAt - 1];
  if (sure && !closed && (around === '"' || around === "'")) {
    const slashes = /\\*$/.exec(text.slice(Math.max(0, nameAt - 16), nameAt - 1))![0].length;
    return { start, end: quotedEnd(text, start, slashes, around), whole: true };
  }
  return { start, end: isLine ? lineEnd(text, start) : wordEnd(text, start, sure), whole: false };
}
