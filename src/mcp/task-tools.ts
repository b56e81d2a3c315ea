import { AgentBusError } from '../core/errors.ts';
import type { TaskAnswer } from '../daemon/tasks.ts';
import type { TaskView } from '../daemon/task-view.ts';
import { attachAll, attachmentsSchema } from './attach.ts';
import { items, messageId, need, number, oneOf, optional, WRITES, type Tool } from './tool.ts';

const taskId = { type: 'string', description: 'The id of the task: that of its request' };

const withNotes = (text: string, notes: readonly string[]): string => [text, ...notes].join(' ');

export const taskProgress: Tool = {
  name: 'task_progress',
  description: 'Accept a task you were sent, report how it goes, or ask its sender a question.',
  inputSchema: {
    type: 'object',
    properties: {
      task_id: taskId,
      percent: { type: 'number' },
      note: { type: 'string', description: 'One line' },
      question: { type: 'string', description: 'The task waits for the answer, which comes as a message' },
    },
    required: ['task_id'],
  },
  annotations: WRITES,
  async run({ ask, caller }, args) {
    const [who, task] = [caller(), need(args, 'task_id')];
    const question = optional(args, 'question');
    const step = { caller: who, id: messageId(), task, percent: number(args['percent'], 0, 100), note: optional(args, 'note'), question };
    const answer = await ask<TaskAnswer>('/task/progress', step);
    const asked = question === undefined ? '' : ` The question will be seen: ${answer.seen}.`;
    return withNotes(`Task ${answer.task.id} is ${answer.task.state}.${asked}`, answer.notes);
  },
};

const OUTCOMES = ['completed', 'failed', 'rejected', 'canceled'] as const;

export const taskResult: Tool = {
  name: 'task_result',
  description: 'End a task: with its result, or as failed, rejected or canceled. "canceled" on a task that you sent asks for its end.',
  inputSchema: {
    type: 'object',
    properties: {
      task_id: taskId,
      result: { type: 'string', description: 'The result, or why there is none' },
      outcome: { type: 'string', enum: [...OUTCOMES], description: 'completed unless given' },
      attachments: attachmentsSchema,
    },
    required: ['task_id', 'result'],
  },
  annotations: WRITES,
  async run(context, args) {
    const { ask, caller } = context;
    const [who, task, result] = [caller(), need(args, 'task_id'), need(args, 'result')];
    const outcome = oneOf(args, 'outcome', OUTCOMES) ?? 'completed';
    if (outcome === 'canceled' && (await ask<TaskView & { mine: boolean }>('/task/show', { caller: who, task })).mine) {
      const asked = await ask<TaskAnswer>('/task/cancel', { caller: who, task, reason: result });
      return asked.task.state === 'canceled'
        ? `Task ${asked.task.id} is canceled.`
        : `Asked for the end of task ${asked.task.id}, which is ${asked.task.state}. It will be seen: ${asked.seen}.`;
    }
    if (outcome !== 'completed' && items(args['attachments']).length > 0)
      throw new AgentBusError('AB-7001', 'attachments go with a result alone', 'leave them out, or end the task as completed');
    const attachments = await attachAll(context, args);
    const end = outcome === 'completed' ? { result, attachments } : { message: result };
    const answer = await ask<TaskAnswer>('/task/finish', { caller: who, id: messageId(), task, outcome, ...end });
    return `Task ${answer.task.id} is ${answer.task.state}. Its sender will see it: ${answer.seen}.`;
  },
};
