import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findFrames, measure, moreUnreadLine } from '../../src/core/frame.ts';
import { composeBatch, promptHash } from '../../src/drain/offer.ts';
import { claude } from '../../src/harness/claude/harness.ts';
import { codex } from '../../src/harness/codex/harness.ts';
import { message } from './rows.ts';

const POINTS = [claude.inject.prompt!, codex.inject.prompt!];

describe.each(POINTS)('with 9,000 $unit units', (point) => {
  test('three short messages are shown whole and the rest is counted in one line', () => {
    const rows = [1, 2, 3].map((n) => message({ data: `message ${n}` }));
    const { text, shown } = composeBatch(rows, point, 5);
    expect(shown.map(({ row }) => row.id)).toEqual(rows.map(({ id }) => id));
    expect(findFrames(text)).toEqual({ whole: shown.map(({ nonce }) => nonce), cut: [] });
    expect(text.endsWith('</agentbus-message>\n\n2 more unread AgentBus messages. Use the inbox tool to read them.')).toBe(true);
  });

  test('there is no line when nothing is left, and none where nobody asked for the count', () => {
    const rows = [message()];
    for (const unread of [1, null]) expect(composeBatch(rows, point, unread).text.endsWith('</agentbus-message>')).toBe(true);
  });

  test('what does not fit stays unshown, is counted, and is not overtaken', () => {
    const rows = [message({ data: 'x'.repeat(4_000) }), message({ data: 'y'.repeat(4_000) }), message({ data: 'short' })];
    const { text, shown } = composeBatch(rows, point, 3);
    expect(shown.map(({ row }) => row)).toEqual([rows[0]]);
    expect(text).not.toContain('short');
    expect(text.endsWith(moreUnreadLine(2))).toBe(true);
  });

  test('a message larger than the budget comes first and cut, with the way to the whole', () => {
    const row = message({ data: 'x'.repeat(24_990) });
    const { text, shown } = composeBatch([row, message()], point, 2);
    expect(shown.map((each) => each.row)).toEqual([row]);
    expect(text).toContain(`--- payload truncated, full payload via inbox tool read id=${row.id} ---`);
    expect(measure(text, point.unit)).toBeGreaterThan(point.budget - 20);
  });

  test('the budget holds for any messages, and only the first is ever cut', () => {
    const size = fc.integer({ min: 0, max: 12_000 });
    const letter = fc.constantFrom('x', '山', '😀', '<', '"', '\u202e');
    fc.assert(
      fc.property(fc.array(fc.tuple(size, letter), { minLength: 1, maxLength: 4 }), fc.nat(20_000), (bodies, more) => {
        const rows = bodies.map(([length, char]) => message({ data: char.repeat(length) }));
        const { text, shown } = composeBatch(rows, point, rows.length + more);
        expect(measure(text, point.unit)).toBeLessThanOrEqual(point.budget);
        expect(shown.map(({ row }) => row)).toEqual(rows.slice(0, shown.length));
        expect(findFrames(text).whole).toEqual(shown.map(({ nonce }) => nonce));
        expect(text.indexOf('--- payload truncated')).toBeLessThan(text.indexOf('</agentbus-message>'));
        expect(text.endsWith(moreUnreadLine(rows.length + more - shown.length))).toBe(rows.length + more > shown.length);
      }),
      { numRuns: 60 },
    );
  });
});

test('where not even a cut frame fits nothing is shown', () => {
  expect(composeBatch([message()], { ...POINTS[0]!, budget: 500 }, 1)).toEqual({ text: '', shown: [] });
});

test('a repeated show says so', () => {
  expect(composeBatch([message()], POINTS[0]!, null).text).toContain('redelivery="false"');
  expect(composeBatch([message({ shows: 1 })], POINTS[0]!, null).text).toContain('redelivery="true"');
});

test('a prompt is known again by its start, whatever a harness adds behind it, and by one offer alone', () => {
  const prompt = 'please look at the failing test in the shop and say what you think about it, then fix it';
  expect(promptHash('nonce-1', `  ${prompt}\n`)).toBe(promptHash('nonce-1', `${prompt}\n<hook_context>more</hook_context>`));
  expect(promptHash('nonce-1', prompt)).not.toBe(promptHash('nonce-2', prompt));
  expect(promptHash('nonce-1', prompt)).not.toBe(promptHash('nonce-1', prompt.replace('failing', 'passing')));
  expect(promptHash('nonce-1', prompt)).not.toContain('please');
});
