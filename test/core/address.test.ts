import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatAddress, isAddress, isSegment, parseAddress, resolveAddress, toSegment } from '../../src/core/address.ts';
import { codeOf } from './codes.ts';

const KNOWN = [
  'agent://local/shop/claude',
  'agent://local/shop/claude-2',
  'agent://local/blog/claude',
  'agent://local/shop/reviewer',
  'agent://acme/backend/release-bot',
];
const segment = fc.stringMatching(/^[a-z0-9][a-z0-9._-]{0,62}$/);

test.each([
  ['a whole address', 'agent://local/shop/claude', 'agent://local/shop/claude'],
  ['a whole address that nobody announced', 'agent://local/shop/later', 'agent://local/shop/later'],
  ['group and name', 'blog/claude', 'agent://local/blog/claude'],
  ['a name that is unique', 'reviewer', 'agent://local/shop/reviewer'],
  ['text with spaces around it', '  release-bot\n', 'agent://acme/backend/release-bot'],
])('%s names one agent', (_what, typed, address) => {
  expect(resolveAddress(typed, KNOWN)).toBe(address);
});

test.each([
  ['a name that fits two agents', 'claude', 'AB-5002'],
  ['a name that fits none', 'bot', 'AB-5001'],
  ['the tail of a name, which is not a name', 'viewer', 'AB-5001'],
  ['an address with too few parts', 'agent://local/shop', 'AB-7002'],
  ['workspace, group and name without the scheme', 'local/shop/claude', 'AB-7002'],
  ['upper case', 'Reviewer', 'AB-7002'],
  ['a path that climbs', '../claude', 'AB-7002'],
  ['nothing', '   ', 'AB-7002'],
  ['an address with a line break inside', 'agent://local/shop/cla\nude', 'AB-7002'],
])('%s is refused', (_what, typed, code) => {
  expect(codeOf(() => resolveAddress(typed, KNOWN))).toBe(code);
});

test('the refusal of an ambiguous name lists what it fits', () => {
  expect(() => resolveAddress('claude', KNOWN)).toThrow('agent://local/shop/claude, agent://local/blog/claude');
});

test('an address keeps its three parts through parse and format', () => {
  fc.assert(
    fc.property(segment, segment, segment, (workspace, group, name) => {
      expect(parseAddress(formatAddress({ workspace, group, name }))).toEqual({ workspace, group, name });
    }),
  );
});

test('no text but an address is one, whatever stands around it', () => {
  fc.assert(
    fc.property(fc.string(), fc.constantFrom('agent://local/shop/claude', ''), fc.string(), (before, middle, after) => {
      const typed = `${before}${middle}${after}`;
      const parsed = parseAddress(typed);
      expect(parsed === null ? null : formatAddress(parsed)).toBe(isAddress(typed) ? typed : null);
    }),
  );
  expect(isAddress('agent://local/shop/claude\n')).toBe(false);
});

test('any text makes a segment, and a segment stays what it is', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      const slug = toSegment(text);
      expect(isSegment(slug)).toBe(true);
      expect(toSegment(slug)).toBe(slug);
    }),
  );
  expect(toSegment('Über Café (2)')).toBe('u-ber-cafe-2');
  expect(toSegment('山山', 'project')).toBe('project');
});
