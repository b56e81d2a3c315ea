import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, watch, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pino, destination } from 'pino';
import { AgentBusError } from '../core/errors.ts';
import { HANDED_VARIABLES, type HandedEnv } from '../core/handed.ts';
import { agentbusHome, controlSocket, homePaths, hookSocket, relaySocket, socketDir, wakeSocket, type HomePaths } from '../core/paths.ts';
import { record } from '../core/payload.ts';
import { VERSION } from '../core/version.ts';
import { findHarness, HARNESSES } from '../harness/registry.ts';
import { handleHook } from '../hook/handle.ts';
import { answerProbe, type Via } from '../hook/probe.ts';
import { redactJson } from '../record/redact.ts';
import { openBus, type Bus } from './bus.ts';
import { listenControl } from './control-api.ts';
import { listenHooks } from './hook-socket.ts';
import { takeLock } from './lock.ts';
import { ownDirectory, writePrivate } from './private.ts';
import { startWatchdog } from './watchdog.ts';

const LOG_BYTES = 5 * 1024 * 1024;

type Log = (message: string, detail?: Record<string, unknown>) => void;

function openLog(paths: HomePaths): Log {
  mkdirSync(paths.log, { recursive: true, mode: 0o700 });
  const file = join(paths.log, 'daemon.log');
  if (existsSync(file) && statSync(file).size > LOG_BYTES) renameSync(file, `${file}.1`);
  const sink = destination({ dest: file, sync: true, mode: 0o600 });
  // A full disk must not end the daemon by way of the line that says so.
  sink.on('error', () => {});
  const logger = pino({ base: { pid: process.pid } }, sink);
  return (message, detail = {}) => {
    try {
      logger.info(redactJson(detail), message);
    } catch {
      // Nobody to tell.
    }
  };
}

function loadToken(file: string): string {
  if (existsSync(file)) {
    const token = readFileSync(file, 'utf8').trim();
    if (/^[0-9a-f]{64}$/.test(token)) return token;
  }
  const token = randomBytes(32).toString('hex');
  writePrivate(file, `${token}\n`);
  return token;
}

function handedOf(value: unknown): HandedEnv {
  const given = record(value);
  return Object.fromEntries(
    HANDED_VARIABLES.flatMap((name) => (typeof given[name] === 'string' ? [[name, given[name].slice(0, 4096)]] : [])),
  );
}

/** Opens the sockets. The daemon holds the lock, so whatever lies there is a dead one's. */
async function openSockets(home: string, bus: Bus, log: Log, token: string, stop: () => void): Promise<void> {
  const watchdog = startWatchdog();
  function answer(id: string, payload: Record<string, unknown>, handed: HandedEnv | null, via: Via): string {
    const harness = findHarness(id);
    if (!harness) return '';
    const probed = answerProbe(payload, id, via);
    if (probed !== null) return probed;
    try {
      return watchdog.guard(() => handleHook(bus, harness, payload, handed));
    } catch (error) {
      // Fail open: the session goes on as if we were not there.
      log('hook failed', { harness: id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
      return '';
    }
  }
  const fresh = (path: string): string => {
    rmSync(path, { force: true });
    return path;
  };
  for (const { id } of HARNESSES)
    await listenHooks(fresh(hookSocket(home, id)), { values: 1, answer: ([payload]) => answer(id, payload!, null, 'nc') });
  await listenHooks(fresh(relaySocket(home)), {
    values: 2,
    answer: ([header, payload]) =>
      answer(String(header!['harness']), payload!, header!['event'] === 'SessionStart' ? handedOf(header!['env']) : null, 'relay'),
  });
  await bus.waiters.listen(fresh(wakeSocket(home)));
  await listenControl(fresh(controlSocket(home)), { bus, token, started: Date.now(), stop });
}

/** By which files that were deleted are told from others in their place; empty when one is not there. */
function numbersOf(files: readonly string[]): string {
  try {
    return files.map((file) => statSync(file).ino).join(' ');
  } catch {
    return '';
  }
}

async function main(): Promise<void> {
  process.umask(0o077);
  const home = agentbusHome();
  const paths = homePaths(home);
  ownDirectory(home, 'followed');
  const sockets = socketDir(home);
  if (sockets !== paths.run) {
    ownDirectory(dirname(sockets));
    ownDirectory(sockets);
  }
  if (!takeLock(paths.lock)) process.exit(0);

  const log = openLog(paths);
  process.on('uncaughtException', (error) => log('uncaught', { error: error.stack ?? error.message }));
  process.on('unhandledRejection', (error) => log('unhandled', { error: String(error) }));
  const token = loadToken(paths.token);
  const bus = await openBus({ home, log });

  let stopping = false;
  const place = [paths.store, controlSocket(home)];
  // Until the sockets are there, whatever lies in their place is a dead one's.
  let own: string | null = null;
  const isOurs = (): boolean => own === null || numbersOf(place) === own;
  async function stop(why: string): Promise<void> {
    if (stopping) return;
    stopping = true;
    log('stopping', { why });
    setTimeout(() => process.exit(0), 3_000).unref();
    if (isOurs()) for (const name of readdirSync(sockets)) if (name.endsWith('.sock')) rmSync(join(sockets, name), { force: true });
    await bus.close().catch(() => {});
    process.exit(0);
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => void stop(signal));
  await openSockets(home, bus, log, token, () => void stop('asked'));
  own = numbersOf(place);
  const info = { pid: process.pid, version: VERSION, node: process.version, started: new Date().toISOString() };
  writePrivate(paths.daemonInfo, `${JSON.stringify(info)}\n`);
  // A daemon whose home was deleted has nothing left to keep, and one whose sockets were swept away only keeps
  // others from starting. The deletion may still be under way at the first event.
  let look: NodeJS.Timeout | null = null;
  for (const directory of new Set([paths.run, sockets]))
    watch(directory, { persistent: false }, () => {
      look ??= setTimeout(() => {
        look = null;
        if (!isOurs()) void stop('home or sockets are gone');
      }, 200);
    }).on('error', () => {});
  log('started', { version: VERSION, node: process.version });
}

main().catch((error: unknown) => {
  const { code, message } = error as NodeJS.ErrnoException;
  const hint = ['EACCES', 'EPERM', 'EROFS'].includes(code!)
    ? 'it has to be yours to write: see to its owner, or set AGENTBUS_HOME to another place'
    : '`agentbus daemon logs` shows more';
  const known = error instanceof AgentBusError ? error : new AgentBusError('AB-3003', message, hint);
  try {
    // To whoever started it and still waits.
    writeSync(2, `${JSON.stringify(known)}\n`);
  } catch {
    // Nobody does.
  }
  try {
    openLog(homePaths(agentbusHome()))('start failed', { error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  } catch {
    // Nowhere to keep it.
  }
  process.exit(1);
});
