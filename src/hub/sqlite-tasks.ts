import type { AgentBusError } from '../core/errors.ts';
import { isOver, type Task, type TaskChange, type TaskEvent } from '../core/task.ts';
import type { Database, Row } from '../store/driver.ts';
import type { DecideTask, HubStore } from './store.ts';

/** The task itself is in `body`; `open_until` is null once it has ended. */
export const TASKS = `
CREATE TABLE tasks (
  workspace TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL, open_until INTEGER, updated_at INTEGER NOT NULL, PRIMARY KEY (workspace, id)
) STRICT;
CREATE INDEX tasks_open ON tasks (open_until) WHERE open_until IS NOT NULL;
CREATE INDEX tasks_over ON tasks (updated_at) WHERE open_until IS NULL;
CREATE TABLE task_events (
  workspace TEXT NOT NULL, id TEXT NOT NULL, task TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (workspace, id)
) STRICT;
CREATE INDEX task_events_task ON task_events (workspace, task);
`;

type Decision = { refused: AgentBusError | null; devices: string[] };

/** The hub's tasks. `decideTask` runs inside the caller's transaction. */
export function hubTasks(db: Database): Pick<HubStore, 'task' | 'overdueTasks' | 'endTask'> & {
  decideTask(workspace: string, id: string, decide: DecideTask): Decision;
} {
  const sql = {
    task: db.prepare('SELECT body FROM tasks WHERE workspace = ? AND id = ?'),
    save: db.prepare(
      `INSERT INTO tasks VALUES (?, ?, ?, ?, ?) ON CONFLICT (workspace, id) DO UPDATE SET
       body = excluded.body, open_until = excluded.open_until, updated_at = excluded.updated_at`,
    ),
    addEvent: db.prepare('INSERT INTO task_events VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING'),
    device: db.prepare('SELECT device FROM agents WHERE address = ?'),
    queue: db.prepare(
      "INSERT INTO deliveries (device, kind, body, message_id, conversation_seq, queued_at) VALUES (?, 'task', ?, ?, 0, ?)",
    ),
    overdue: db.prepare('SELECT body FROM tasks WHERE open_until <= ? ORDER BY open_until LIMIT ?'),
  };
  const read = (row: Row): Task => JSON.parse(row['body'] as string) as Task;

  function find(workspace: string, id: string): Task | null {
    const row = sql.task.get(workspace, id);
    return row ? read(row) : null;
  }

  /** Keeps an event and tells both parties' devices of the task as it stands; nothing for one that is kept already. */
  function tell(task: Task, event: TaskEvent): string[] {
    if (sql.addEvent.run(task.workspace, event.id, task.id, JSON.stringify(event)).changes === 0) return [];
    const devices = new Set([task.caller, task.agent].map((address) => sql.device.get(address)?.['device'] as string));
    for (const device of devices) sql.queue.run(device, JSON.stringify({ task, event }), event.id, event.at);
    return [...devices];
  }

  function apply({ task, event }: TaskChange): string[] {
    sql.save.run(task.workspace, task.id, JSON.stringify(task), isOver(task) ? null : task.expiresAt, task.updatedAt);
    return tell(task, event);
  }

  return {
    decideTask(workspace, id, decide) {
      const current = find(workspace, id);
      const step = decide(current);
      if (!('refused' in step)) return { refused: null, devices: apply(step.change) };
      return { refused: step.refused, devices: current && step.late ? tell(current, step.late) : [] };
    },
    task: async (workspace, id) => find(workspace, id),
    overdueTasks: async (now, limit) => sql.overdue.all(now, limit).map(read),
    endTask: async (workspace, id, end) =>
      db.transaction(() => {
        const task = find(workspace, id);
        const change = task && end(task);
        return change ? apply(change) : [];
      }),
  };
}
