import { expect, test } from 'vitest';
import { AgentBusError } from '../../src/core/errors.ts';
import { newId } from '../../src/core/ids.ts';
import type { Task, TaskEvent, TaskStep } from '../../src/core/task.ts';
import type { HubStore, MessageStep, NewMessage } from '../../src/hub/store.ts';
import type { OpenHubWorld } from './hub-store.ts';

const NOW = Date.parse('2026-10-10T14:00:00Z');
const CLAUDE = 'agent://local/shop/claude';
const CODEX = 'agent://local/shop/codex';
const HASH = 'a'.repeat(64);

async function twoDevices(store: HubStore): Promise<void> {
  for (const [id, address] of [
    ['dev_a', CLAUDE],
    ['dev_b', CODEX],
  ] as const) {
    await store.addDevice({ id, workspace: 'local', publicKey: `key of ${id}`, enrolledAt: NOW });
    await store.putAgent({ address, workspace: 'local', device: id, card: {}, updatedAt: NOW });
  }
}

function message(changes: Partial<NewMessage> = {}): NewMessage {
  const id = newId('msg');
  const parties = { source: CLAUDE, recipient: CODEX, device: 'dev_b' };
  const bytes = { jws: `{"signed":"${id}"}`, digest: `digest of ${id}` };
  return {
    workspace: 'local',
    id,
    ...parties,
    ...bytes,
    conversation: 'cnv-1',
    acceptedAt: NOW,
    expiresAt: NOW + 1_000,
    blobs: [],
    ...changes,
  };
}

function accepted(row: NewMessage): MessageStep {
  const receipt = { id: newId('rct'), workspace: 'local', messageId: row.id, state: 'accepted', at: NOW, agent: row.recipient, detail: {} };
  return { receipt, source: row.source, except: null, state: 'accepted' };
}

function taskOf(id: string, changes: Partial<Task> = {}): Task {
  const times = { createdAt: NOW, updatedAt: NOW, expiresAt: NOW + 500, cancelRequestedAt: null };
  return {
    id,
    workspace: 'local',
    caller: CLAUDE,
    agent: CODEX,
    conversation: 'cnv-1',
    state: 'submitted',
    seq: 1,
    reason: null,
    ...times,
    ...changes,
  };
}

function eventOf(task: Task, changes: Partial<TaskEvent> = {}): TaskEvent {
  return { id: newId('msg'), task: task.id, seq: task.seq, type: 'x', from: CODEX, at: NOW, state: task.state, late: false, ...changes };
}

const to = (task: Task) => (): TaskStep => ({ change: { task, event: eventOf(task) } });
const ofTasks = async (store: HubStore, device: string) =>
  (await store.deliveries(device, 0, 50))
    .filter(({ kind }) => kind === 'task')
    .map(({ body }) => JSON.parse(body) as { task: Task; event: TaskEvent });

export function taskTests(open: OpenHubWorld): void {
  test('a step is decided by how the task stands, and both parties’ devices get it before the message', async () => {
    const { store, reopen } = await open();
    await twoDevices(store);
    const row = message();
    const seen: (Task | null)[] = [];
    const decide = (current: Task | null): TaskStep => {
      seen.push(current);
      return to(taskOf(row.id))();
    };
    expect(await store.addMessage(row, accepted(row), { id: row.id, decide })).toEqual({ result: 'new', conversationSeq: 1 });
    expect(seen).toEqual([null]);
    for (const device of ['dev_a', 'dev_b']) expect(await ofTasks(store, device)).toMatchObject([{ task: taskOf(row.id) }]);
    expect((await store.deliveries('dev_b', 0, 10)).map(({ kind }) => kind)).toEqual(['task', 'message']);
    expect(await (await reopen()).task('local', row.id)).toEqual(taskOf(row.id));
    expect(await (await reopen()).task('acme', row.id)).toBeNull();
  });

  test('a refused step leaves neither message nor change; a late one is told, once', async () => {
    const { store } = await open();
    await twoDevices(store);
    const request = message();
    await store.addMessage(request, accepted(request), { id: request.id, decide: to(taskOf(request.id, { state: 'completed', seq: 3 })) });
    const before = await ofTasks(store, 'dev_a');
    const error = new AgentBusError('AB-6002', 'over', '');
    const row = message();
    const refuse = (late: TaskEvent | null) => () => ({ refused: error, late });
    expect(await store.addMessage(row, accepted(row), { id: request.id, decide: refuse(null) })).toEqual({
      result: 'refused',
      error,
      devices: [],
    });
    expect(await store.message('local', row.id)).toBeNull();
    const late = eventOf(taskOf(request.id), { id: row.id, late: true });
    for (const devices of [['dev_a', 'dev_b'], []])
      expect(await store.addMessage(row, accepted(row), { id: request.id, decide: refuse(late) })).toEqual({
        result: 'refused',
        error,
        devices,
      });
    expect(await ofTasks(store, 'dev_a')).toHaveLength(before.length + 1);
    expect((await store.task('local', request.id))!.state).toBe('completed');
  });

  test('the same message twice takes its step once', async () => {
    const { store } = await open();
    await twoDevices(store);
    const row = message();
    const step = { id: row.id, decide: to(taskOf(row.id)) };
    for (const result of ['new', 'duplicate']) expect(await store.addMessage(row, accepted(row), step)).toMatchObject({ result });
    expect(await ofTasks(store, 'dev_a')).toHaveLength(1);
  });

  test('open tasks end when their time is over, and no others', async () => {
    const { store } = await open();
    await twoDevices(store);
    const rows = [message(), message(), message()];
    const tasks = [taskOf(rows[0]!.id), taskOf(rows[1]!.id, { expiresAt: NOW + 900 }), taskOf(rows[2]!.id, { state: 'failed' })];
    for (const [at, row] of rows.entries()) await store.addMessage(row, accepted(row), { id: row.id, decide: to(tasks[at]!) });
    expect((await store.overdueTasks(NOW + 500, 10)).map(({ id }) => id)).toEqual([rows[0]!.id]);
    const end = (task: Task) => ({
      task: { ...task, state: 'failed' as const, seq: 2 },
      event: eventOf(task, { id: newId('rct'), from: null }),
    });
    expect(await store.endTask('local', rows[0]!.id, end)).toEqual(['dev_a', 'dev_b']);
    expect(await store.endTask('local', rows[1]!.id, () => null)).toEqual([]);
    expect(await store.endTask('local', 'msg_none', end)).toEqual([]);
    expect((await store.task('local', rows[0]!.id))!.state).toBe('failed');
  });
}

export function forgetTests(open: OpenHubWorld): void {
  test('messages that expired before a time are forgotten, and ended tasks, receipts and records that are older', async () => {
    const { store } = await open();
    await twoDevices(store);
    const [old, fresh] = [message({ expiresAt: NOW - 1 }), message({ expiresAt: NOW })];
    const states = ['failed', 'working'] as const;
    for (const [at, row] of [old, fresh].entries()) {
      const task = taskOf(row.id, { state: states[at]!, updatedAt: NOW - 1 });
      await store.addMessage(row, accepted(row), { id: row.id, decide: to(task) });
    }
    const record = { id: newId('rec'), workspace: 'local', at: NOW - 1, body: {} };
    await store.addRecords([record, { ...record, id: newId('rec'), at: NOW }]);
    await store.forget(NOW);
    expect(await store.message('local', old.id)).toBeNull();
    expect(await store.task('local', old.id)).toBeNull();
    expect(await store.message('local', fresh.id)).not.toBeNull();
    expect(await store.task('local', fresh.id)).not.toBeNull();
    expect(await store.receipts('local', fresh.id)).toHaveLength(1);
    expect(await store.records('local', { limit: 10 })).toHaveLength(1);
  });
}

export function blobTests(open: OpenHubWorld): void {
  const blob = { workspace: 'local', hash: HASH, bytes: Buffer.from([0, 255, 10]), reader: CLAUDE, until: NOW + 100 };

  test('an attachment is read by its sender, by the recipient once a message names it, and by nobody else', async () => {
    const { store, reopen } = await open();
    await twoDevices(store);
    await store.putBlob(blob);
    expect(await store.blob('local', HASH, CLAUDE)).toEqual(blob.bytes);
    expect(await store.blob('local', HASH, CODEX)).toBeNull();
    const row = message({ blobs: [HASH] });
    expect(await store.addMessage(row, accepted(row))).toMatchObject({ result: 'new' });
    const later = await reopen();
    expect(await later.blob('local', HASH, CODEX)).toEqual(blob.bytes);
    expect(await later.blob('acme', HASH, CODEX)).toBeNull();
    expect(await later.blob('local', HASH, 'agent://local/shop/other')).toBeNull();
  });

  test('who may not read it can’t pass it on, and nothing of such a message is kept', async () => {
    const { store } = await open();
    await twoDevices(store);
    await store.putBlob(blob);
    const row = message({ source: CODEX, recipient: CLAUDE, device: 'dev_a', blobs: [HASH] });
    expect(await store.addMessage(row, accepted(row))).toMatchObject({ result: 'refused', error: { code: 'AB-5008' } });
    expect(await store.message('local', row.id)).toBeNull();
  });

  test('it is kept as long as a message that names it', async () => {
    const { store } = await open();
    await twoDevices(store);
    await store.putBlob(blob);
    const row = message({ blobs: [HASH] });
    await store.addMessage(row, accepted(row));
    await store.sweepBlobs(NOW + 999);
    expect(await store.blob('local', HASH, CODEX)).toEqual(blob.bytes);
    await store.sweepBlobs(NOW + 1_000);
    expect(await store.blob('local', HASH, CODEX)).toBeNull();
    await store.putBlob({ ...blob, bytes: Buffer.from('again') });
    expect(await store.blob('local', HASH, CLAUDE)).toEqual(Buffer.from('again'));
  });
}
