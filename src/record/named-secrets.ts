import { isReference } from './references.ts';

// A name, and what stands between it and its value. A name is only looked for where one can begin.
const NAMED = /(?<![A-Za-z0-9_.-])([A-Za-z0-9_.-]{2,64})(\\{0,4}["'`]?[ \t]{0,4}(?:=>|[:=])[ \t]{0,4}| {1,4})/g;
const TELLING =
  /passw|passphrase|pwd|secret|token(?!i[sz])|credential|authorization|cookie|signature|(?:api|access|private|signing|encryption)[_.-]?key|(?:^|[_.-])(?:auth|sig|pass)$/i;
const LINE_BEFORE = /(?:^|[\n\r]|\\[nr])[ \t]{0,20}(?:(?:export|set|-)[ \t]{1,4})?$/;
const SCHEME = /^(?:Bearer|Basic|Token|Digest) /i;
const WORD = /(?:\\(?![nrt"'])|[^\s"'`,;&)}\]<>\\])*/y;
const DEFAULT = /^(\$\{[A-Za-z_]\w{0,100}:?[-=?+])([^{}\n]{1,500})\}/;
const LONGEST_QUOTED = 4_096;
const SHORTEST = 4;

/** Whether what stands under this name is a secret by its name alone. */
export function isTelling(name: string): boolean {
  return TELLING.test(name);
}

function lineEnd(text: string, from: number): number {
  const end = /[\n\r]|\\[nr]/g;
  end.lastIndex = from;
  return end.exec(text)?.index ?? text.length;
}

/** The end of a quoted value: its closing quote, else the end of its line. */
function quotedEnd(text: string, from: number, quote: string): number {
  const window = text.slice(from, from + LONGEST_QUOTED);
  for (let end = window.indexOf(quote); end >= 0; end = window.indexOf(quote, end + 1)) {
    let slashes = 0;
    while (quote.length === 1 && window[end - 1 - slashes] === '\\') slashes++;
    if (slashes % 2 === 0) return from + end;
  }
  return lineEnd(text, from);
}

function wordEnd(text: string, from: number): number {
  WORD.lastIndex = from + (SCHEME.exec(text.slice(from, from + 8))?.[0].length ?? 0);
  WORD.test(text);
  return WORD.lastIndex;
}

interface Found {
  start: number;
  end: number;
}

/** The value behind a name: in its quotes, in the quotes around both, to the end of a line that begins with the name, else one word. */
function valueOf(text: string, nameAt: number, from: number, closedName: boolean): Found {
  const quote = /^\\{0,4}["'`]/.exec(text.slice(from, from + 5))?.[0];
  if (quote !== undefined) return { start: from + quote.length, end: quotedEnd(text, from + quote.length, quote) };
  const around = text[nameAt - 1];
  if (!closedName && (around === '"' || around === "'")) return { start: from, end: quotedEnd(text, from, around) };
  const before = text.slice(Math.max(0, nameAt - 32), nameAt);
  const isLine = text[nameAt] !== '-' && LINE_BEFORE.test(before);
  return { start: from, end: isLine ? lineEnd(text, from) : wordEnd(text, from) };
}

/** The value with its secret masked; or, where there is none, how much of it to pass over. */
function judge(name: string, value: string, mask: string): { masked: string } | { pass: number } {
  const scheme = SCHEME.exec(value)?.[0] ?? '';
  const bare = value.slice(scheme.length);
  const fallback = DEFAULT.exec(bare);
  if (fallback) {
    const [whole, opening = '', literal = ''] = fallback;
    if (isReference(literal)) return { pass: scheme.length + whole.length };
    return { masked: `${scheme}${opening}${mask}${bare.slice(opening.length + literal.length)}` };
  }
  if (isReference(bare)) return { pass: scheme.length + (/^\S+/.exec(bare)?.[0].length ?? 0) };
  if (value.trim().length < SHORTEST || (/tokens$/i.test(name) && /^\d+\b/.test(value))) return { pass: 0 };
  return { masked: mask };
}

/** The values of settings, headers, flags and JSON members whose name says that they are secret. */
export function maskNamedSecrets(text: string, mask: string): string {
  let out = '';
  let done = 0;
  NAMED.lastIndex = 0;
  for (let match = NAMED.exec(text); match; match = NAMED.exec(text)) {
    const [, name = '', between = ''] = match;
    const from = match.index + match[0].length;
    const isFlag = between.trim() === '';
    // The letter of an escaped line break or tab before a name looks like its first.
    const escaped = text[match.index - 1] === '\\' && /^[nrt]/.test(name) ? 1 : 0;
    const isSecret = isTelling(name) || (escaped > 0 && isTelling(name.slice(1)));
    if (!isSecret || (isFlag && (!name.startsWith('--') || text[from] === '-'))) {
      // The value may itself begin with the next name.
      NAMED.lastIndex = match.index + name.length;
      continue;
    }
    const value = valueOf(text, match.index + escaped, from, /["'`]/.test(between));
    const verdict = judge(name, text.slice(value.start, value.end), mask);
    if ('masked' in verdict) {
      out += text.slice(done, value.start) + verdict.masked;
      done = value.end;
    }
    NAMED.lastIndex = 'masked' in verdict ? value.end : Math.max(from, value.start + verdict.pass);
  }
  return out + text.slice(done);
}
