import { TYPES, type Draft, type Priority } from '../core/envelope.ts';
import { AgentBusError } from '../core/errors.ts';
import { readJws } from '../core/jws.ts';
import { isOver, isStatus, type Task, type TaskEvent } from '../core/task.ts';
import type { Attachment } from '../core/task-data.ts';
import { addReceipt } from '../drain/offer.ts';
import type { InboxRow, InboxState, TaskRow } from '../store/contract.ts';
import type { Bus } from './bus.ts';
import { requireOwner, type CallerIdentity } from './callers.ts';
import { expectedTask, post, recipientOf, replyTo, sentBefore, type ReplyRequest, type SendAnswer } from './messages.ts';

export interface TaskRequest {
  to: string;
  instructions: string;
  input?: unknown;
  attachments?: Attachment[] | undefined;
  budget?: { tokens?: number | undefined; usd?: number | undefined } | undefined;
  priority?: Priority | undefined;
  conversation?: string | undefined;
  /** ms */
  expiresIn?: number | undefined;
  id?: string | undefined;
}

/** What a step of a task answers with: the message that made it, and how the task stands then. */
export interface TaskAnswer extends SendAnswer {
  task: Task;
  /** What its agent should know before it goes on, in words. */
  notes: string[];
}

function standing(bus: Bus, id: string): { task: Task; notes: string[] } {
  const task = expectedTask(bus, id)!;
  const row = bus.store.task(id);
  const notes: string[] = [];
  if (!isOver(task) && task.cancelRequestedAt !== null) notes.push('Its sender asked to call it off: end it as canceled, or finish it.');
  if (row && overBudget(bus, row)) notes.push(`Its budget is used up: ${spentWords(row)}.`);
  return { task, notes };
}

function spentWords({ tokens, usd }: Pick<TaskRow, 'tokens' | 'usd'>): string {
  return `${tokens} tokens${usd > 0 ? `, ${usd.toFixed(2)} USD` : ''}`;
}

const present = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** Throws AB-6001 for what is not one of the caller's tasks. A person may see those of every agent here. */
export function requireTask(bus: Bus, who: CallerIdentity, id: string): TaskRow {
  // The id at hand may be that of a later message of the task.
  const task = bus.store.task(bus.store.inboxMessage(id)?.task ?? id);
  if (task && (who.address === task.caller || who.address === task.agent || who.address === bus.person)) return task;
  throw new AgentBusError('AB-6001', `no task ${id.slice(0, 40)} of yours`, '`agentbus task list` shows them');
}

/** The party that takes the step: the caller of the call, or, for a person, the agent here that it is for. */
function actAs(bus: Bus, who: CallerIdentity, task: TaskRow, side: 'caller' | 'agent'): CallerIdentity {
  requireOwner(who);
  if (who.address === task[side]) return who;
  if (who.address === bus.person && bus.store.agent(task[side])) return { address: task[side], instance: null };
  throw new AgentBusError('AB-4002', `this step of task ${task.id} is for ${task[side]}`, '`agentbus task show <id>` tells how it stands');
}

/** Whether its recipient can have dealt with a message: who names a task has read its request; anything else has to be proven seen. */
function isKnown(row: InboxRow): boolean {
  return row.state !== 'unread' || (row.type === TYPES.taskRequest && row.shows > 0);
}

/** Moves messages of a task on that an address was sent. */
function advance(bus: Bus, address: string, ids: readonly string[], state: InboxState, by: Record<string, unknown>): void {
  bus.store.mark(() => {
    for (const id of ids) {
      const row = bus.store.inboxMessage(id);
      if (row?.recipient === address && bus.store.advance(row.seq, state)) addReceipt(bus.store, row, state, by, bus.now());
    }
  });
  bus.pumpSoon();
}

/** The messages of a task that its agent can have dealt with. */
function knownMessages(bus: Bus, task: string, types: readonly string[]): string[] {
  const rows = bus.store.taskEvents(task).filter(({ type, late }) => types.includes(type) && !late);
  return rows.flatMap(({ id }) => {
    const row = bus.store.inboxMessage(id);
    return row && isKnown(row) ? [id] : [];
  });
}

/** The question that waits for its answer; null when none does. */
function openQuestion(bus: Bus, task: Task): string | null {
  if (task.state !== 'input-required') return null;
  return bus.store.taskEvents(task.id).findLast((event) => isQuestion(bus, event))?.id ?? null;
}

function isQuestion(bus: Bus, event: TaskEvent): boolean {
  if (event.type !== TYPES.taskProgress || event.late) return false;
  const jws = bus.store.inboxMessage(event.id)?.jws ?? bus.store.outboxMessage(event.id)?.jws;
  return jws !== undefined && !isStatus(readJws(jws));
}

/** Whether the same step in the same words is a repeat: progress may be told twice, and two questions may have one answer. */
function mayRepeat(task: Task, type: string | undefined): boolean {
  return type !== TYPES.taskProgress && !(type === TYPES.taskInput && task.state === 'input-required');
}

/** Sends one step of a task; one that was taken already is not taken again. */
async function take(bus: Bus, as: CallerIdentity, task: Task, step: Pick<Draft, 'type' | 'data' | 'priority' | 'id'>): Promise<TaskAnswer> {
  const request = readJws(bus.store.outboxMessage(task.id)?.jws ?? bus.store.inboxMessage(task.id)!.jws);
  const draft = {
    ...step,
    data: { task: task.id, ...(step.data as Record<string, unknown>) },
    from: as.address,
    to: as.address === task.agent ? task.caller : task.agent,
    priority: step.priority ?? request.priority,
    conversation: task.conversation,
    traceparent: request.traceparent,
    inReplyTo: task.id,
  };
  const answer = (mayRepeat(task, step.type) ? sentBefore(bus, as, draft) : null) ?? (await post(bus, as, draft));
  return { ...answer, ...standing(bus, task.id) };
}

/** Gives an agent work. Throws what sending throws, and AB-5008. */
export async function requestTask(bus: Bus, who: CallerIdentity, request: TaskRequest): Promise<TaskAnswer> {
  requireOwner(who);
  const { instructions, input, attachments, budget } = request;
  const answer = await post(bus, who, {
    from: who.address,
    to: await recipientOf(bus, request.to),
    type: TYPES.taskRequest,
    data: present({ instructions, input, attachments: attachments?.length ? attachments : undefined, budget }),
    priority: request.priority,
    conversation: request.conversation,
    expiresIn: request.expiresIn,
    id: request.id,
  });
  return { ...answer, ...standing(bus, answer.id) };
}

/** Says that the work has begun, where that was not said yet. */
async function accepted(bus: Bus, as: CallerIdentity, task: Task): Promise<Task> {
  if (task.state !== 'submitted') return task;
  return (await take(bus, as, task, { type: TYPES.taskAccept, data: {} })).task;
}

export interface Progress {
  task: string;
  percent?: number | undefined;
  note?: string | undefined;
  /** Asks the caller, and waits for the answer. */
  question?: string | undefined;
  id?: string | undefined;
}

/** Accepts a task, tells how it goes, or asks. Throws AB-4002, AB-6001, AB-6002, AB-6003. */
export async function progressTask(bus: Bus, who: CallerIdentity, { task, percent, note, question, id }: Progress): Promise<TaskAnswer> {
  const before = requireTask(bus, who, task);
  const as = actAs(bus, who, before, 'agent');
  const silent = percent === undefined && note === undefined && question === undefined;
  const answer =
    silent && before.state === 'submitted'
      ? await take(bus, as, before, { type: TYPES.taskAccept, data: {}, id })
      : await take(bus, as, await accepted(bus, as, before), { type: TYPES.taskProgress, data: present({ percent, note, question }), id });
  advance(bus, as.address, knownMessages(bus, before.id, [TYPES.taskRequest, TYPES.taskInput]), 'read', { by: 'progress' });
  return answer;
}

export interface Finish {
  task: string;
  outcome: 'completed' | 'failed' | 'rejected' | 'canceled';
  /** Of a completed task. */
  result?: unknown;
  /** Of any other end. */
  message?: string | undefined;
  attachments?: Attachment[] | undefined;
  id?: string | undefined;
}

/** Ends a task; the first end counts. Throws AB-4002, AB-6001, AB-6002, AB-6003, AB-7001. */
export async function finishTask(bus: Bus, who: CallerIdentity, request: Finish): Promise<TaskAnswer> {
  const before = requireTask(bus, who, request.task);
  const as = actAs(bus, who, before, 'agent');
  const usage = before.tokens > 0 || before.usd > 0 ? present({ tokens: before.tokens, usd: before.usd || undefined }) : undefined;
  let answer: TaskAnswer;
  if (request.outcome === 'completed') {
    const task = await accepted(bus, as, before);
    const { result = '', attachments } = request;
    const data = present({ result, attachments: attachments?.length ? attachments : undefined, usage });
    answer = await take(bus, as, task, { type: TYPES.taskResult, data, id: request.id });
  } else {
    const data = present({ outcome: request.outcome, message: request.message || request.outcome, usage });
    answer = await take(bus, as, before, { type: TYPES.taskError, data, id: request.id });
  }
  advance(bus, as.address, knownMessages(bus, before.id, [TYPES.taskRequest, TYPES.taskInput, TYPES.taskCancel]), 'replied', {
    reply: answer.id,
  });
  return answer;
}

/** Asks for a task to be ended: before it is accepted that ends it, later the agent decides. */
export function cancelTask(bus: Bus, who: CallerIdentity, id: string, reason: string | undefined): Promise<TaskAnswer> {
  const task = requireTask(bus, who, id);
  const as = actAs(bus, who, task, 'caller');
  return take(bus, as, task, { type: TYPES.taskCancel, data: present({ reason: reason || undefined }), priority: 'high' });
}

/** Answers the open question of a task. Throws AB-6003 where nothing is asked. */
export async function answerTask(bus: Bus, who: CallerIdentity, id: string, answer: unknown, message?: string): Promise<TaskAnswer> {
  const task = requireTask(bus, who, id);
  const as = actAs(bus, who, task, 'caller');
  const question = openQuestion(bus, task);
  const sent = await take(bus, as, task, { type: TYPES.taskInput, data: { answer }, id: message });
  if (question !== null) advance(bus, as.address, [question], 'replied', { reply: sent.id });
  return sent;
}

/** A reply, and the task of the message as far as it is still open. */
export interface ReplyAnswer extends SendAnswer {
  openTask: string | null;
}

/** A reply; to the open question of a task it is the answer that the task waits for. Throws AB-6003 for a question that a later one replaced. */
export async function replyOrAnswer(bus: Bus, who: CallerIdentity, request: ReplyRequest): Promise<ReplyAnswer> {
  const row = bus.store.inboxMessage(request.id);
  const task = row?.recipient === who.address && row.task !== null ? bus.store.task(row.task) : null;
  const question = task && openQuestion(bus, task);
  if (task && question !== null && row!.type === TYPES.taskProgress && !row!.status) {
    if (question !== row!.id)
      throw new AgentBusError(
        'AB-6003',
        `${row!.id} is no longer what task ${task.id} waits for`,
        `its agent asked again: read ${question} first, and answer that`,
      );
    return { ...(await answerTask(bus, who, task.id, request.data, request.as)), openTask: null };
  }
  const answer = await replyTo(bus, who, request);
  return { ...answer, openTask: task && task.agent === who.address && !isOver(task) ? task.id : null };
}

/** Gives up a task that one works on. */
export function abandonTask(bus: Bus, who: CallerIdentity, id: string): Promise<TaskAnswer> {
  return finishTask(bus, who, { task: id, outcome: 'failed', message: 'abandoned' });
}

/** Counts what an agent's session used for the task that it works on; its caller hears once when the budget is used up. Answers with that task. */
export function countUsage(bus: Bus, address: string, tokens: number, usd: number): string | null {
  const working = bus.store.openTasks(address).filter((task) => task.agent === address && task.state !== 'submitted');
  const task = working.toSorted((a, b) => b.updatedAt - a.updatedAt)[0];
  if (!task) return null;
  bus.store.mark(() => bus.store.addTaskUsage(task.id, tokens, usd));
  const spent = { ...task, tokens: task.tokens + tokens, usd: task.usd + usd };
  if (!overBudget(bus, spent) || overBudget(bus, task)) return task.id;
  const data = { note: `its budget is used up: ${spentWords(spent)}` };
  take(bus, { address, instance: null }, task, { type: TYPES.taskProgress, data }).catch((error: unknown) =>
    bus.log('budget note failed', { error: String(error) }),
  );
  return task.id;
}

export function budgetOf(bus: Bus, task: TaskRow): { tokens?: number; usd?: number } {
  const jws = bus.store.outboxMessage(task.id)?.jws ?? bus.store.inboxMessage(task.id)?.jws;
  return jws ? ((readJws(jws).data as { budget?: { tokens?: number; usd?: number } }).budget ?? {}) : {};
}

export function overBudget(bus: Bus, task: TaskRow): boolean {
  const { tokens = Infinity, usd = Infinity } = budgetOf(bus, task);
  return !isOver(task) && (task.tokens > tokens || task.usd > usd);
}
