import { expect, test } from 'vitest';
import { newId } from '../../src/core/ids.ts';
import type { Task, TaskEvent } from '../../src/core/task.ts';
import type { OpenWorld } from './store.ts';

const NOW = Date.parse('2026-10-10T14:00:00Z');
const CLAUDE = 'agent://local/shop/claude';
const CODEX = 'agent://local/shop/codex';

function taskOf(changes: Partial<Task> = {}): Task {
  const times = { createdAt: NOW, updatedAt: NOW, expiresAt: NOW + 1_000, cancelRequestedAt: null };
  const parties = { workspace: 'local', caller: CLAUDE, agent: CODEX, conversation: 'cnv-1' };
  return { id: newId('msg'), ...parties, ...times, state: 'submitted', seq: 1, reason: null, ...changes };
}

const eventOf = (task: Task, changes: Partial<TaskEvent> = {}): TaskEvent => ({
  id: newId('msg'),
  task: task.id,
  seq: task.seq,
  type: 'agentbus.task.accept.v1',
  from: CODEX,
  at: NOW,
  state: task.state,
  late: false,
  ...changes,
});

export function taskTests(open: OpenWorld): void {
  test('what is newer replaces what is known, whatever order it comes in', () => {
    const { store, reopen } = open();
    const first = taskOf();
    const third: Task = { ...first, state: 'canceled', seq: 3, updatedAt: NOW + 3, cancelRequestedAt: NOW + 2, reason: 'no' };
    expect(store.saveTask(first, eventOf(first))).toBe(true);
    expect(store.saveTask(third, eventOf(third))).toBe(true);
    for (const old of [{ ...first, state: 'working' as const, seq: 2 }, third]) expect(store.saveTask(old, eventOf(old))).toBe(false);
    const later = reopen();
    expect(later.task(first.id)).toEqual({ ...third, tokens: 0, usd: 0 });
    expect(later.task('msg_none')).toBeNull();
  });

  test('events come in the order of the hub, each once, late ones behind the end', () => {
    const { store } = open();
    const task = taskOf();
    const done = { ...task, state: 'completed' as const, seq: 2 };
    const [begun, ended, late] = [eventOf(task), eventOf(done), eventOf(done, { late: true, from: null })];
    for (const event of [late, ended, begun, begun]) store.saveTask(event.seq === 1 ? task : done, event);
    expect(store.taskEvents(task.id)).toEqual([begun, ended, late]);
  });

  test('both parties find it, open ones and all, and what was used stays through news', () => {
    const { store } = open();
    const mine = taskOf();
    const done = taskOf({ state: 'completed', updatedAt: NOW + 5 });
    const other = taskOf({ caller: 'agent://local/x/a', agent: 'agent://local/x/b' });
    for (const task of [mine, done, other]) store.saveTask(task, eventOf(task));
    for (const address of [CLAUDE, CODEX]) {
      expect(store.openTasks(address).map(({ id }) => id)).toEqual([mine.id]);
      expect(
        store
          .openTasks(null)
          .map(({ id }) => id)
          .toSorted(),
      ).toEqual([mine.id, other.id].toSorted());
      expect(store.nextTaskEnd()).toBe(NOW + 1_000);
      expect(store.tasksOf(address, 10).map(({ id }) => id)).toEqual([done.id, mine.id]);
    }
    expect(store.tasksOf(null, 10)).toHaveLength(3);
    expect(store.tasksOf(null, 1).map(({ id }) => id)).toEqual([done.id]);
    store.addTaskUsage(mine.id, 100, 0.5);
    const working = { ...mine, state: 'working' as const, seq: 2 };
    store.saveTask(working, eventOf(working));
    store.addTaskUsage(mine.id, 1, 0);
    expect(store.task(mine.id)).toEqual({ ...working, tokens: 101, usd: 0.5 });
  });

  test('a conversation is in flight while a task of it is worked on', () => {
    const { store } = open();
    const task = taskOf();
    const states = ['submitted', 'working', 'input-required', 'completed'] as const;
    const inFlight = states.map((state, at) => {
      store.saveTask({ ...task, state, seq: at + 1 }, eventOf({ ...task, state, seq: at + 1 }));
      return [CLAUDE, CODEX, 'agent://local/x/a'].map((address) => store.inFlight('cnv-1', address));
    });
    const [none, both] = [
      [false, false, false],
      [true, true, false],
    ];
    expect(inFlight).toEqual([none, both, both, none]);
    expect(store.inFlight('cnv-2', CODEX)).toBe(false);
  });
}
