const HEADER = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
// Line breaks may be real ones, or escaped once or several times; sticky, as all of the patterns below.
const BREAK = /(?:\s|\\+[rn])+/y;
const END = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y;
const FIELD = /(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|MessageID): [^\r\n\\]{0,200}/y;
const BODY = /[A-Za-z0-9+/]+={0,2}|=[A-Za-z0-9+/]{4}/y;
// Shorter runs of letters are words, unless they end a body and have their line to themselves.
const BODY_CHARS = 40;

function at(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : from;
}

/** Where the key whose header ends at `start` ends: behind its END line, else behind its last line that looks like one. */
function keyEnd(text: string, start: number): number {
  let end = start;
  let bodyBefore = false;
  for (;;) {
    const line = at(BREAK, text, end);
    const closed = at(END, text, line);
    if (closed > line) return closed;
    const field = at(FIELD, text, line);
    if (field > line) {
      end = field;
      continue;
    }
    const body = at(BODY, text, line);
    const alone = body === text.length || at(BREAK, text, body) > body || text.startsWith('-----END ', body);
    const isBody = body - line >= BODY_CHARS || (bodyBefore && body > line && line > end && alone);
    if (!isBody) return end;
    bodyBefore = body - line >= BODY_CHARS;
    end = body;
  }
}

/** Private keys in PEM and PGP form, however their line breaks are written and wherever they are cut off. */
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
