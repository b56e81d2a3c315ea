import * as v from 'valibot';
import { attach, fetchBlob, readBlob } from './attachments.ts';
import { attachments, CallerSchema, id, identified, priority, words, type Handler } from './schemas.ts';
import { abandonTask, answerTask, cancelTask, finishTask, progressTask, requestTask } from './tasks.ts';
import { listTasks, showTask } from './task-view.ts';

const TaskSendSchema = v.object({
  caller: CallerSchema,
  id,
  to: v.pipe(v.string(), v.maxLength(250)),
  instructions: words,
  input: v.optional(v.unknown()),
  attachments,
  budget: v.optional(v.object({ tokens: v.optional(v.number()), usd: v.optional(v.number()) })),
  priority,
  conversation: v.optional(v.string()),
  expiresIn: v.optional(v.number()),
});
const TaskSchema = v.object({ caller: CallerSchema, task: v.string() });
const TaskListSchema = v.object({ caller: CallerSchema, all: v.optional(v.boolean(), false) });
const ProgressSchema = v.object({
  caller: CallerSchema,
  id,
  task: v.string(),
  percent: v.optional(v.number()),
  note: v.optional(words),
  question: v.optional(words),
});
const FinishSchema = v.object({
  caller: CallerSchema,
  id,
  task: v.string(),
  outcome: v.picklist(['completed', 'failed', 'rejected', 'canceled']),
  result: v.optional(v.unknown()),
  message: v.optional(words),
  attachments,
});
const CancelSchema = v.object({ caller: CallerSchema, task: v.string(), reason: v.optional(words) });
const AnswerSchema = v.object({ caller: CallerSchema, id, task: v.string(), answer: v.unknown() });
const AttachSchema = v.object({
  caller: CallerSchema,
  name: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
  mediaType: v.optional(v.pipe(v.string(), v.maxLength(100))),
  base64: v.string(),
});
const BlobSchema = v.object({ caller: CallerSchema, ref: v.string() });
const BlobPartSchema = v.object({
  caller: CallerSchema,
  ref: v.string(),
  offset: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0)), 0),
});

export const TASK_ROUTES: Readonly<Record<string, Handler>> = {
  'POST /task/send': identified(TaskSendSchema, (bus, who, request) => requestTask(bus, who, request)),
  'POST /task/progress': identified(ProgressSchema, (bus, who, request) => progressTask(bus, who, request)),
  'POST /task/finish': identified(FinishSchema, (bus, who, request) => finishTask(bus, who, request)),
  'POST /task/cancel': identified(CancelSchema, (bus, who, request) => cancelTask(bus, who, request.task, request.reason)),
  'POST /task/answer': identified(AnswerSchema, (bus, who, request) => answerTask(bus, who, request.task, request.answer, request.id)),
  'POST /task/abandon': identified(TaskSchema, (bus, who, request) => abandonTask(bus, who, request.task)),
  'POST /task/list': identified(TaskListSchema, (bus, who, request) => listTasks(bus, who, request.all)),
  'POST /task/show': identified(TaskSchema, (bus, who, request) => showTask(bus, who, request.task)),
  'POST /attach': identified(AttachSchema, (bus, who, request) => attach(bus, who, request)),
  'POST /blob': identified(BlobSchema, (bus, who, request) => fetchBlob(bus, who, request.ref)),
  'POST /blob/part': identified(BlobPartSchema, (bus, who, request) => readBlob(bus, who, request.ref, request.offset)),
};
