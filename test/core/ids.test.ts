import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isConversationId, isId, newId, newNonce, newTraceparent } from '../../src/core/ids.ts';

test('ids made one after the other sort in that order, also within a millisecond', () => {
  const ids = Array.from({ length: 2_000 }, () => newId('msg'));
  expect([...ids].sort()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
});

test('an id is known by its prefix', () => {
  expect(isId(newId('msg'), 'msg')).toBe(true);
  expect(isId(newId('msg'), 'dev')).toBe(false);
  expect(isId(newId('dev'))).toBe(true);
});

test.each([
  ['lower case', 'msg_01j9zk6q8r2m3n4p5q6r7s8t9v'],
  ['a letter that ULIDs leave out', 'msg_01J9ZK6Q8R2M3N4P5Q6R7S8TIL'],
  ['one character more', 'msg_01J9ZK6Q8R2M3N4P5Q6R7S8T9VX'],
  ['a line break behind it', 'msg_01J9ZK6Q8R2M3N4P5Q6R7S8T9V\n'],
  ['another prefix', 'foo_01J9ZK6Q8R2M3N4P5Q6R7S8T9V'],
  ['a number', 7],
])('%s makes no id', (_what, value) => {
  expect(isId(value)).toBe(false);
});

test('a nonce is twelve characters of an alphabet without look-alikes, and never the same twice', () => {
  const nonces = Array.from({ length: 2_000 }, () => newNonce());
  for (const nonce of nonces) expect(nonce).toMatch(/^[abcdefghijkmnpqrstuvwxyz2-9]{12}$/);
  expect(new Set(nonces).size).toBe(nonces.length);
  // Every character of the alphabet turns up: the choice is not biased to a part of it.
  expect(new Set(nonces.join('')).size).toBe(32);
});

test('a new trace is a W3C traceparent', () => {
  expect(newTraceparent()).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
});

test('no conversation id can leave an attribute or a line', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(!isConversationId(text) || /^[A-Za-z0-9._:-]{1,64}(?!\n)$/.test(text)).toBe(true);
    }),
  );
  expect(isConversationId('thread:42.a')).toBe(true);
  expect(isConversationId('a'.repeat(65))).toBe(false);
  expect(isConversationId('cnv"x')).toBe(false);
  expect(isConversationId('cnv\n')).toBe(false);
});
