import type { Database } from '../driver.ts';

// Rows of one table at a time: a hook must not wait for a year's worth.
const PORTION = 2_000;

/**
 * Deletes what is over and older than a time (ms): messages by their expiry, everything else by its own
 * time. Nothing that waits, is open or was not handed on yet.
 */
export function forgetOld(db: Database): (before: number) => void {
  // Small rows that were written in the order of their time: the oldest are the first.
  const first = (table: string, columns: string): string => `(SELECT ${columns} FROM ${table} ORDER BY rowid LIMIT ${PORTION})`;
  const inbox = `SELECT seq FROM inbox WHERE state <> 'unread' AND expires_at < ?
    AND seq NOT IN (SELECT message FROM offers WHERE state IN ('open', 'accepted')) ORDER BY expires_at, seq LIMIT ${PORTION}`;
  const outbox = `SELECT seq FROM outbox WHERE state <> 'queued' AND expires_at < ? ORDER BY expires_at LIMIT ${PORTION}`;
  const tasks = `SELECT id FROM ${first('tasks', 'id, updated_at, state')} WHERE updated_at < ?
    AND state IN ('completed', 'failed', 'canceled', 'rejected')`;
  const statements = [
    `DELETE FROM offers WHERE message IN (${inbox})`,
    `DELETE FROM inbox WHERE seq IN (${inbox})`,
    `DELETE FROM outbox WHERE seq IN (${outbox})`,
    `DELETE FROM receipts WHERE id IN (SELECT id FROM ${first('receipts', 'id, at, queued')} WHERE at < ? AND queued = 0)`,
    `DELETE FROM task_events WHERE task IN (${tasks})`,
    `DELETE FROM tasks WHERE id IN (${tasks})`,
  ].map((sql) => db.prepare(sql));
  return (before) => {
    for (const statement of statements) statement.run(before);
  };
}
