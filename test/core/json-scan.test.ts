import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createJsonScanner, parsePayload } from '../../src/core/json-scan.ts';

/** Feeds the bytes in chunks that end at the given places; answers with the offset behind the value, -1 or -2. */
function scan(bytes: Buffer, cuts: readonly number[] = []): number {
  const scanner = createJsonScanner();
  const ends = [...new Set([...cuts.filter((cut) => cut < bytes.length), bytes.length])].sort((a, b) => a - b);
  let start = 0;
  for (const end of ends) {
    const found = scanner.push(bytes.subarray(start, end));
    if (found === -2) return -2;
    if (found >= 0) return start + found;
    start = end;
  }
  return -1;
}

const objects = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ stringUnit: 'binary' }), { maxKeys: 5 });
const spaces = fc.stringMatching(/^[ \t\r\n]{0,4}$/);
const cuts = fc.array(fc.nat(400), { maxLength: 8 });

test('an object ends at its last byte however the chunks fall and whatever follows', () => {
  fc.assert(
    fc.property(objects, spaces, fc.uint8Array({ maxLength: 20 }), cuts, fc.boolean(), (value, before, after, places, indent) => {
      const text = Buffer.from(`${before}${JSON.stringify(value, null, indent ? 2 : undefined)}`);
      expect(scan(Buffer.concat([text, after]), places)).toBe(text.length);
    }),
  );
});

test('a prefix of an object is never taken for a whole one', () => {
  fc.assert(
    fc.property(objects, fc.nat(), cuts, (value, at, places) => {
      const text = Buffer.from(JSON.stringify(value));
      expect(scan(text.subarray(0, at % text.length), places)).toBe(-1);
    }),
  );
});

test('what begins with anything but an object is refused at once', () => {
  for (const text of ['[1]', '"x"', 'null', '12', '}', 'hello {}']) expect(scan(Buffer.from(text))).toBe(-2);
});

test('a byte order mark before the object is none of it', () => {
  const payload = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from('{"session_id":"s"}\n')]);
  for (let cut = 0; cut < payload.length; cut++) expect(scan(payload, [cut])).toBe(payload.length - 1);
  expect(parsePayload(payload.subarray(0, payload.length - 1))).toEqual({ session_id: 's' });
});

test('a byte order mark alone is an input that has not come yet, and UTF-16 is none at all', () => {
  expect(scan(Buffer.from([0xef, 0xbb, 0xbf]))).toBe(-1);
  expect(scan(Buffer.from([0xff, 0xfe, 0x7b, 0x00]))).toBe(-2);
});

test('braces, quotes and backslashes inside strings do not count', () => {
  const text = Buffer.from(String.raw`{"a":"}\"}{\\","b":["\\\"]"]}`);
  expect(JSON.parse(text.toString())).toBeTypeOf('object');
  expect(scan(Buffer.concat([text, Buffer.from('{"second":1}')]))).toBe(text.length);
});

test('a key behind five megabytes is still found', () => {
  const text = JSON.stringify({ tool_response: { stdout: '0123456789abcdef\n'.repeat(294_117) }, session_id: 'late-1' });
  const bytes = Buffer.from(text);
  const ends = Array.from({ length: bytes.length >> 16 }, (_, at) => at << 16);
  expect(scan(bytes, ends)).toBe(bytes.length);
  expect(parsePayload(bytes)).toMatchObject({ session_id: 'late-1' });
});

test('bytes that are no UTF-8 become U+FFFD instead of a failure', () => {
  const bytes = Buffer.concat([Buffer.from('{"tool_response":"'), Buffer.from('fffec328eda080', 'hex'), Buffer.from('"}')]);
  expect(scan(bytes)).toBe(bytes.length);
  expect(parsePayload(bytes)!['tool_response']).toMatch(/^\ufffd+\(\ufffd+$/);
});

test.each(['', '[1]', 'null', '"x"', '{"a":', '{"a":1}}', '{]'])('%j is no payload', (text) => {
  expect(parsePayload(Buffer.from(text))).toBeNull();
});
