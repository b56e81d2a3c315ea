import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cutUtf16, cutUtf8, wellFormed } from '../../src/core/unicode.ts';

const any = fc.string({ unit: 'binary', maxLength: 60 });
const clean = fc.string({ unit: 'binary', maxLength: 60 }).map(wellFormed);

test('lone surrogates become U+FFFD and everything else stays', () => {
  expect(wellFormed('ok \ud83d end')).toBe('ok \ufffd end');
  expect(wellFormed('\udc00x')).toBe('\ufffdx');
  expect(wellFormed('😀 <é>')).toBe('😀 <é>');
});

test('a cut in UTF-16 units is the longest prefix that splits no pair', () => {
  fc.assert(
    fc.property(clean, fc.integer({ min: -3, max: 70 }), (text, units) => {
      const cut = cutUtf16(text, units);
      expect(text.startsWith(cut)).toBe(true);
      expect(wellFormed(cut)).toBe(cut);
      expect(cut.length).toBeLessThanOrEqual(Math.max(0, units));
      expect(cut === text || cut.length >= Math.max(0, units) - 1).toBe(true);
    }),
  );
});

test('a cut in UTF-8 bytes is the longest prefix that splits no character', () => {
  fc.assert(
    fc.property(clean, fc.integer({ min: -3, max: 200 }), (text, bytes) => {
      const cut = cutUtf8(text, bytes);
      expect(text.startsWith(cut)).toBe(true);
      expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(Math.max(0, bytes));
      expect(cut === text || Buffer.byteLength(cut) > Math.max(0, bytes) - 4).toBe(true);
    }),
  );
});

test('a cut never makes ill-formed text of what was ill-formed before', () => {
  fc.assert(
    fc.property(any, fc.nat(80), (text, size) => {
      expect(wellFormed(cutUtf8(wellFormed(text), size))).toBe(cutUtf8(wellFormed(text), size));
    }),
  );
});

test('a pair right at the 9,000th unit is left out whole', () => {
  const text = `${'a'.repeat(8_999)}😀 tail`;
  expect(cutUtf16(text, 9_000)).toBe('a'.repeat(8_999));
  expect(cutUtf16(text, 9_001)).toBe(`${'a'.repeat(8_999)}😀`);
});
