import { spawn } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AgentBusError, errorFromJson } from '../core/errors.ts';
import { daemonEnvironment } from '../core/handed.ts';
import { controlSocket, homePaths, exposedPlace, socketDir } from '../core/paths.ts';
import { isForeign } from './private.ts';

/** The only way from the commands and the MCP server to the daemon. */

// ms
const CALL = 10_000;
const START = 5_000;

function localToken(home: string): string {
  const set = process.env['AGENTBUS_LOCAL_TOKEN'];
  if (set) return set;
  try {
    return readFileSync(homePaths(home).token, 'utf8').trim();
  } catch {
    return '';
  }
}

function mayEnter(directory: string): boolean {
  try {
    accessSync(directory, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function unreachable(home: string, error: NodeJS.ErrnoException): AgentBusError {
  const sockets = socketDir(home);
  if (error.code === 'EACCES' && !mayEnter(sockets))
    return new AgentBusError(
      'AB-3005',
      `${sockets} is not open to you`,
      'see to its owner and that of all in it (a command that ran under sudo makes it root’s), or set AGENTBUS_HOME to another place',
    );
  if (error.code === 'EPERM' || error.code === 'EACCES') {
    return new AgentBusError(
      'AB-3004',
      'this sandbox blocks the daemon’s socket',
      'inside Codex’s sandbox use the AgentBus MCP tools: send, inbox, reply, find_agent, task_progress, task_result, diagnose',
    );
  }
  return new AgentBusError(
    'AB-3001',
    `the daemon does not answer (${error.code ?? error.message})`,
    '`agentbus daemon start` starts it; `agentbus daemon logs` shows why it does not',
  );
}

/** Somebody holds the socket and says nothing: another daemon could not take its place, and asking again would ask twice. */
function stalled(home: string): AgentBusError {
  return new AgentBusError(
    'AB-3006',
    `the daemon${pidOf(home)} did not answer within ${CALL / 1000} s; what was asked may still be done`,
    '`agentbus daemon logs` may show why; ending it with `kill -9` loses nothing, and the next call starts another',
  );
}

function pidOf(home: string): string {
  try {
    return ` (pid ${(JSON.parse(readFileSync(homePaths(home).daemonInfo, 'utf8')) as { pid: number }).pid})`;
  } catch {
    return '';
  }
}

/** One call. Throws what the daemon refused as AgentBusError; AB-3001, AB-3004 or AB-3006 when it can't be reached. */
export function callDaemon<T>(home: string, path: string, body: unknown = {}): Promise<T> {
  const text = JSON.stringify(body);
  const exposed = exposedPlace(home);
  if (exposed !== null && isForeign(exposed))
    return Promise.reject(
      new AgentBusError('AB-3005', `${exposed} is not a directory of yours`, 'have it removed, or choose a shorter AGENTBUS_HOME'),
    );
  return new Promise((resolve, reject) => {
    const call = request(
      {
        socketPath: controlSocket(home),
        path,
        method: 'POST',
        timeout: CALL,
        headers: {
          authorization: `Bearer ${localToken(home)}`,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(text),
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', (error) => reject(unreachable(home, error)));
        response.on('end', () => {
          try {
            const answer = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { error?: unknown };
            if (response.statusCode === 200) resolve(answer as T);
            else
              reject(
                errorFromJson(answer.error) ??
                  new AgentBusError('AB-3001', `the daemon answered ${response.statusCode}`, '`agentbus daemon logs` shows more'),
              );
          } catch {
            reject(new AgentBusError('AB-3001', 'the daemon’s answer broke off', 'try again'));
          }
        });
      },
    );
    call.on('timeout', () => call.destroy(stalled(home)));
    call.on('error', (error) => reject(error instanceof AgentBusError ? error : unreachable(home, error)));
    call.end(text);
  });
}

/** `daemon.mjs` beside the bundle that runs. */
function daemonFile(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  return [join(here, 'daemon.mjs'), join(here, '..', 'daemon.mjs')].find((file) => existsSync(file)) ?? join(here, 'daemon.mjs');
}

interface Start {
  /** Why it ended; null while it runs, and where another one was quicker. */
  failure(): AgentBusError | null;
  /** It goes on by itself. */
  leave(): void;
}

function spawnDaemon(home: string): Start {
  const child = spawn(process.execPath, [daemonFile()], {
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
    cwd: '/',
    env: daemonEnvironment(home),
  });
  let said = '';
  let failure: AgentBusError | null = null;
  function failed(why: string, hint = `\`agentbus daemon logs\` may show more; its home is ${home}`): void {
    failure = new AgentBusError('AB-3003', `the daemon did not start: ${why}`, hint);
  }
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')));
  child.on('error', (error) => failed(error.message));
  child.on('close', (code, signal) => {
    if (code === 0) return;
    const why = said.split('\n').map(errorFromLine).find(Boolean);
    if (why) failed(why.message, why.hint);
    else failed(`it ended with ${signal ?? code}`);
  });
  return {
    failure: () => failure,
    leave() {
      child.stderr.destroy();
      child.unref();
    },
  };
}

function errorFromLine(line: string): AgentBusError | null {
  try {
    return errorFromJson(JSON.parse(line));
  } catch {
    return null;
  }
}

export interface Hello {
  version: string;
  pid: number;
}

/** Answers once a daemon answers, starting one if there is none. Throws AB-3003, AB-3004, AB-3006. */
export async function ensureDaemon(home: string): Promise<Hello> {
  let start: Start | null = null;
  const until = Date.now() + START;
  try {
    for (;;) {
      try {
        return await callDaemon<Hello>(home, '/hello');
      } catch (error) {
        if (!(error instanceof AgentBusError) || error.code !== 'AB-3001') throw error;
        const failure = start?.failure() ?? null;
        if (failure) throw failure;
        start ??= spawnDaemon(home);
        if (Date.now() > until) {
          throw new AgentBusError(
            'AB-3003',
            `the daemon did not start within ${START / 1000} s`,
            `\`agentbus daemon logs\` may show why; its home is ${home}`,
          );
        }
        await new Promise((resolve) => setTimeout(resolve, 30));
      }
    }
  } finally {
    start?.leave();
  }
}

// Printing frames marks them: asked again it would print what follows.
const ONCE: ReadonlySet<string> = new Set(['/drain', '/stop']);

/**
 * A call to the daemon, which is started when there is none. If it dies over the call, the next one is
 * asked again: what sends something carries an id, so it is sent once. Nothing is asked before the call
 * itself, which would take as long again.
 */
export async function askDaemon<T>(home: string, path: string, body: unknown = {}): Promise<T> {
  if (ONCE.has(path)) {
    await ensureDaemon(home);
    return callDaemon<T>(home, path, body);
  }
  for (let again = 2; ; again--) {
    try {
      return await callDaemon<T>(home, path, body);
    } catch (error) {
      if (!(error instanceof AgentBusError) || error.code !== 'AB-3001' || again === 0) throw error;
      await ensureDaemon(home);
    }
  }
}
