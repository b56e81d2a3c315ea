import type { Database } from '../driver.ts';

// The oldest rows of each table are looked at, so many at a time: a hook must not wait for a year's worth.
const LOOK = 2_000;

/**
 * Deletes what is over and older than a time (ms): messages by their expiry, everything else by its own
 * time. Nothing that waits, is open or was not handed on yet.
 */
export function forgetOld(db: Database): (before: number) => void {
  const oldest = (table: string, columns: string): string => `(SELECT ${columns} FROM ${table} ORDER BY rowid LIMIT ${LOOK})`;
  const inbox = `SELECT seq FROM ${oldest('inbox', 'seq, expires_at, state')} WHERE expires_at < ? AND state <> 'unread'
    AND seq NOT IN (SELECT message FROM offers WHERE state IN ('open', 'accepted'))`;
  const tasks = `SELECT id FROM ${oldest('tasks', 'id, updated_at, state')} WHERE updated_at < ?
    AND state IN ('completed', 'failed', 'canceled', 'rejected')`;
  const statements = [
    `DELETE FROM offers WHERE message IN (${inbox})`,
    `DELETE FROM inbox WHERE seq IN (${inbox})`,
    `DELETE FROM outbox WHERE seq IN (SELECT seq FROM ${oldest('outbox', 'seq, expires_at, state')} WHERE expires_at < ? AND state <> 'queued')`,
    `DELETE FROM receipts WHERE id IN (SELECT id FROM ${oldest('receipts', 'id, at, queued')} WHERE at < ? AND queued = 0)`,
    `DELETE FROM task_events WHERE task IN (${tasks})`,
    `DELETE FROM tasks WHERE id IN (${tasks})`,
  ].map((sql) => db.prepare(sql));
  return (before) => {
    for (const statement of statements) statement.run(before);
  };
}
