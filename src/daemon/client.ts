import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AgentBusError, errorFromJson } from '../core/errors.ts';
import { daemonEnvironment } from '../core/handed.ts';
import { controlSocket, homePaths } from '../core/paths.ts';

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

function unreachable(error: NodeJS.ErrnoException): AgentBusError {
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

/** One call. Throws what the daemon refused as AgentBusError, AB-3001 or AB-3004 when it can't be reached. */
export function callDaemon<T>(home: string, path: string, body: unknown = {}): Promise<T> {
  const text = JSON.stringify(body);
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
        response.on('error', (error) => reject(unreachable(error)));
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
    call.on('timeout', () => call.destroy(Object.assign(new Error('time-out'), { code: 'ETIMEDOUT' })));
    call.on('error', (error) => reject(unreachable(error)));
    call.end(text);
  });
}

/** `daemon.mjs` beside the bundle that runs. */
function daemonFile(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  return [join(here, 'daemon.mjs'), join(here, '..', 'daemon.mjs')].find((file) => existsSync(file)) ?? join(here, 'daemon.mjs');
}

function spawnDaemon(home: string): void {
  const env = daemonEnvironment(home);
  spawn(process.execPath, [daemonFile()], { detached: true, stdio: 'ignore', cwd: '/', env }).unref();
}

export interface Hello {
  version: string;
  pid: number;
}

/** Answers once a daemon answers, starting one if there is none. Throws AB-3003, AB-3004. */
export async function ensureDaemon(home: string): Promise<Hello> {
  let spawned = false;
  const until = Date.now() + START;
  for (;;) {
    try {
      return await callDaemon<Hello>(home, '/hello');
    } catch (error) {
      if (!(error instanceof AgentBusError) || error.code !== 'AB-3001') throw error;
      if (!spawned) {
        spawned = true;
        spawnDaemon(home);
      }
      if (Date.now() > until) {
        throw new AgentBusError(
          'AB-3003',
          `the daemon did not start within ${START / 1000} s`,
          `\`agentbus daemon logs\` shows why; its home is ${home}`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
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
