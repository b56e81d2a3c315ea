import { TYPES } from '../core/envelope.ts';
import { readJws } from '../core/jws.ts';
import type { TaskEvent, TaskState } from '../core/task.ts';
import { cutUtf16 } from '../core/unicode.ts';
import { attachmentsOf, type Attachment } from '../core/task-data.ts';
import type { TaskRow } from '../store/contract.ts';
import type { Bus } from './bus.ts';
import type { CallerIdentity } from './callers.ts';
import { budgetOf, requireTask } from './tasks.ts';

/** A task in a list: how it stands, and what was said last. */
export interface TaskSummary {
  id: string;
  from: string;
  to: string;
  state: TaskState;
  reason: string | null;
  cancelRequested: boolean;
  created: string;
  updated: string;
  expires: string;
  instructions: string;
  /** The last note, question, answer or end, in its own words. */
  last: string;
}

export interface TaskView extends TaskSummary {
  /** The caller of this call gave the task. */
  mine: boolean;
  conversation: string;
  budget: { tokens?: number; usd?: number };
  used: { tokens: number; usd: number };
  /** Every step, in the hub's order, with how far its message got. */
  timeline: TimelineStep[];
}

export interface TimelineStep {
  at: string;
  what: string;
  from: string | null;
  state: string;
  late: boolean;
  /** The words of the message; empty where there are none. */
  text: string;
  /** What came with it. */
  attachments: Attachment[];
  /** The id of the message, and the states that it has been in. */
  message: string | null;
  seen: string[];
}

const WHAT: Readonly<Record<string, string>> = {
  [TYPES.taskRequest]: 'requested',
  [TYPES.taskAccept]: 'accepted',
  [TYPES.taskProgress]: 'progress',
  [TYPES.taskInput]: 'answer',
  [TYPES.taskResult]: 'result',
  [TYPES.taskError]: 'ended',
  [TYPES.taskCancel]: 'cancel asked',
};

const asText = (value: unknown): string => (typeof value === 'string' ? value : value === undefined ? '' : (JSON.stringify(value) ?? ''));

function dataOf(bus: Bus, event: TaskEvent): Record<string, unknown> {
  const jws = bus.store.outboxMessage(event.id)?.jws ?? bus.store.inboxMessage(event.id)?.jws;
  return jws ? (readJws(jws).data as Record<string, unknown>) : {};
}

function step(bus: Bus, task: TaskRow, event: TaskEvent): TimelineStep {
  const data = dataOf(bus, event);
  const percent = typeof data['percent'] === 'number' ? `${data['percent']} %` : '';
  const words = asText(
    data['question'] ?? data['note'] ?? data['answer'] ?? data['result'] ?? data['message'] ?? data['reason'] ?? data['instructions'],
  );
  return {
    at: new Date(event.at).toISOString(),
    what: data['question'] === undefined ? (WHAT[event.type] ?? event.type) : 'question',
    from: event.from,
    state: event.state,
    late: event.late,
    text: event.from === null ? (task.reason ?? '') : [percent, words].filter((part) => part !== '').join(': '),
    attachments: attachmentsOf(data),
    message: event.from === null ? null : event.id,
    seen: bus.store.receipts(event.id).map((receipt) => receipt.state),
  };
}

function summary(bus: Bus, task: TaskRow): TaskSummary {
  const events = bus.store.taskEvents(task.id).filter((event) => !event.late);
  const first = events[0];
  const last = events.at(-1);
  return {
    id: task.id,
    from: task.caller,
    to: task.agent,
    state: task.state,
    reason: task.reason,
    cancelRequested: task.cancelRequestedAt !== null,
    created: new Date(task.createdAt).toISOString(),
    updated: new Date(task.updatedAt).toISOString(),
    expires: new Date(task.expiresAt).toISOString(),
    instructions: first ? cutUtf16(asText(dataOf(bus, first)['instructions']), SUMMARY) : '',
    last: last && last.type !== TYPES.taskRequest ? cutUtf16(step(bus, task, last).text, SUMMARY) : '',
  };
}

// The last so many; and so much of their words.
const LIST = 200;
const SUMMARY = 300;

/** A session's own tasks, or, for a person, everybody's here; open ones alone unless `all`. */
export function listTasks(bus: Bus, who: CallerIdentity, all: boolean): { tasks: TaskSummary[] } {
  const whose = who.address === bus.person ? null : who.address;
  const rows = all ? bus.store.tasksOf(whose, LIST) : bus.store.openTasks(whose);
  return { tasks: rows.map((task) => summary(bus, task)) };
}

/** Throws AB-6001. */
export function showTask(bus: Bus, who: CallerIdentity, id: string): TaskView {
  const task = requireTask(bus, who, id);
  return {
    ...summary(bus, task),
    mine: task.caller === who.address,
    conversation: task.conversation,
    budget: budgetOf(bus, task),
    used: { tokens: task.tokens, usd: task.usd },
    timeline: bus.store.taskEvents(task.id).map((event) => step(bus, task, event)),
  };
}
