import * as v from 'valibot';
import { VERSION } from '../core/version.ts';
import { HARNESSES } from '../harness/registry.ts';
import { diagnose } from './diagnosis.ts';
import { drainInbox, listInbox, pendingOf, readMessages, resolveMessages, waitForMessage } from './inbox.ts';
import { sendMessage } from './messages.ts';
import { joinAs, renameAgent } from './names.ts';
import { activity, setPaused } from './overview.ts';
import { viewAgent, viewAgents } from './presence.ts';
import { PROGRAM_ROUTES } from './program-routes.ts';
import { CallerSchema, check, id, identified, priority, type ControlOptions, type Handler } from './schemas.ts';
import { TASK_ROUTES } from './task-routes.ts';
import { replyOrAnswer } from './tasks.ts';
import { traceMessage } from './trace.ts';

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
    braked: agents.filter((agent) => agent.brake !== null && agent.brake !== 'paused').length,
    unread: agents.reduce((sum, agent) => sum + agent.unread, 0),
    outbox: bus.store.queuedOutbox(1_000).length,
  };
}

export const ROUTES: Readonly<Record<string, Handler>> = {
  ...TASK_ROUTES,
  ...PROGRAM_ROUTES,
  'POST /hello': () => ({ version: VERSION, pid: process.pid }),
  'POST /status': daemonStatus,
  'POST /stop': ({ stop }) => {
    setImmediate(stop);
    return { stopping: true, pid: process.pid };
  },
  'POST /send': identified(SendSchema, (bus, who, request) => sendMessage(bus, who, request)),
  'POST /reply': identified(ReplySchema, (bus, who, request) => replyOrAnswer(bus, who, request)),
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
