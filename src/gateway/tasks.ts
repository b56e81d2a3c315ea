import { TYPES } from '../core/envelope.ts';
import { newId } from '../core/ids.ts';
import { isOver, type TaskChange } from '../core/task.ts';
import type { InboxRow, Store, TaskRow } from '../store/contract.ts';

/** Why a message of a task need not be shown any more; null while it should be. */
function mootBecause(row: InboxRow, rows: readonly InboxRow[], task: TaskRow | null, endedBy: string | null): string | null {
  if (row.status && rows.some((other) => other.seq > row.seq && other.recipient === row.recipient)) return 'later news of the task';
  if (!task || !isOver(task) || row.recipient !== task.agent || row.shows > 0) return null;
  const request = rows.find(({ id }) => id === task.id);
  // Who saw the request and did not end the task itself has to hear that it was called off.
  if (row.type === TYPES.taskCancel && endedBy !== task.agent && request !== undefined && request.shows > 0) return null;
  return `the task is over: ${task.state}`;
}

/**
 * Closes messages of a task that have become moot before they were shown: an agent is not handed work
 * that was called off, nor five lines on progress where the last one says it all. Each is a step in its trace.
 */
export function closeMoot(store: Store, id: string, now: number): void {
  const rows = store.inboxOfTask(id);
  const task = store.task(id);
  const endedBy = store.taskEvents(id).findLast((event) => !event.late)?.from ?? null;
  for (const row of rows) {
    const reason = row.state === 'unread' ? mootBecause(row, rows, task, endedBy) : null;
    if (reason === null || !store.advance(row.seq, 'resolved')) continue;
    const { recipient: agent, source: sender } = row;
    store.addReceipt({
      id: newId('rct'),
      messageId: row.id,
      state: 'resolved',
      at: now,
      agent,
      sender,
      detail: { by: reason },
      queued: true,
    });
  }
}

/** How a task stands, from the hub. Taken twice it is taken once; what is older than what is known changes nothing. */
export function takeTask(store: Store, body: string, now: number): void {
  const { task, event } = JSON.parse(body) as TaskChange;
  store.promise(() => store.saveTask(task, event));
  store.mark(() => closeMoot(store, task.id, now));
}
