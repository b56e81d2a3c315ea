import { TYPES, type Envelope } from './envelope.ts';
import { AgentBusError } from './errors.ts';
import { checkTaskData } from './task-data.ts';

/**
 * The state machine of a task, the same at the hub, which decides, and at both ends, which ask it
 * first. The names map one to one on A2A's. Pure.
 */
export type TaskState = 'submitted' | 'working' | 'input-required' | 'auth-required' | 'completed' | 'failed' | 'canceled' | 'rejected';

export interface Task {
  /** The id of its request. */
  id: string;
  workspace: string;
  caller: string;
  agent: string;
  conversation: string;
  state: TaskState;
  /** Number of the last event that was applied, from 1. */
  seq: number;
  createdAt: number;
  updatedAt: number;
  expiresAt: number;
  /** A cancel is a wish: the agent ends the task, or finishes it all the same. */
  cancelRequestedAt: number | null;
  /** Why it ended without a result: the outcome's message, `expired`, `abandoned`. */
  reason: string | null;
}

export interface TaskEvent {
  /** Id of the message; of the hub's own event where there is none. */
  id: string;
  task: string;
  seq: number;
  type: string;
  /** Null: the hub itself. */
  from: string | null;
  at: number;
  state: TaskState;
  /** It came after the end, and changed nothing. */
  late: boolean;
}

export interface TaskChange {
  task: Task;
  event: TaskEvent;
}

/** What an event of a task does: a change; or a late one that is kept but refused; or a refusal. */
export type TaskStep = { change: TaskChange } | { refused: AgentBusError; late: TaskEvent | null };

/** States in which a task goes on; the others are its end. */
export const OPEN_STATES: readonly TaskState[] = ['submitted', 'working', 'input-required', 'auth-required'];
const OPEN: ReadonlySet<TaskState> = new Set(OPEN_STATES);
const FROM_AGENT: ReadonlySet<string> = new Set([TYPES.taskAccept, TYPES.taskProgress, TYPES.taskResult, TYPES.taskError]);
const FROM_CALLER: ReadonlySet<string> = new Set([TYPES.taskInput, TYPES.taskCancel]);

export function isOver(task: Pick<Task, 'state'>): boolean {
  return !OPEN.has(task.state);
}

/** The task that a message belongs to; null for one that is no part of a task. */
export function taskOf(envelope: Envelope): string | null {
  if (envelope.type === TYPES.taskRequest) return envelope.id;
  return FROM_AGENT.has(envelope.type) || FROM_CALLER.has(envelope.type) ? (envelope.inreplyto ?? '') : null;
}

/** Tells only how the work goes: it waits for a prompt, and a later one takes its place. */
export function isStatus(envelope: Pick<Envelope, 'type' | 'data'>): boolean {
  if (envelope.type === TYPES.taskAccept) return true;
  return envelope.type === TYPES.taskProgress && checkTaskData(envelope.type, envelope.data)['question'] === undefined;
}

const HINT = '`agentbus task show <id>` tells how it stands';

function refuse(code: 'AB-4002' | 'AB-6001' | 'AB-6003', message: string): TaskStep {
  return { refused: new AgentBusError(code, message, HINT), late: null };
}

/** The state that an event leads to, null where it may not come. */
function stateAfter(task: Task, envelope: Envelope): { state: TaskState; reason?: string } | null {
  const data = checkTaskData(envelope.type, envelope.data);
  const started = task.state === 'working' || task.state === 'input-required';
  switch (envelope.type) {
    case TYPES.taskAccept:
      return task.state === 'submitted' ? { state: 'working' } : null;
    case TYPES.taskProgress:
      // A note leaves an open question open.
      return started ? { state: data['question'] === undefined ? task.state : 'input-required' } : null;
    case TYPES.taskInput:
      return task.state === 'input-required' ? { state: 'working' } : null;
    case TYPES.taskResult:
      return started ? { state: 'completed' } : null;
    case TYPES.taskError:
      return { state: data['outcome'] as TaskState, reason: data['message'] as string };
    case TYPES.taskCancel:
      if (task.cancelRequestedAt !== null) return null;
      // Before it is accepted nobody works on it, so the wish is the end.
      return task.state === 'submitted' ? { state: 'canceled', reason: 'called off before it was accepted' } : { state: task.state };
    default:
      return null;
  }
}

/** Applies a message to the task as it stands (null: none yet) at `now`. Throws AB-7001 for data that breaks its form. */
export function applyToTask(current: Task | null, envelope: Envelope, workspace: string, now: number): TaskStep {
  const { task: claimed } = checkTaskData(envelope.type, envelope.data);
  if (claimed !== undefined && claimed !== envelope.inreplyto)
    throw new AgentBusError('AB-7001', 'data.task: not the task that it is sent to', 'leave it out, or name the same task');
  const event = { id: envelope.id, type: envelope.type, from: envelope.source, at: now, late: false };
  if (envelope.type === TYPES.taskRequest) {
    if (envelope.source === envelope.subject) return refuse('AB-6003', 'a task needs somebody else to do it');
    const task: Task = {
      id: envelope.id,
      workspace,
      caller: envelope.source,
      agent: envelope.subject,
      conversation: envelope.conversationid,
      state: 'submitted',
      seq: 1,
      createdAt: now,
      updatedAt: now,
      expiresAt: Date.parse(envelope.expiretime),
      cancelRequestedAt: null,
      reason: null,
    };
    return { change: { task, event: { ...event, task: task.id, seq: 1, state: task.state } } };
  }
  if (!current) return refuse('AB-6001', `no task ${String(envelope.inreplyto).slice(0, 40)}`);
  const [from, to] = FROM_AGENT.has(envelope.type) ? [current.agent, current.caller] : [current.caller, current.agent];
  if (envelope.source !== from || envelope.subject !== to) return refuse('AB-4002', `this step of task ${current.id} is not yours to take`);
  if (isOver(current)) {
    const late = { ...event, task: current.id, seq: current.seq, state: current.state, late: true };
    return {
      refused: new AgentBusError(
        'AB-6002',
        `task ${current.id} is over: ${current.state}${current.reason === 'expired' ? ' (expired)' : ''}`,
        HINT,
      ),
      late,
    };
  }
  const after = stateAfter(current, envelope);
  if (!after) return refuse('AB-6003', `task ${current.id} is ${current.state}, where this step does not lead on`);
  const cancelRequestedAt = envelope.type === TYPES.taskCancel ? (current.cancelRequestedAt ?? now) : current.cancelRequestedAt;
  const task = { ...current, state: after.state, reason: after.reason ?? null, seq: current.seq + 1, updatedAt: now, cancelRequestedAt };
  return { change: { task, event: { ...event, task: task.id, seq: task.seq, state: task.state } } };
}

/** The end of a task whose time is over; null when it is not, or has ended before. */
export function expireTask(task: Task, id: string, now: number): TaskChange | null {
  if (isOver(task) || task.expiresAt > now) return null;
  const ended: Task = { ...task, state: 'failed', reason: 'expired', seq: task.seq + 1, updatedAt: now };
  return {
    task: ended,
    event: { id, task: task.id, seq: ended.seq, type: TYPES.taskError, from: null, at: now, state: 'failed', late: false },
  };
}

const LISTED = 10;

/** One line that names tasks which expired, for both parties: nobody's message tells them. */
export function expiredTasksLine(tasks: readonly Task[], address: string): string {
  if (tasks.length === 0) return '';
  return `AgentBus tasks that expired: ${named(tasks, address)}.`;
}

function named(tasks: readonly Task[], address: string): string {
  const words = tasks
    .slice(0, LISTED)
    .map((task) => `${task.id} (${task.state}, ${task.agent === address ? `from ${task.caller}` : `given to ${task.agent}`})`);
  return words.join('; ') + (tasks.length > LISTED ? `; ${tasks.length - LISTED} more` : '');
}

/** One line that names the open tasks of an address, for a context that knows nothing of them; empty without any. */
export function openTasksLine(tasks: readonly Task[], address: string): string {
  return tasks.length === 0 ? '' : `Open AgentBus tasks: ${named(tasks, address)}.`;
}
