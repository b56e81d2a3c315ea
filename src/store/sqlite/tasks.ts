import { OPEN_STATES, type TaskState } from '../../core/task.ts';
import type { TaskRow, TaskStore } from '../contract.ts';
import type { Database, Row } from '../driver.ts';

const toTask = (row: Row): TaskRow => ({
  id: row['id'] as string,
  workspace: row['workspace'] as string,
  caller: row['caller'] as string,
  agent: row['agent'] as string,
  conversation: row['conversation'] as string,
  state: row['state'] as TaskState,
  seq: Number(row['seq']),
  createdAt: Number(row['created_at']),
  updatedAt: Number(row['updated_at']),
  expiresAt: Number(row['expires_at']),
  cancelRequestedAt: row['cancel_requested_at'] as number | null,
  reason: row['reason'] as string | null,
  tokens: Number(row['tokens']),
  usd: Number(row['usd']),
});

const OPEN = `state IN (${OPEN_STATES.map((state) => `'${state}'`).join(', ')})`;

export function taskStore(db: Database): TaskStore {
  const sql = {
    save: db.prepare(
      `INSERT INTO tasks (id, workspace, caller, agent, conversation, state, seq, created_at, updated_at, expires_at, cancel_requested_at, reason)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET state = excluded.state, seq = excluded.seq,
       updated_at = excluded.updated_at, cancel_requested_at = excluded.cancel_requested_at, reason = excluded.reason
       WHERE excluded.seq > seq`,
    ),
    one: db.prepare('SELECT * FROM tasks WHERE id = ?'),
    open: db.prepare(`SELECT * FROM tasks WHERE (? IS NULL OR agent = ? OR caller = ?) AND ${OPEN} ORDER BY created_at, id`),
    all: db.prepare('SELECT * FROM tasks WHERE ? IS NULL OR agent = ? OR caller = ? ORDER BY updated_at DESC, id DESC LIMIT ?'),
    inFlight: db.prepare(
      `SELECT 1 FROM tasks WHERE conversation = ? AND (agent = ? OR caller = ?) AND ${OPEN} AND state <> 'submitted' LIMIT 1`,
    ),
    next: db.prepare(`SELECT min(expires_at) AS at FROM tasks WHERE ${OPEN}`),
    usage: db.prepare('UPDATE tasks SET tokens = tokens + ?, usd = usd + ? WHERE id = ?'),
    addEvent: db.prepare('INSERT INTO task_events VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING'),
    events: db.prepare('SELECT * FROM task_events WHERE task = ? ORDER BY seq, late, rowid'),
  };
  return {
    saveTask(task, event) {
      const { id, workspace, caller, agent, conversation, state, seq, createdAt, updatedAt, expiresAt, cancelRequestedAt, reason } = task;
      const { changes } = sql.save.run(
        id,
        workspace,
        caller,
        agent,
        conversation,
        state,
        seq,
        createdAt,
        updatedAt,
        expiresAt,
        cancelRequestedAt,
        reason,
      );
      sql.addEvent.run(event.id, event.task, event.seq, event.type, event.from, event.at, event.state, event.late ? 1 : 0);
      return changes === 1;
    },
    task(id) {
      const row = sql.one.get(id);
      return row ? toTask(row) : null;
    },
    openTasks: (address) => sql.open.all(address, address, address).map(toTask),
    tasksOf: (address, limit) => sql.all.all(address, address, address, limit).map(toTask),
    inFlight: (conversation, address) => sql.inFlight.get(conversation, address, address) !== undefined,
    nextTaskEnd() {
      const at = sql.next.get()?.['at'];
      return typeof at === 'number' ? at : null;
    },
    addTaskUsage: (id, tokens, usd) => void sql.usage.run(tokens, usd, id),
    taskEvents: (id) =>
      sql.events.all(id).map((row) => ({
        id: row['id'] as string,
        task: row['task'] as string,
        seq: Number(row['seq']),
        type: row['type'] as string,
        from: row['sender'] as string | null,
        at: Number(row['at']),
        state: row['state'] as TaskState,
        late: row['late'] === 1,
      })),
  };
}
