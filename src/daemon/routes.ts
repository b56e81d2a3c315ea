import * as v from 'valibot';
import { PRIORITIES } from '../core/envelope.ts';
import { AgentBusError } from '../core/errors.ts';
import { LIMITS } from '../core/limits.ts';
import { VERSION } from '../core/version.ts';
import { HARNESSES } from '../harness/registry.ts';
import type { Bus } from './bus.ts';
import { identify, type CallerIdentity } from './callers.ts';
import { diagnose } from './diagnosis.ts';
import { drainInbox, listInbox, pendingOf, readMessages, resolveMessages, waitForMessage } from './inbox.ts';
import { attach, fetchBlob, readBlob } from './attachments.ts';
import { sendMessage } from './messages.ts';
import { joinAs, renameAgent } from './names.ts';
import { activity, setPaused } from './overview.ts';
import { viewAgent, viewAgents } from './presence.ts';
import { abandonTask, answerTask, cancelTask, finishTask, progressTask, replyOrAnswer, requestTask } from './tasks.ts';
import { listTasks, showTask } from './task-view.ts';
import { traceMessage } from './trace.ts';

/** The local surface: HTTP on a Unix socket, every call with the local token. docs/protocol.md lists the calls. */
export interface ControlOptions {
  bus: Bus;
  token: string;
  started: number;
  /** Answers first, then ends the daemon. */
  stop(): void;
}

const CallerSchema = v.union([
  v.object({ person: v.literal(true) }),
  v.object({ harness: v.pipe(v.string(), v.maxLength(32)), session: v.pipe(v.string(), v.maxLength(128)) }),
]);
const priority = v.optional(v.picklist(PRIORITIES));
const id = v.optional(v.string());
const words = v.pipe(v.string(), v.maxLength(LIMITS.envelopeBytes));
const attachments = v.optional(v.array(v.looseObject({ ref: v.string(), name: v.string(), mediaType: v.string(), size: v.number() })));
const SendSchema = v.object({
  caller: CallerSchema,
  id,
  to: v.pipe(v.string(), v.maxLength(250)),
  data: v.unknown(),
  priority,
  conversation: v.optional(v.string()),
  expiresIn: v.optional(v.number()),
});
const ReplySchema = v.object({ caller: CallerSchema, id: v.string(), data: v.unknown(), priority, as: id });
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
  mediaType: v.pipe(v.string(), v.maxLength(100)),
  base64: v.pipe(v.string(), v.base64()),
});
const BlobSchema = v.object({ caller: CallerSchema, ref: v.string() });
const BlobPartSchema = v.object({
  caller: CallerSchema,
  ref: v.string(),
  offset: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0)), 0),
});
const InboxSchema = v.object({
  caller: CallerSchema,
  all: v.optional(v.boolean(), false),
  after: v.optional(v.nullable(v.string()), null),
  limit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(200)), 50),
});
const ReadSchema = v.object({
  caller: CallerSchema,
  ids: v.pipe(v.array(v.string()), v.maxLength(50)),
  offset: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0)), 0),
});
const WhoSchema = v.object({ caller: CallerSchema });
const IdsSchema = v.object({ caller: CallerSchema, ids: v.pipe(v.array(v.string()), v.minLength(1), v.maxLength(50)) });
const WaitSchema = v.object({ caller: CallerSchema, timeout: v.pipe(v.number(), v.minValue(0), v.maxValue(25_000)) });
const JoinSchema = v.object({ caller: CallerSchema, name: v.string(), takeOver: v.optional(v.boolean(), false) });
const RenameSchema = v.object({ address: v.string(), name: v.string() });
const PauseSchema = v.object({ caller: CallerSchema, address: v.optional(v.string()), paused: v.boolean() });
const ActivitySchema = v.object({
  after: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0))),
  limit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(500)), 50),
});
const TraceSchema = v.object({ id: v.string() });
const RecordsSchema = v.object({
  limit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(10_000)), 50),
  agent: v.optional(v.string()),
  event: v.optional(v.string()),
});

function check<S extends v.GenericSchema>(schema: S, value: unknown): v.InferOutput<S> {
  const result = v.safeParse(schema, value);
  if (result.success) return result.output;
  const issue = result.issues[0];
  const where = issue.path?.map((item) => String(item.key)).join('.') ?? 'body';
  throw new AgentBusError('AB-7001', `${where}: ${issue.message}`.slice(0, 200), 'docs/protocol.md has the form of each call');
}

export type Handler = (options: ControlOptions, body: unknown) => unknown;

function identified<S extends v.GenericSchema<unknown, { caller: v.InferOutput<typeof CallerSchema> }>>(
  schema: S,
  act: (bus: Bus, who: CallerIdentity, request: v.InferOutput<S>) => unknown,
): Handler {
  return ({ bus }, body) => {
    const request = check(schema, body);
    const who = identify(bus, request.caller);
    // The session went on: what it got before counts as read.
    if (who.instance) bus.store.mark(() => bus.confirmReads(who.instance!.id));
    return act(bus, who, request);
  };
}

function daemonStatus({ bus, started }: ControlOptions): unknown {
  const agents = viewAgents(bus);
  return {
    version: VERSION,
    pid: process.pid,
    uptime: Math.round((Date.now() - started) / 1000),
    node: process.version,
    memory: process.memoryUsage.rss(),
    harnesses: HARNESSES.map((harness) => harness.id),
    agents: agents.length,
    live: agents.filter((agent) => agent.presence === 'idle' || agent.presence === 'busy').length,
    unread: agents.reduce((sum, agent) => sum + agent.unread, 0),
    outbox: bus.store.queuedOutbox(1_000).length,
  };
}

export const ROUTES: Readonly<Record<string, Handler>> = {
  'POST /hello': () => ({ version: VERSION, pid: process.pid }),
  'POST /status': daemonStatus,
  'POST /stop': ({ stop }) => {
    setImmediate(stop);
    return { stopping: true, pid: process.pid };
  },
  'POST /send': identified(SendSchema, (bus, who, request) => sendMessage(bus, who, request)),
  'POST /reply': identified(ReplySchema, (bus, who, request) => replyOrAnswer(bus, who, request)),
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
  'POST /inbox': identified(InboxSchema, (bus, who, request) => listInbox(bus, who, request)),
  'POST /read': identified(ReadSchema, (bus, who, request) => readMessages(bus, who, request.ids, request.offset)),
  'POST /drain': identified(WhoSchema, (bus, who) => drainInbox(bus, who)),
  'POST /pending': identified(WhoSchema, (bus, who) => pendingOf(bus, who)),
  'POST /wait': identified(WaitSchema, (bus, who, request) => waitForMessage(bus, who, request.timeout)),
  'POST /resolve': identified(IdsSchema, (bus, who, request) => resolveMessages(bus, who, request.ids)),
  'POST /join': identified(JoinSchema, (bus, who, request) => joinAs(bus, who, request.name, request.takeOver)),
  'POST /rename': ({ bus }, body) => {
    const request = check(RenameSchema, body);
    return renameAgent(bus, request.address, request.name);
  },
  'POST /pause': identified(PauseSchema, (bus, who, request) => setPaused(bus, who, request.address, request.paused)),
  'POST /activity': ({ bus }, body) => {
    const request = check(ActivitySchema, body);
    return activity(bus, request.after ?? null, request.limit);
  },
  'POST /diagnose': identified(WhoSchema, (bus, who) => diagnose(bus, who)),
  'POST /whoami': identified(WhoSchema, (bus, who) => ({
    ...viewAgent(bus, bus.store.agent(who.address)!),
    instance: who.instance?.id ?? null,
    standby: who.instance?.standby ?? false,
  })),
  'POST /agents': ({ bus }) => ({ agents: viewAgents(bus) }),
  'POST /trace': ({ bus }, body) => traceMessage(bus, check(TraceSchema, body).id),
  'POST /records': async ({ bus }, body) => {
    const query = check(RecordsSchema, body);
    await bus.pump.run();
    const rows = await bus.link.records(query);
    return { records: rows.map((row) => ({ id: row.id, ...row.body })) };
  },
};
