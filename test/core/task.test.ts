import { describe, expect, test } from 'vitest';
import { TYPES, type Envelope } from '../../src/core/envelope.ts';
import { applyToTask, expireTask, isOver, isStatus, openTasksLine, taskOf, type Task, type TaskState } from '../../src/core/task.ts';
import { codeOf } from './codes.ts';
import { envelopeOf } from './samples.ts';

const NOW = Date.parse('2026-10-10T14:00:00Z');
const CLAUDE = 'agent://local/shop/claude';
const CODEX = 'agent://local/shop/codex';
const REQUEST = envelopeOf({ from: CLAUDE, to: CODEX, type: TYPES.taskRequest, data: { instructions: 'review' } }, NOW);

/** A step of the task, by the party that takes it. */
function step(type: string, data: unknown = {}): Envelope {
  const byCaller = type === TYPES.taskInput || type === TYPES.taskCancel;
  return envelopeOf({ from: byCaller ? CLAUDE : CODEX, to: byCaller ? CODEX : CLAUDE, type, data, inReplyTo: REQUEST.id }, NOW);
}

const EVENTS = {
  accept: step(TYPES.taskAccept),
  progress: step(TYPES.taskProgress, { percent: 40 }),
  question: step(TYPES.taskProgress, { question: 'which?' }),
  input: step(TYPES.taskInput, { answer: 'main' }),
  result: step(TYPES.taskResult, { result: 'fine' }),
  failed: step(TYPES.taskError, { outcome: 'failed', message: 'no' }),
  rejected: step(TYPES.taskError, { outcome: 'rejected', message: 'no' }),
  canceled: step(TYPES.taskError, { outcome: 'canceled', message: 'no' }),
  cancel: step(TYPES.taskCancel),
};

function begun(): Task {
  const applied = applyToTask(null, REQUEST, 'local', NOW);
  if (!('change' in applied)) throw applied.refused;
  return applied.change.task;
}

function after(state: TaskState, event: Envelope): string {
  const applied = applyToTask({ ...begun(), state }, event, 'local', NOW + 1);
  if ('change' in applied) return applied.change.task.state;
  return applied.refused.code + (applied.late ? ' late' : '');
}

// docs/protocol.md has the same table; one row per state, in the order of EVENTS.
const TABLE: [TaskState, string[]][] = [
  ['submitted', ['working', 'AB-6003', 'AB-6003', 'AB-6003', 'AB-6003', 'failed', 'rejected', 'canceled', 'canceled']],
  ['working', ['AB-6003', 'working', 'input-required', 'AB-6003', 'completed', 'failed', 'rejected', 'canceled', 'working']],
  [
    'input-required',
    ['AB-6003', 'input-required', 'input-required', 'working', 'completed', 'failed', 'rejected', 'canceled', 'input-required'],
  ],
  ...(['completed', 'failed', 'canceled', 'rejected'] as const).map((state): [TaskState, string[]] => [
    state,
    Array.from(Object.keys(EVENTS), () => 'AB-6002 late'),
  ]),
];

test.each(TABLE)('from %s every step leads where the table says', (state, wanted) => {
  expect(Object.values(EVENTS).map((event) => after(state, event))).toEqual(wanted);
});

test('a request begins a task under its own id', () => {
  expect(begun()).toMatchObject({
    id: REQUEST.id,
    caller: CLAUDE,
    agent: CODEX,
    state: 'submitted',
    seq: 1,
    expiresAt: Date.parse(REQUEST.expiretime),
  });
  expect([REQUEST, EVENTS.result, envelopeOf({ from: CLAUDE, to: CODEX }, NOW)].map(taskOf)).toEqual([REQUEST.id, REQUEST.id, null]);
});

test('nobody takes the other party’s steps, and nobody a stranger’s', () => {
  const swapped = (event: Envelope): Envelope => ({ ...event, source: event.subject, subject: event.source });
  for (const event of Object.values(EVENTS)) expect(after('working', swapped(event))).toBe('AB-4002');
  expect(after('working', { ...EVENTS.result, source: 'agent://local/shop/mallory' })).toBe('AB-4002');
  const applied = applyToTask(null, EVENTS.result, 'local', NOW);
  expect('refused' in applied && applied.refused.code).toBe('AB-6001');
});

test('a cancel is a wish: it is noted once, and the work may still be finished', () => {
  const working: Task = { ...begun(), state: 'working' };
  const asked = applyToTask(working, EVENTS.cancel, 'local', NOW + 5);
  if (!('change' in asked)) throw asked.refused;
  expect(asked.change.task).toMatchObject({ state: 'working', cancelRequestedAt: NOW + 5 });
  const done = applyToTask(asked.change.task, EVENTS.result, 'local', NOW + 9);
  expect('change' in done && done.change.task).toMatchObject({ state: 'completed', cancelRequestedAt: NOW + 5, seq: 3 });
  const again = applyToTask(asked.change.task, EVENTS.cancel, 'local', NOW + 6);
  expect('refused' in again && again.refused.code).toBe('AB-6003');
});

test('a task whose time is over fails as expired, once', () => {
  const task = begun();
  expect(expireTask(task, 'rct_x', task.expiresAt - 1)).toBeNull();
  const ended = expireTask(task, 'rct_x', task.expiresAt)!;
  expect(ended.task).toMatchObject({ state: 'failed', reason: 'expired', seq: 2 });
  expect(isOver(ended.task)).toBe(true);
  expect(expireTask(ended.task, 'rct_y', task.expiresAt)).toBeNull();
});

describe('data', () => {
  test.each([
    [TYPES.taskRequest, 'text'],
    [TYPES.taskRequest, { instructions: '' }],
    [TYPES.taskRequest, { instructions: 'x', budget: { tokens: -1 } }],
    [TYPES.taskRequest, { instructions: 'x', attachments: [{ ref: 'file:///etc/passwd', name: 'x', mediaType: 'text/plain', size: 1 }] }],
    [TYPES.taskProgress, { percent: 101 }],
    [TYPES.taskProgress, { question: '' }],
    [TYPES.taskError, { outcome: 'expired', message: 'x' }],
    [TYPES.taskError, { outcome: 'failed' }],
  ])('of %s that breaks its form is refused: %j', (type, data) => {
    expect(codeOf(() => applyToTask(begun(), { ...step(type), data }, 'local', NOW))).toBe('AB-7001');
  });

  test('what else stands in it is let through', () => {
    expect(after('working', step(TYPES.taskResult, { result: { any: [1] }, extra: true }))).toBe('completed');
  });
});

test('only news of how the work goes is a status', () => {
  const status = Object.entries(EVENTS).filter(([, event]) => isStatus(event));
  expect(status.map(([name]) => name)).toEqual(['accept', 'progress']);
});

test('the line of open tasks names each from the reader’s side, and ten at most', () => {
  const task = begun();
  expect(openTasksLine([], CODEX)).toBe('');
  expect(openTasksLine([task], CODEX)).toBe(`Open AgentBus tasks: ${task.id} (submitted, from ${CLAUDE}).`);
  expect(openTasksLine([task], CLAUDE)).toBe(`Open AgentBus tasks: ${task.id} (submitted, given to ${CODEX}).`);
  expect(openTasksLine(Array.from({ length: 12 }, begun), CODEX)).toMatch(/; 2 more\.$/);
});
