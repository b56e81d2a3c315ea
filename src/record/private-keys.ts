// PEM, PGP and SSH2 keys, spaces also as in a form; PuTTY's; and a PEM file in base64, but for what is public.
const HEADER =
  /-{4,5} ?BEGIN[ +](?:[A-Z0-9]{1,20}[ +]){0,4}PRIVATE[ +]KEY(?:[ +]BLOCK)? ?-{4,5}|Private-Lines: \d{1,4}|LS0tLS1CRUdJTiB(?!DRVJU|QVUJM)/g;
const END = /-{4,5} ?END[ +](?:[A-Z0-9]{1,20}[ +]){0,4}PRIVATE[ +]KEY(?:[ +]BLOCK)? ?-{4,5}|Private-MAC: [0-9a-f]{1,128}/;
const BODY = /[A-Za-z0-9+/]{16,}={0,2}/y;
// A last line may be short; then it is followed by its own end of line, or by the end of the text.
const LAST = /(?:[\s"',]|\\{1,8}[nr]){1,8}[A-Za-z0-9+/]{1,63}={0,2}(?=[\n\r"']|\\{1,8}[nr]|-----END|$)/y;
const CHECKSUM = /(?:\s|\\{1,8}[nr]){1,8}=[A-Za-z0-9+/]{4}(?![A-Za-z0-9+/])/y;
// How far behind the header, or behind a line, the next line may begin: its number, a file's name, quotes and markup stand between.
const FIRST_GAP = 160;
const GAP = 60;
const LINE = 40;

function at(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : from;
}

/** The end of the first line of a body within `gap` characters; null: there is none. A path or a long word is none. */
function nextLine(text: string, from: number, gap: number): number | null {
  const window = text.slice(from, from + gap + 16);
  for (const { index } of window.matchAll(/[A-Za-z0-9+/]{16,}/g)) {
    const end = at(BODY, text, from + index);
    const start = text.slice(from + index, Math.min(end, from + index + 64));
    if (start.length >= LINE || (/[a-z]/.test(start) && /[A-Z]/.test(start) && /\d/.test(start))) return end;
  }
  return null;
}

/** Where the key whose header ends at `start` ends: behind its END line, else behind its last line that looks like one. */
function keyEnd(text: string, start: number): number {
  let end = start;
  for (let gap = FIRST_GAP; ; gap = GAP) {
    const line = nextLine(text, end, gap);
    const closing = END.exec(text.slice(end, line ?? end + 2 * GAP));
    if (closing) return end + closing.index + closing[0].length;
    if (line === null) break;
    end = line;
  }
  return end === start ? end : at(CHECKSUM, text, at(LAST, text, end));
}

/** Private keys, however their line breaks are written, whatever stands before their lines, and wherever they are cut off. */
export function maskPrivateKeys(text: string, mask: string): string {
  let out = '';
  let done = 0;
  for (const match of text.matchAll(HEADER)) {
    if (match.index < done) continue;
    out += text.slice(done, match.index) + mask;
    done = keyEnd(text, match.index + match[0].length);
  }
  return out + text.slice(done);
}
