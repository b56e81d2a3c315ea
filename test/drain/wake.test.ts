import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../src/core/limits.ts';
import { isWakeLine, wakeLine } from '../../src/core/wake-line.ts';
import { chooseWake, type WakeState } from '../../src/drain/wake.ts';
import { HARNESSES } from '../../src/harness/registry.ts';
import type { InstanceRow } from '../../src/store/contract.ts';
import { instanceRow, NOW } from '../store/rows.ts';
import { message, type Wanted } from './rows.ts';

type Changes = Partial<Omit<WakeState, 'instance'>> & { instance?: Partial<InstanceRow> };

function stateOf({ instance, ...changes }: Changes = {}): WakeState {
  const idle = { turnAt: NOW - 60_000, stopTotal: 0, ...instance };
  return { push: 'wake', paused: false, wokenAt: null, now: NOW, ...changes, instance: instanceRow(idle) };
}

/** Which of the rows a session is woken for, by their places in the list. */
function chosen(changes: Changes, wanted: Wanted[] = [{}]): number[] {
  const rows = wanted.map(message);
  return chooseWake(stateOf(changes), rows).map((row) => rows.indexOf(row));
}

describe('an idle session', () => {
  test.each<[string, Changes, Wanted[], number[]]>([
    ['is woken for a message', {}, [{}], [0]],
    ['by all that its next prompt would show', {}, [{}, { priority: 'urgent' }, {}, {}], [1, 0, 2]],
    ['never for a low one', {}, [{ priority: 'low' }], []],
    ['though a low one may come along', {}, [{ priority: 'low', conversation: 'a' }, { conversation: 'a' }], [1]],
    ['never past the hop limit', {}, [{ hops: LIMITS.maxHops, priority: 'urgent' }], []],
    ['nor for what follows such a message', {}, [{ hops: LIMITS.maxHops, conversation: 'a' }, { conversation: 'a' }], []],
    ['not for nothing', {}, [], []],
    ['not unless it is asked for', { push: 'off' }, [{}], []],
    ['not while its person has paused it', { paused: true }, [{}], []],
    ['not without a person', { instance: { headless: true, named: true } }, [{}], []],
    ['not while it stands by', { instance: { standby: true } }, [{}], []],
    ['not once it has ended', { instance: { state: 'ended' } }, [{}], []],
    ['not while it is busy', { instance: { state: 'busy' } }, [{ priority: 'urgent' }], []],
    ['not after the last one of the brake', { instance: { stopTotal: LIMITS.stopExtensionsPerPrompt } }, [{}], []],
    ['but up to it', { instance: { stopTotal: LIMITS.stopExtensionsPerPrompt - 1 } }, [{}], [0]],
    ['not while another wake is under way', { wokenAt: NOW - 1_000 }, [{}], []],
    ['again once the woken turn has begun', { wokenAt: NOW - 1_000, instance: { turnAt: NOW - 500 } }, [{}], [0]],
    ['again when nothing came of it', { wokenAt: NOW - LIMITS.wakeOutstanding }, [{}], [0]],
  ])('%s', (_what, changes, wanted, expected) => {
    expect(chosen(changes, wanted)).toEqual(expected);
  });
});

test.each(HARNESSES)('the prompt of a woken turn is no person’s: $id', ({ id, isMachinePrompt }) => {
  const promptOf = (name: string): string => {
    const text = readFileSync(new URL(`../../fixtures/hook-payloads/${id}/UserPromptSubmit.${name}.json`, import.meta.url), 'utf8');
    return (JSON.parse(text) as { prompt: string }).prompt;
  };
  expect(isMachinePrompt(promptOf('woken'))).toBe(true);
  expect(isMachinePrompt(promptOf('captured'))).toBe(false);
  expect(isMachinePrompt('What is AgentBus: unread message msg_1?')).toBe(false);
});

test('the line names each message and its sender', () => {
  const rows = [message({ from: 'agent://local/shop/a' }), message({ from: 'agent://local/shop/b' })];
  const line = wakeLine(rows);
  expect(line).toBe(`AgentBus: unread messages ${rows[0]!.id} from agent://local/shop/a, ${rows[1]!.id} from agent://local/shop/b.`);
  expect([line, wakeLine(rows.slice(1)), ` ${line}`].map(isWakeLine)).toEqual([true, true, true]);
});

describe('a running turn', () => {
  const busy = { push: 'steer', instance: { state: 'busy' as const } };
  test('is steered by a high message and nothing less', () => {
    expect(chosen(busy, [{}, { priority: 'high' }, { priority: 'low' }])).toEqual([1]);
  });
  test('is left alone by every other way', () => {
    expect(chosen({ ...busy, push: 'queue' }, [{ priority: 'urgent' }])).toEqual([]);
  });
});
