import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PRIORITIES } from '../../src/core/envelope.ts';
import { LIMITS } from '../../src/core/limits.ts';
import { selectMessages, type Place } from '../../src/drain/select.ts';
import type { InboxRow } from '../../src/store/contract.ts';
import { message, type Wanted } from './rows.ts';

const PROMPT: Place = { kind: 'prompt', human: true };
const MACHINE: Place = { kind: 'prompt', human: false };
const TOOL: Place = { kind: 'post-tool', framesThisTurn: 0, bytesThisTurn: 0 };
const STOP: Place = { kind: 'stop', active: false, extensionsThisTurn: 0, extensionsSincePrompt: 0, enabled: true };
const task: Wanted = { type: 'agentbus.task.request.v1' };

/** Which of the rows are chosen, by their places in the list. */
function chosen(place: Place, rows: readonly InboxRow[]): number[] {
  return selectMessages(place, rows, new Set()).map((row) => rows.indexOf(row));
}

describe('at a prompt', () => {
  test.each<[string, Wanted[], number[]]>([
    ['three at most', [{}, {}, {}, {}], [0, 1, 2]],
    ['the more urgent conversation first', [{}, { priority: 'low' }, { priority: 'high' }, { priority: 'urgent' }], [3, 2, 0]],
    [
      'within a conversation its own order',
      [{ conversation: 'a' }, { conversation: 'a', priority: 'urgent' }, { priority: 'high' }],
      [0, 1, 2],
    ],
    [
      'the rest of a conversation by what it still holds',
      [{ conversation: 'a', priority: 'urgent' }, { conversation: 'a', priority: 'low' }, { priority: 'high' }, {}],
      [0, 2, 3],
    ],
    [
      'senders by turns',
      [
        { from: 'agent://local/shop/a' },
        { from: 'agent://local/shop/a' },
        { from: 'agent://local/shop/a' },
        { from: 'agent://local/shop/b' },
      ],
      [0, 3, 1],
    ],
    [
      'an urgent one before the turn of others',
      [{ from: 'agent://local/shop/a' }, { from: 'agent://local/shop/b' }, { from: 'agent://local/shop/a', priority: 'urgent' }],
      [2, 1, 0],
    ],
    ['nothing when there is nothing', [], []],
  ])('it shows %s', (_what, wanted, expected) => {
    expect(chosen(PROMPT, wanted.map(message))).toEqual(expected);
  });
});

describe('in mid-turn', () => {
  test.each<[string, Wanted[], number[]]>([
    ['one urgent message', [{}, { priority: 'high' }, { priority: 'urgent' }], [2]],
    ['the older of two alike', [{ priority: 'high' }, { priority: 'high' }], [0]],
    ['what stands before an urgent one in its conversation', [{ conversation: 'a' }, { conversation: 'a', priority: 'urgent' }], [0]],
    ['no task and nothing of normal priority', [task, {}, { priority: 'low' }], []],
  ])('it shows %s', (_what, wanted, expected) => {
    expect(chosen(TOOL, wanted.map(message))).toEqual(expected);
  });

  test.each<[string, Place, number]>([
    ['a fifth frame', { ...TOOL, framesThisTurn: LIMITS.midTurnFramesPerTurn - 1 }, 1],
    ['no sixth frame', { ...TOOL, framesThisTurn: LIMITS.midTurnFramesPerTurn }, 0],
    ['one more below 20 kB', { ...TOOL, bytesThisTurn: LIMITS.midTurnBytesPerTurn - 1 }, 1],
    ['none from 20 kB on', { ...TOOL, bytesThisTurn: LIMITS.midTurnBytesPerTurn }, 0],
  ])('a turn takes %s', (_what, place, count) => {
    expect(selectMessages(place, [message({ priority: 'urgent' })], new Set())).toHaveLength(count);
  });
});

describe('at a stop', () => {
  test.each<[string, Wanted[], number[]]>([
    ['one message of high priority', [{}, { priority: 'high' }, { priority: 'high' }], [1]],
    ['a task of any priority', [{}, { ...task, priority: 'low' }], [1]],
    ['the urgent one rather than the task', [task, { priority: 'urgent' }], [1]],
    ['nothing of normal priority', [{}, { priority: 'low' }], []],
    ['none that extended a stop before', [{ priority: 'urgent', stopUsed: true }], []],
    ['another than the one that extended a stop before', [{ priority: 'urgent', stopUsed: true }, { priority: 'high' }], [1]],
    [
      'nothing that would overtake one that extended a stop before',
      [
        { conversation: 'a', priority: 'high', stopUsed: true },
        { conversation: 'a', priority: 'high' },
      ],
      [],
    ],
  ])('it shows %s', (_what, wanted, expected) => {
    expect(chosen(STOP, wanted.map(message))).toEqual(expected);
  });

  test.each<[string, Partial<Extract<Place, { kind: 'stop' }>>, number]>([
    ['a stop hook is active already', { active: true }, 0],
    ['the turn was extended once', { extensionsThisTurn: 1 }, 0],
    ['nine turns were extended since the last human prompt', { extensionsSincePrompt: 9 }, 1],
    ['ten were', { extensionsSincePrompt: 10 }, 0],
    ['the person switched it off', { enabled: false }, 0],
  ])('when %s, it shows %#', (_what, changes, count) => {
    expect(selectMessages({ ...STOP, ...changes }, [message({ priority: 'urgent' })], new Set())).toHaveLength(count);
  });
});

test.each([MACHINE, TOOL, STOP])('an endless exchange waits for a person: not shown at $kind', (place) => {
  const rows = [
    message({ conversation: 'a', priority: 'urgent', hops: LIMITS.maxHops }),
    message({ conversation: 'a', priority: 'urgent' }),
  ];
  expect(selectMessages(place, rows, new Set())).toEqual([]);
  expect(selectMessages(place, [message({ priority: 'urgent', hops: LIMITS.maxHops - 1 })], new Set())).toHaveLength(1);
  expect(selectMessages(PROMPT, rows, new Set())).toEqual(rows);
});

test('whatever is waiting, no choice breaks the order of a conversation or the rank between them', () => {
  const wanted = fc.record({
    conversation: fc.constantFrom('a', 'b', 'c', 'd'),
    priority: fc.constantFrom(...PRIORITIES),
    from: fc.constantFrom('agent://local/shop/a', 'agent://local/shop/b'),
    type: fc.constantFrom('agentbus.message.v1', 'agentbus.task.request.v1'),
    hops: fc.constantFrom(0, 24, 25),
    stopUsed: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(wanted, { maxLength: 10 }), fc.constantFrom(PROMPT, MACHINE, TOOL, STOP), (list, place) => {
      const rows = list.map(message);
      const picked = selectMessages(place, rows, new Set());
      expect(picked.length).toBeLessThanOrEqual(place.kind === 'prompt' ? 3 : 1);
      expect(new Set(picked).size).toBe(picked.length);
      for (const [at, row] of picked.entries()) {
        const left = rows.filter((other) => !picked.slice(0, at).includes(other));
        const before = left.filter((other) => other.conversation === row.conversation && other.seq < row.seq);
        expect(before).toEqual([]);
      }
      const next = (conversation: string, taken: readonly InboxRow[]) =>
        rows.filter((row) => row.conversation === conversation && !taken.includes(row));
      const rank = (queue: readonly InboxRow[]) => Math.max(-1, ...queue.map(({ priority }) => priority));
      // Only at a human prompt is nothing held back, so only there the highest has to come first.
      const ranks = (place === PROMPT ? picked : []).map((row, at) => {
        const taken = picked.slice(0, at);
        return (
          rank(next(row.conversation, taken)) - Math.max(...['a', 'b', 'c', 'd'].map((conversation) => rank(next(conversation, taken))))
        );
      });
      expect(ranks.filter((difference) => difference !== 0)).toEqual([]);
    }),
    { numRuns: 300 },
  );
});
