/**
 * The hook process where the launcher's fast path does not reach: at SessionStart (whose environment
 * the daemon needs), without nc, or without a daemon, which it starts. It relays bytes and knows
 * nothing of harnesses. Node builtins only; docs/adr/0002 says what each import would cost.
 *
 * Whatever happens: exit 0, and the daemon's whole answer or nothing on stdout.
 */
import { closeSync, existsSync, lstatSync, mkdirSync, openSync, statSync, utimesSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { agentbusHome, homePaths, exposedPlace, relaySocket } from '../core/paths.ts';
import { daemonEnvironment, HANDED_VARIABLES } from '../core/handed.ts';

// All in ms. No hook of ours runs longer than `deadline`; what is not there by then is not waited for.
const TIMES = { deadline: 1_800, firstByte: 1_200, daemonStart: 1_300, starting: 5_000, spawnAgain: 30_000, retry: 25 };

const home = agentbusHome();
const paths = homePaths(home);
// `agentbus-hook <harness> <event>` or `agentbus hook <event> --harness <harness>`.
const words = process.argv.slice(2);
const [harness = '', event = ''] = words[0] === 'hook' ? [words[words.indexOf('--harness') + 1], words[1]] : words;

/** Prints a whole JSON document or nothing: half a one would reach the model as plain text. */
function finish(output?: Buffer): void {
  if (!output || output.length === 0) process.exit(0);
  try {
    JSON.parse(output.toString('utf8'));
  } catch {
    process.exit(0);
  }
  process.stdout.write(output, () => process.exit(0));
}

/**
 * Starts a daemon, at most once in 30 s: one that can't start must not cost every hook a process. Returns how long
 * one may still take to answer, in ms; `failed` is called when it ends instead.
 */
function startDaemon(failed: () => void): number {
  const stamp = join(paths.run, 'last-start');
  try {
    mkdirSync(paths.run, { recursive: true, mode: 0o700 });
    const age = existsSync(stamp) ? Math.abs(Date.now() - statSync(stamp).mtimeMs) : Infinity;
    // A loaded machine takes its time: one that was started a moment ago may still come.
    if (age < TIMES.spawnAgain) return age < TIMES.starting ? TIMES.daemonStart : 0;
    closeSync(openSync(stamp, 'a', 0o600));
    utimesSync(stamp, new Date(), new Date());
  } catch {
    return 0;
  }
  const env = daemonEnvironment(home);
  // Loaded only here, and at once: by the next tick this process may have ended.
  const { spawn } = process.getBuiltinModule('node:child_process');
  // A child that holds the hook's stdout makes Codex wait out its timeout and Claude block the tool.
  const daemon = spawn(process.execPath, [join(__dirname, 'daemon.mjs')], { detached: true, stdio: 'ignore', cwd: '/', env });
  // With 0 ends the one that found another at work.
  daemon.once('exit', (code) => code !== 0 && failed());
  daemon.unref();
  return TIMES.daemonStart;
}

/** Whoever made it would hear what is said and give the answer; in one of our own nobody else can. */
function isForeign(directory: string | null): boolean {
  const stat = directory === null ? undefined : lstatSync(directory, { throwIfNoEntry: false });
  return stat !== undefined && (!stat.isDirectory() || stat.uid !== process.getuid?.());
}

function header(): string {
  const env: Record<string, string> = {};
  for (const name of HANDED_VARIABLES) if (process.env[name] !== undefined) env[name] = process.env[name];
  return JSON.stringify({ agentbus: 1, harness, event, env });
}

/** Connects, starting the daemon when nobody answers; the events that can show something wait for it while one may come. */
function reach(onSocket: (socket: Socket) => void): void {
  const waits = event === 'SessionStart' || event === 'UserPromptSubmit';
  let connected = false;
  let until: number | null = null;
  const attempt = (): void => {
    const socket = connect(relaySocket(home));
    socket.once('connect', () => {
      connected = true;
      onSocket(socket);
    });
    socket.once('error', () => {
      until ??= Date.now() + startDaemon(() => connected || finish());
      if (!waits || Date.now() >= until) finish();
      else setTimeout(attempt, TIMES.retry);
    });
  };
  attempt();
}

function main(): void {
  process.on('uncaughtException', () => process.exit(0));
  // The session's may take from us what we write: the next start would then fail for ever.
  process.umask(0o077);
  setTimeout(() => process.exit(0), TIMES.deadline).unref();
  if (!/^[a-z0-9-]{1,32}$/.test(harness) || process.stdin.isTTY || !existsSync(home) || isForeign(exposedPlace(home))) return finish();
  let silent: NodeJS.Timeout | null = setTimeout(() => process.exit(0), TIMES.firstByte);
  const early: Buffer[] = [];
  let sink: Socket | null = null;
  process.stdin.on('data', (chunk: Buffer) => {
    if (silent) clearTimeout(silent);
    silent = null;
    if (sink) sink.write(chunk);
    else early.push(chunk);
  });
  let ended = false;
  process.stdin.on('end', () => {
    ended = true;
    if (silent && early.length === 0) finish();
    sink?.end();
  });
  process.stdin.on('error', () => process.exit(0));
  reach((socket) => {
    sink = socket;
    const answer: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => answer.push(chunk));
    socket.once('error', () => finish());
    socket.once('end', () => finish(Buffer.concat(answer)));
    socket.write(Buffer.concat([Buffer.from(header()), ...early]));
    if (ended) socket.end();
  });
}

main();
