import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseStrictJson } from '../../src/core/strict-json.ts';
import { wellFormed } from '../../src/core/unicode.ts';
import { codeOf, outcomeOf } from './codes.ts';

test.each([
  ['a key that stands twice', '{"to":"a2","to":"a3"}'],
  ['a key that stands twice in two spellings', String.raw`{"to":"a2","t\u006f":"a3"}`],
  ['a key that stands twice further down', '[{"a":{"b":1,"b":2}}]'],
  ['a lone high surrogate', String.raw`{"s":"ok \ud83d end"}`],
  ['a lone low surrogate in a key', String.raw`{"\udc00":1}`],
  ['an integer beyond 2^53', '{"n":12345678901234567890}'],
  ['an integer beyond 2^53, negative', '[-9007199254740993]'],
  ['a number out of range', '{"n":1e400}'],
  ['NaN', '{"n":NaN}'],
  ['a comment', '{"a":1} // b'],
  ['a trailing comma', '{"a":1,}'],
  ['two values', '{} {}'],
  ['nothing', ''],
  ['a byte order mark', '\ufeff{"a":1}'],
  ['a line break inside a string', '{"a":"x\ny"}'],
  ['a number with a leading zero', '{"a":01}'],
  ['a number that ends in its point', '{"a":1.}'],
  ['an unknown escape', String.raw`{"a":"\x41"}`],
  ['single quotes', "{'a':1}"],
])('%s is refused', (_what, text) => {
  expect(codeOf(() => parseStrictJson(text))).toBe('AB-7001');
});

test('the same key in two objects, a pair of surrogates and 2^53 - 1 pass', () => {
  expect(parseStrictJson(String.raw`[{"a":1},{"a":"\ud83d\ude00"},9007199254740991,1e-5]`)).toEqual([
    { a: 1 },
    { a: '😀' },
    9007199254740991,
    1e-5,
  ]);
});

test('well-formed values with safe numbers come back as JSON.parse has them', () => {
  const numbers = { noNaN: true, noDefaultInfinity: true };
  const value = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.string({ unit: 'binary' }).map(wellFormed),
      fc.maxSafeInteger(),
      fc.double({ ...numbers, max: 1e15, min: -1e15 }),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('tree'), { maxLength: 4 }),
      fc.dictionary(fc.string({ unit: 'grapheme' }).map(wellFormed), tie('tree'), { maxKeys: 4 }),
    ),
  })).tree;
  fc.assert(
    fc.property(value, (tree) => {
      const text = JSON.stringify(tree);
      expect(parseStrictJson(text)).toEqual(JSON.parse(text));
    }),
  );
});

test('for any text it answers as JSON.parse does or refuses with its own code', () => {
  const pieces = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    '"',
    ':',
    ',',
    '\\',
    'a',
    '1',
    '-',
    '.',
    'e',
    ' ',
    '\n',
    '\t',
    '\ufeff',
    '//',
    '/*',
    '*/',
    'null',
    '\u0001',
    '0',
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.json(),
        fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join('')),
        fc.string({ unit: 'binary' }),
      ),
      (text) => {
        const outcome = outcomeOf(() => parseStrictJson(text));
        expect('refused' in outcome || { value: JSON.parse(text) as unknown }).toEqual('refused' in outcome || outcome);
      },
    ),
    { numRuns: 2_000 },
  );
});

test('a value may nest 200 levels deep, and no depth makes more than a refusal', () => {
  const lists = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  const objects = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
  for (const nested of [lists, objects]) {
    expect(parseStrictJson(nested(200))).toBeTypeOf('object');
    for (const depth of [203, 5_000, 400_000]) expect(codeOf(() => parseStrictJson(nested(depth)))).toBe('AB-7001');
  }
});

test('the key __proto__ stays an ordinary key', () => {
  const parsed = parseStrictJson('{"__proto__":{"polluted":1}}') as Record<string, unknown>;
  expect(Object.hasOwn(parsed, '__proto__')).toBe(true);
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
});
