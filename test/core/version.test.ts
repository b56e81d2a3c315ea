import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { atLeast, VERSION } from '../../src/core/version.ts';

test('the version that the programs print is the package’s', () => {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string };
  expect(VERSION).toBe(manifest.version);
});

test.each([
  ['2.1.197', '2.1.197', true],
  ['2.1.196', '2.1.197', false],
  ['2.10.0', '2.9.9', true],
  ['3', '2.1.197', true],
  ['2.1', '2.1.0', true],
  ['2.1.332-beta.1', '2.1.332', true],
  ['0.171.0+build', '0.171.0', true],
  ['garbage', '0.0.1', false],
])('%s at least %s: %s', (version, minimum, expected) => {
  expect(atLeast(version, minimum)).toBe(expected);
});

test('of two versions at least one is at least the other, and both only when they are equal', () => {
  const version = fc.tuple(fc.nat(30), fc.nat(30), fc.nat(400));
  fc.assert(
    fc.property(version, version, (a, b) => {
      const [x, y] = [a.join('.'), b.join('.')];
      expect(atLeast(x, y) || atLeast(y, x)).toBe(true);
      expect(atLeast(x, y) && atLeast(y, x)).toBe(x === y);
    }),
  );
});
