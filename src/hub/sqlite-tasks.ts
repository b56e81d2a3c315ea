import type { AgentBusError } from '../core/errors.ts';
import { OPEN_STATES, type Task, type TaskChange, type TaskEvent, type TaskState } from '../core/task.ts';
import type { Database, Row } from '../store/driver.ts';
import type { DecideTask, HubStore } from './store.ts';

export const TASKS = `
CREATE TABLE tasks (
  workspace TEXT NOT NULL, id TEXT NOT NULL, caller TEXT NOT NULL, agent TEXT NOT NULL, conversation TEXT NOT NULL, state TEXT NOT NULL,
  seq INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
  cancel_requested_at INTEGER, reason TEXT, PRIMARY KEY (workspace, id)
) STRICT;
CREATE INDEX tasks_open ON tasks (expires_at) WHERE state IN ('submitted', 'working', 'input-required', 'auth-required');
CREATE TABLE task_events (
  workspace TEXT NOT NULL, id TEXT NOT NULL, task TEXT NOT NULL, seq INTEGER NOT NULL, type TEXT NOT NULL, sender TEXT,
  at INTEGER NOT NULL, state TEXT NOT NULL, late INTEGER NOT NULL, PRIMARY KEY (workspace, id)
) STRICT;
CREATE INDEX task_events_task ON task_events (workspace, task, seq);
`;

const OPEN = `state IN (${OPEN_STATES.map((state) => `'${state}'`).join(', ')})`;

const toTask = (row: Row): Task => ({
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
});

export type DecisionResult = { refused: null; devices: string[] } | { refused: AgentBusError; devices: string[] };

/** The hub's tasks. `queueTask` runs inside the caller's transaction. */
export function hubTasks(db: Database): Pick<HubStore, 'task' | 'overdueTasks' | 'endTask'> & {
  decideTask(workspace: string, id: string, decide: DecideTask): DecisionResult;
} {
  const sql = {
    task: db.prepare('SELECT * FROM tasks WHERE workspace = ? AND id = ?'),
    save: db.prepare(
      `INSERT INTO tasks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (workspace, id) DO UPDATE SET
       state = excluded.state, seq = excluded.seq, updated_at = excluded.updated_at, cancel_requested_at = excluded.cancel_requested_at, reason = excluded.reason`,
    ),
    addEvent: db.prepare('INSERT INTO task_events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING'),
    device: db.prepare('SELECT device FROM agents WHERE address = ?'),
    queue: db.prepare(
      "INSERT INTO deliveries (device, kind, body, message_id, conversation_seq, queued_at) VALUES (?, 'task', ?, ?, 0, ?)",
    ),
    overdue: db.prepare(`SELECT * FROM tasks WHERE ${OPEN} AND expires_at <= ? ORDER BY expires_at LIMIT ?`),
  };
  const one = (row: Row | undefined): Task | null => (row ? toTask(row) : null);

  function addEvent(workspace: string, event: TaskEvent): boolean {
    const { id, task, seq, type, from, at, state, late } = event;
    return sql.addEvent.run(workspace, id, task, seq, type, from, at, state, late ? 1 : 0).changes === 1;
  }

  /** Both parties' devices get the task as it stands, with the event that made it so. */
  function tell(task: Task, event: TaskEvent): string[] {
    const devices = new Set([task.caller, task.agent].map((address) => sql.device.get(address)?.['device'] as string));
    for (const device of devices) sql.queue.run(device, JSON.stringify({ task, event }), event.id, event.at);
    return [...devices];
  }

  function apply({ task, event }: TaskChange): string[] {
    const { workspace, caller, agent, conversation, state, seq, createdAt, updatedAt, expiresAt, cancelRequestedAt, reason } = task;
    sql.save.run(workspace, task.id, caller, agent, conversation, state, seq, createdAt, updatedAt, expiresAt, cancelRequestedAt, reason);
    addEvent(workspace, event);
    return tell(task, event);
  }

  function decideTask(workspace: string, id: string, decide: DecideTask): DecisionResult {
    const current = one(sql.task.get(workspace, id));
    const step = decide(current);
    if ('refused' in step) {
      const kept = step.late !== null && addEvent(workspace, step.late);
      return { refused: step.refused, devices: kept ? tell(current!, step.late!) : [] };
    }
    return { refused: null, devices: apply(step.change) };
  }

  return {
    decideTask,
    task: async (workspace, id) => one(sql.task.get(workspace, id)),
    overdueTasks: async (now, limit) => sql.overdue.all(now, limit).map(toTask),
    endTask: async (workspace, id, end) =>
      db.transaction(() => {
        const task = one(sql.task.get(workspace, id));
        const change = task && end(task);
        return change ? apply(change) : [];
      }),
  };
}
