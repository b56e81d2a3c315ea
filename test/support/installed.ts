import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** AgentBus installed into a temporary home, its commands run the way the harnesses run them. */
export interface Installed {
  home: string;
  bus: string;
  project: string;
  env: Record<string, string>;
  /** `agentbus <words>`; stdout parsed when --json is among them. */
  agentbus(words: string[], env?: Record<string, string>): Ran;
  json<T = Record<string, unknown>>(words: string[], env?: Record<string, string>): T;
  /** A hook as the harness runs it: the written command by sh, the payload on stdin, which stays open with `keepOpen`. */
  hook(harness: string, event: string, payload: unknown, options?: HookOptions): Promise<Ran>;
  daemonPid(): number | null;
  close(): void;
}

export interface HookOptions {
  env?: Record<string, string>;
  keepOpen?: boolean;
  /** Chunks with the milliseconds before each. */
  chunks?: { after: number; bytes: Buffer }[];
}

export interface Ran {
  code: number | null;
  out: string;
  err: string;
}

const BIN = new URL('../../bin/agentbus.mjs', import.meta.url).pathname;

export function hookConfigOf(home: string, harness: string): string {
  return harness === 'claude' ? join(home, '.claude', 'settings.json') : join(home, '.codex', 'hooks.json');
}

/** The commands that install wrote, by event; with `of` those of another launcher than the hooks'. */
export function writtenCommands(home: string, harness: string, of = 'agentbus-hook'): Record<string, string> {
  const config = JSON.parse(readFileSync(hookConfigOf(home, harness), 'utf8')) as {
    hooks: Record<string, { hooks: { command: string }[] }[]>;
  };
  return Object.fromEntries(
    Object.entries(config.hooks).flatMap(([event, groups]) => {
      const own = groups.flatMap(({ hooks }) => hooks).findLast(({ command }) => command.includes(of));
      return own ? [[event, own.command]] : [];
    }),
  );
}

function feed(child: ChildProcess, payload: unknown, options: HookOptions): void {
  const { stdin } = child;
  if (!stdin) return;
  stdin.on('error', () => {});
  if (options.chunks) {
    let chain = Promise.resolve();
    for (const { after, bytes } of options.chunks) {
      chain = chain.then(() => new Promise<void>((done) => setTimeout(done, after))).then(() => void stdin.write(bytes));
    }
    if (!options.keepOpen) void chain.then(() => stdin.end());
    return;
  }
  const bytes = Buffer.isBuffer(payload) ? payload : Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload));
  stdin.write(bytes);
  if (!options.keepOpen) stdin.end();
}

/** Installs both harnesses. `name`: a directory name for the home, for odd paths. */
export function installed(options: { name?: string; install?: string[]; before?: (paths: { bus: string }) => void } = {}): Installed {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'ab-')));
  const home = join(base, options.name ?? 'home');
  const bus = join(home, '.agentbus');
  const project = join(base, 'shop');
  mkdirSync(home, { recursive: true });
  mkdirSync(join(project, '.git'), { recursive: true });
  const env = { HOME: home, PATH: process.env['PATH'] ?? '/usr/bin:/bin', AGENTBUS_HOME: bus, AGENTBUS_NO_AUTO_JOIN: '1' };

  function agentbus(words: string[], extra: Record<string, string> = {}): Ran {
    const ran = spawnSync(process.execPath, [BIN, ...words], {
      env: { ...env, ...extra },
      cwd: project,
      encoding: 'utf8',
      timeout: 20_000,
    });
    return { code: ran.status, out: ran.stdout, err: ran.stderr };
  }

  function json<T>(words: string[], extra: Record<string, string> = {}): T {
    const ran = agentbus([words[0]!, '--json', ...words.slice(1)], extra);
    if (ran.code !== 0) throw new Error(`agentbus ${words.join(' ')}: ${ran.code} ${ran.out}${ran.err}`);
    return JSON.parse(ran.out) as T;
  }

  function hook(harness: string, event: string, payload: unknown, hookOptions: HookOptions = {}): Promise<Ran> {
    const command = writtenCommands(home, harness)[event];
    if (command === undefined) throw new Error(`no hook for ${event}`);
    return new Promise((resolve, reject) => {
      const child = spawn('/bin/sh', ['-c', command], {
        env: { ...env, ...hookOptions.env },
        cwd: project,
        stdio: ['pipe', 'pipe', 'pipe'],
      });
      let out = '';
      let err = '';
      child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString('utf8')));
      child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString('utf8')));
      child.on('error', reject);
      child.on('close', (code) => resolve({ code, out, err }));
      feed(child, payload, hookOptions);
    });
  }

  function daemonPid(): number | null {
    const info = join(bus, 'run', 'daemon.json');
    return existsSync(info) ? (JSON.parse(readFileSync(info, 'utf8')) as { pid: number }).pid : null;
  }

  function close(): void {
    const pid = daemonPid();
    if (pid !== null) {
      agentbus(['daemon', 'stop']);
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended.
      }
    }
    rmSync(base, { recursive: true, force: true, maxRetries: 5 });
  }

  options.before?.({ bus });
  const ran = agentbus(options.install ?? ['install', '--harness', 'claude,codex']);
  if (ran.code !== 0) throw new Error(`install: ${ran.out}${ran.err}`);
  return { home, bus, project, env, agentbus, json, hook, daemonPid, close };
}

/** Waits until `check` gives something; fails with `what` after 10 s. */
export async function until<T>(
  what: string,
  check: () => T | null | undefined | false | Promise<T | null | undefined | false>,
): Promise<T> {
  const end = Date.now() + 10_000;
  for (;;) {
    const value = await check();
    if (value !== null && value !== undefined && value !== false) return value;
    if (Date.now() > end) throw new Error(`waited in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
