/**
 * Finds the end of the first JSON value in a stream of bytes without parsing it.
 *
 * A hook's answer must not wait for the end of its input (some CLIs never close a hook's stdin),
 * and parsing a 5 MB buffer again at every chunk takes most of a second, so this looks at each byte
 * once and keeps a few numbers of state.
 */
export interface JsonScanner {
  /**
   * Looks at the next bytes. Returns the offset in this chunk just behind the value, -1 when more
   * input is needed, -2 when the input can no longer become one JSON value.
   */
  push(chunk: Uint8Array): number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

export function createJsonScanner(): JsonScanner {
  let depth = 0;
  let inString = false;
  let escaped = false;
  let started = false;
  let bomBytes = 0;

  function push(chunk: Uint8Array): number {
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (inString) {
        if (escaped) escaped = false;
        else if (byte === BACKSLASH) escaped = true;
        else if (byte === QUOTE) inString = false;
        continue;
      }
      if (!started) {
        if (bomBytes < 3 && byte === [0xef, 0xbb, 0xbf][bomBytes]) {
          bomBytes++;
          continue;
        }
        if (isSpace(byte)) continue;
        // Hook payloads are objects; anything else is no payload of ours.
        if (byte !== 0x7b) return -2;
        started = true;
        depth = 1;
        continue;
      }
      if (byte === QUOTE) inString = true;
      else if (byte === 0x7b || byte === 0x5b) depth++;
      else if (byte === 0x7d || byte === 0x5d) {
        depth--;
        if (depth === 0) return at + 1;
      }
    }
    return -1;
  }

  return { push };
}

/** Parses a payload's bytes: BOM dropped, invalid UTF-8 and lone surrogates made U+FFFD; null when it is no object. */
export function parsePayload(bytes: Uint8Array): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8').decode(bytes));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
