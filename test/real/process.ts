import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { until } from './wait.ts';

export interface Ran {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  ms: number;
}

export interface Running {
  child: ChildProcess;
  pid: number;
  /** What the program wrote so far. */
  stdout(): string;
  ended: Promise<Ran>;
}

export interface RunOptions {
  cwd: string;
  env: Record<string, string>;
  /** Written to the program's stdin; null leaves it open for the caller. Without it there is none. */
  stdin?: string | null | undefined;
  /** ms; the program is killed after it, which shows as the signal. */
  timeout?: number;
}

export function start(program: string, args: readonly string[], options: RunOptions): Running {
  const began = Date.now();
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: options.env,
    stdio: [options.stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout!.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  if (typeof options.stdin === 'string') child.stdin!.end(options.stdin);
  const timer = setTimeout(() => child.kill('SIGKILL'), options.timeout ?? 60_000);
  const ended = new Promise<Ran>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, stdout, stderr, ms: Date.now() - began });
    });
  });
  return { child, pid: child.pid ?? -1, stdout: () => stdout, ended };
}

export function run(program: string, args: readonly string[], options: RunOptions): Promise<Ran> {
  return start(program, args, options).ended;
}

/** The pids of all programs that were started with this HOME: those that a CLI left behind have no parent to ask. */
export function startedWithHome(home: string): number[] {
  const ours = `HOME=${home}`;
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(ours);
      } catch {
        return false;
      }
    })
    .map(Number);
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // gone by itself meanwhile
  }
}

/** Ends all programs of a world: kindly, and after a second for sure. */
export async function endAll(pids: () => number[]): Promise<void> {
  for (const pid of pids()) {
    // A stopped program acts on nothing but SIGCONT.
    kill(pid, 'SIGTERM');
    kill(pid, 'SIGCONT');
  }
  const gone = (): boolean => pids().length === 0;
  await until(gone, 'the end', 1_000).catch(async () => {
    for (const pid of pids()) kill(pid, 'SIGKILL');
    await until(gone, () => `the end of ${pids().join(', ')}`, 5_000);
  });
}
