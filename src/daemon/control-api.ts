import { timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import * as v from 'valibot';
import { PRIORITIES } from '../core/envelope.ts';
import { AgentBusError, EXIT } from '../core/errors.ts';
import { LIMITS } from '../core/limits.ts';
import { VERSION } from '../core/version.ts';
import { HARNESSES } from '../harness/registry.ts';
import { DROPPED, redact } from '../record/redact.ts';
import type { Bus } from './bus.ts';
import { identify, listInbox, readMessages, replyTo, sendMessage, traceMessage, type CallerIdentity } from './messages.ts';
import { viewAgent, viewAgents } from './presence.ts';

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
const SendSchema = v.object({
  caller: CallerSchema,
  to: v.pipe(v.string(), v.maxLength(250)),
  data: v.unknown(),
  priority,
  conversation: v.optional(v.string()),
  expiresIn: v.optional(v.number()),
});
const ReplySchema = v.object({ caller: CallerSchema, id: v.string(), data: v.unknown(), priority });
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

type Handler = (options: ControlOptions, body: unknown) => unknown;

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

const ROUTES: Readonly<Record<string, Handler>> = {
  'POST /hello': () => ({ version: VERSION, pid: process.pid }),
  'POST /status': daemonStatus,
  'POST /stop': ({ stop }) => {
    setImmediate(stop);
    return { stopping: true, pid: process.pid };
  },
  'POST /send': identified(SendSchema, (bus, who, request) => sendMessage(bus, who, request)),
  'POST /reply': identified(ReplySchema, (bus, who, request) => replyTo(bus, who, request.id, request.data, request.priority)),
  'POST /inbox': identified(InboxSchema, (bus, who, request) => listInbox(bus, who, request)),
  'POST /read': identified(ReadSchema, (bus, who, request) => readMessages(bus, who, request.ids, request.offset)),
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

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let total = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    total += chunk.length;
    if (total > LIMITS.envelopeBytes * 2) throw new AgentBusError('AB-7003', 'the request is larger than 2 MiB', 'send less at a time');
    chunks.push(chunk);
  }
  if (total === 0) return {};
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    throw new AgentBusError('AB-7001', 'the request is not JSON', 'docs/protocol.md has the form of each call');
  }
}

function authorized(request: IncomingMessage, token: string): boolean {
  const given = Buffer.from(request.headers.authorization ?? '');
  const wanted = Buffer.from(`Bearer ${token}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), connection: 'close' });
  response.end(text);
}

const STATUS_BY_EXIT: Readonly<Record<number, number>> = { [EXIT.usage]: 400, [EXIT.notFound]: 404, [EXIT.refused]: 403 };

async function handle(options: ControlOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    if (!authorized(request, options.token))
      throw new AgentBusError('AB-4003', 'wrong or missing local token', 'the token is in $AGENTBUS_HOME/run/token');
    const handler = ROUTES[`${request.method} ${request.url}`];
    if (!handler)
      throw new AgentBusError(
        'AB-7001',
        `no such call: ${request.method} ${String(request.url).slice(0, 80)}`,
        'docs/protocol.md lists the calls',
      );
    reply(response, 200, await handler(options, await readBody(request)));
  } catch (error) {
    if (error instanceof AgentBusError) return reply(response, STATUS_BY_EXIT[error.exitCode] ?? 500, { error });
    options.bus.log('call failed', { call: request.url, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    const message = redact(error instanceof Error ? error.message : String(error));
    reply(response, 500, {
      error: new AgentBusError('AB-3002', message === DROPPED ? 'the daemon failed' : message, '`agentbus daemon logs` shows more'),
    });
  }
}

export function listenControl(path: string, options: ControlOptions): Promise<Server> {
  const server = createServer((request, response) => void handle(options, request, response));
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => resolve(server));
  });
}
