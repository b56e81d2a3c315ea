import { TYPES } from '../core/envelope.ts';
import { newId } from '../core/ids.ts';
import { isOver, type TaskChange } from '../core/task.ts';
import type { InboxRow, Store } from '../store/contract.ts';
import { noteExpired } from '../store/expired.ts';

/** Why an unread message of a task need not be shown any more; null while it should be. */
function mootBecause(store: Store, row: InboxRow): string | null {
  if (row.status && store.lastOfTask(row.task!, row.recipient) > row.seq) return 'later news of the task';
  const task = store.task(row.task!);
  if (!task || !isOver(task) || row.shows > 0) return null;
  // To its caller only a question is moot then: the end itself is news.
  if (row.recipient !== task.agent && row.type !== TYPES.taskProgress) return null;
  const endedBy = store.taskEvents(task.id).findLast((event) => !event.late)?.from;
  const request = store.inboxMessage(task.id);
  // Who saw the request and did not end the task itself has to hear that it was called off.
  if (row.type === TYPES.taskCancel && endedBy !== task.agent && request && (request.shows > 0 || request.state === 'read')) return null;
  return `the task is over: ${task.state}`;
}

/**
 * Closes messages of a task that have become moot before they were shown: an agent is not handed work
 * that was called off, nor five lines on progress where the last one says it all. Each is a step in its trace.
 */
export function closeMoot(store: Store, id: string, now: number): void {
  for (const row of store.unreadOfTask(id)) {
    const reason = mootBecause(store, row);
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
  store.promise(() => {
    const news = store.saveTask(task, event);
    if (!news || event.from !== null) return;
    for (const address of [task.caller, task.agent]) noteExpired(store, address, task.id);
  });
  store.mark(() => closeMoot(store, task.id, now));
}
