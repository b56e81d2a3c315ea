import { isTelling } from './names.ts';
import { isReference } from './references.ts';
import { isOpaque, LINE_MARK, lineBefore, SCHEME, valueAt, type Found } from './values.ts';

const GAP = String.raw`(?:[ \t]|\x1b\[[\d;]{0,12}m|\\{1,8}u001[bB]\[[\d;]{0,12}m){0,40}`;
const SIGN = '=>|->|→|:=|[+]=|[=!]={1,2}|[:=：]|[|~,(]';
const SPACE = String.raw`(?:[ \t]|\\\r?\n|\\{3,15}n|\\{1,8}t)`;
// A name, the quote or bracket that closes it, and what stands between it and its value. A name is only looked for where one can begin.
const NAMED = new RegExp(
  String.raw`(?<![A-Za-z0-9_.-])([A-Za-z0-9_.-]{2,})(\\{0,15}["'${'`'}]?[\])]?)(?:${GAP}(${SIGN})${GAP}|${SPACE}{1,40}(?:is )?)`,
  'g',
);
// Behind these a value follows for sure; behind the others only what looks like nothing else is taken for one.
const SURE = /^(?:=>|:=|[+]=|[:=：])$/;
// What else may stand before a name that begins a line: a command that sets, the sign of a list.
const LINE_HEAD = new RegExp(`^${LINE_MARK}[ \\t]{0,20}(?:(?:export|set|declare|readonly|local|-x|-)[ \\t]{1,4}){0,3}$`);
const PAIR = /(?:name|key|variable)\\{0,15}["']?\s{0,4}[:=]\s{0,4}\\{0,15}["']?([A-Za-z0-9_.-]{2,100})[\\"',;:\s\w>+→-]{0,60}$/i;
const MEMBER_OF = /([A-Za-z0-9_.-]{2,100})\\{0,15}["']?\s{0,4}[:=]\s{0,4}\{[\\"'\s]{0,20}$/;
const ITEMS = /([^\s[\]"'`,\\]{8,})/g;
const LINES = new RegExp(
  String.raw`(?:\r?\n|\\{1,8}n)${LINE_MARK}[ \t]{1,40}(?:- {1,4})?\\{0,15}["']?([^\s"'\\:[\]]{1,500}|\[redacted:[a-z-]{1,30}\])\\{0,15}["']?(?=[\r\n\\]|$)`,
  'gy',
);
const DEFAULT = /^(\$\{[A-Za-z_]\w{0,100}:?[-=?+])([^{}\n]{1,500})\}/;
const SHORTEST = 4;
const NOTHING = /^/;
const BEFORE_NAME: Readonly<Record<string, RegExp>> = { '\\': /^[nrt]?/, '[': /^(?:\d{1,3}m)?/, ';': /^(?:\d{1,3}m)?/ };

/** Whether a member called `value` belongs to something with a telling name: a pair, or an object under that name. */
function belongsToTelling(text: string, nameAt: number): boolean {
  const before = text.slice(Math.max(0, nameAt - 160), nameAt);
  const owner = PAIR.exec(before) ?? MEMBER_OF.exec(before);
  return owner !== null && isTelling(owner[1]!);
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
  const isPath = /^(?:old)?pwd$/i.test(name) && /^[/~]/.test(bare);
  if (isPath || isReference(bare)) return { pass: scheme.length + (/^\S+/.exec(bare)?.[0].length ?? 0) };
  return value.trim().length < SHORTEST ? { pass: 0 } : { masked: mask };
}

/** What looks like a secret in the list, or in the lines of a YAML list, at a place; null: there is none of both. */
function listed(text: string, from: number): Found[] | null {
  const window = text.slice(from, from + 4_096);
  const close = window.startsWith('[') ? window.indexOf(']') : -1;
  const items = close < 0 ? LINES : ITEMS;
  if (close < 0 && !/^\r?\n|^\\{1,8}[nr]/.test(window)) return null;
  items.lastIndex = 0;
  const found: Found[] = [];
  for (const { index, 0: all, 1: word = '' } of window.slice(0, close < 0 ? undefined : close).matchAll(items)) {
    const start = from + index + all.lastIndexOf(word);
    if (isOpaque(word)) found.push({ start, end: start + word.length, whole: false });
  }
  return found;
}

function valuesBehind(text: string, match: RegExpExecArray, nameAt: number, sure: boolean): Found[] {
  const [, , closed = '', sign] = match;
  const from = match.index + match[0].length;
  const list = sure && sign !== undefined ? listed(text, from) : null;
  if (list) return list;
  const isLine = sure && text[nameAt] !== '-' && LINE_HEAD.test(lineBefore(text, nameAt) ?? '?');
  const value = valueAt(text, { nameAt, from, closed: closed !== '', sure, isLine });
  return sure || (value.whole && text.startsWith('PASSWORD ', match.index)) || isOpaque(text.slice(value.start, value.end)) ? [value] : [];
}

/** The values of settings, headers, flags, members and sentences whose name says that they are secret. */
export function maskNamedSecrets(text: string, mask: string): string {
  let out = '';
  let done = 0;
  NAMED.lastIndex = 0;
  for (let match = NAMED.exec(text); match; match = NAMED.exec(text)) {
    const [, name = '', closed = '', sign] = match;
    const from = match.index + match[0].length;
    // The letter of an escaped line break or tab, or the end of a colour, before a name looks like its beginning.
    const escaped = (BEFORE_NAME[text[match.index - 1] ?? ''] ?? NOTHING).exec(name)![0].length;
    const nameAt = match.index + escaped;
    // The value may itself begin with the next name.
    NAMED.lastIndex = match.index + name.length;
    const isTold =
      isTelling(name) || (escaped > 0 && isTelling(name.slice(escaped))) || (/^value$/i.test(name) && belongsToTelling(text, nameAt));
    const isFlag = /^--?[A-Za-z]/.test(name);
    const isMask = closed === ']' && text.startsWith('[redacted:', match.index - 10);
    const isCount = /tokens$/i.test(name) && /^\d{1,15}\b/.test(text.slice(from, from + 16));
    if (
      !isTold ||
      isMask ||
      isCount ||
      (isFlag && text[from] === '-') ||
      (sign === ',' && closed === '') ||
      (sign === '(' && !/["'\\]/.test(text[from] ?? ''))
    )
      continue;
    const sure = sign === undefined ? isFlag : SURE.test(sign) || (isFlag && sign === ',');
    for (const value of valuesBehind(text, match, nameAt, sure)) {
      const verdict = judge(name, text.slice(value.start, value.end), mask);
      if ('masked' in verdict) {
        out += text.slice(done, value.start) + verdict.masked;
        done = value.end;
      }
      NAMED.lastIndex = 'masked' in verdict ? value.end : Math.max(from, value.start + verdict.pass);
    }
  }
  return out + text.slice(done);
}
