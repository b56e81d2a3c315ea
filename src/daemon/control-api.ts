import { timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { AgentBusError, EXIT } from '../core/errors.ts';
import { LIMITS } from '../core/limits.ts';
import { DROPPED, redact } from '../record/redact.ts';
import { ROUTES } from './routes.ts';
import type { ControlOptions } from './schemas.ts';

// Base64 of the largest attachment, and of everything else twice the largest envelope.
const MOST: Readonly<Record<string, number>> = { '/attach': Math.ceil(LIMITS.attachmentBytes * 1.4) };

async function readBody(request: IncomingMessage): Promise<unknown> {
  const most = MOST[request.url ?? ''] ?? LIMITS.envelopeBytes * 2;
  const chunks: Buffer[] = [];
  let total = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    total += chunk.length;
    if (total > most)
      throw new AgentBusError('AB-7003', `the request is larger than ${Math.round(most / 1024 / 1024)} MiB`, 'send less at a time');
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

// By SQLite's code: what whoever asked can do about it.
const HINTS: Readonly<Record<string, string>> = {
  SQLITE_FULL: 'nothing was done: make room on the disk of AGENTBUS_HOME, then try again',
  SQLITE_BUSY: 'nothing was done: another program holds the store, so try again in a moment',
};

async function handle(options: ControlOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    if (!authorized(request, options.token))
      throw new AgentBusError('AB-4003', 'wrong or missing local token', 'the token is in $AGENTBUS_HOME/run/token');
    const handler = ROUTES[`${request.method} ${request.url}`];
    if (!handler)
      throw new AgentBusError(
        'AB-7001',
        `no such call: ${request.method} ${String(request.url).slice(0, 80)}`,
        'docs/protocol.md lists the calls; where the daemon is older than its caller, `agentbus daemon stop` makes room for a new one',
      );
    reply(response, 200, await handler(options, await readBody(request)));
  } catch (error) {
    if (error instanceof AgentBusError) return reply(response, STATUS_BY_EXIT[error.exitCode] ?? 500, { error });
    options.bus.log('call failed', { call: request.url, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    const message = redact(error instanceof Error ? error.message : String(error));
    const hint = HINTS[String((error as { code?: unknown }).code)] ?? '`agentbus daemon logs` shows more';
    reply(response, 500, { error: new AgentBusError('AB-3002', message === DROPPED ? 'the daemon failed' : message, hint) });
  }
}

export function listenControl(path: string, options: ControlOptions): Promise<Server> {
  const server = createServer((request, response) => void handle(options, request, response));
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => resolve(server));
  });
}
