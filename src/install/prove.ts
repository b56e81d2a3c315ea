// Runs a written command as its harness does, with a probe on stdin, and judges what came back.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { userInfo } from 'node:os';
import type { Harness } from '../core/harness.ts';
import { probePayload, probeText, type Via } from '../hook/probe.ts';
import type { Env } from './options.ts';

export interface Proof {
  /** `noise`: the answer is there with something else around it. `wrong`: something else alone. */
  outcome: 'answered' | 'noise' | 'wrong' | 'silent' | 'late' | 'not-run';
  via: Via | null;
  ms: number;
  status: number | null;
  /** What stdout held beside the answer, shortened. */
  extra: string;
}

export interface HookRun {
  harness: string;
  event: string;
  command: string;
  shell: string;
  /** What the harness gives a hook as stdin; bash behaves differently on a socket. */
  stdin: 'socket' | 'pipe';
  env: Record<string, string>;
  cwd: string;
  /** ms */
  timeout: number;
}

/** In a container the user may have no passwd entry. */
function loginShell(): string {
  try {
    return userInfo().shell || '/bin/sh';
  } catch {
    return '/bin/sh';
  }
}

/** The shell and stdin of a harness's hooks: Claude Code takes /bin/sh, Codex the shell of the passwd entry. */
export function mannersOf(harness: Harness): Pick<HookRun, 'shell' | 'stdin'> {
  if (harness.install.format === 'claude') return { shell: '/bin/sh', stdin: 'socket' };
  return { shell: loginShell(), stdin: 'pipe' };
}

/** An environment without anything of this process's but what every hook has. */
export function bareEnv(env: Env): Record<string, string> {
  return { HOME: env['HOME'] ?? '/', PATH: env['PATH'] ?? '/usr/bin:/bin' };
}

const SHOWN = 80;

function shorten(text: string): string {
  const line = text.trim().replaceAll(/\s+/g, ' ');
  return line.length > SHOWN ? `${line.slice(0, SHOWN)}…` : line;
}

function judge(run: HookRun, nonce: string, stdout: string): Pick<Proof, 'outcome' | 'via' | 'extra'> {
  for (const via of ['nc', 'relay'] as const) {
    const expected = probeText(nonce, run.harness, via);
    if (stdout === expected) return { outcome: 'answered', via, extra: '' };
    if (stdout.includes(expected)) return { outcome: 'noise', via, extra: shorten(stdout.replace(expected, ' ')) };
  }
  return { outcome: stdout === '' ? 'silent' : 'wrong', via: null, extra: shorten(stdout) };
}

/** Never throws: a command that cannot even be started is a result too. */
export function proveHook(run: HookRun): Promise<Proof> {
  const nonce = randomBytes(16).toString('hex');
  const payload = probePayload(nonce, run.event);
  // Node's own "pipe" is a socket; a real one takes a shell in between.
  const piped = ['-c', 'printf %s "$1" | "$2" -c "$3"', 'sh', payload, run.shell, run.command];
  const [program, words] = run.stdin === 'socket' ? [run.shell, ['-c', run.command]] : ['/bin/sh', piped];
  const started = performance.now();
  return new Promise((resolve) => {
    const child = spawn(program, words, { env: run.env, cwd: run.cwd, stdio: ['pipe', 'pipe', 'ignore'], detached: true });
    const chunks: Buffer[] = [];
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      } catch {
        // It has just ended.
      }
    }, run.timeout);
    const done = (result: Pick<Proof, 'outcome' | 'via' | 'extra'>, status: number | null): void => {
      clearTimeout(timer);
      resolve({ ...result, status, ms: Math.round(performance.now() - started) });
    };
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stdin.on('error', () => undefined);
    child.on('error', (error) => done({ outcome: 'not-run', via: null, extra: error.message }, null));
    child.on('close', (status) => {
      const result = judge(run, nonce, Buffer.concat(chunks).toString('utf8'));
      done(late ? { ...result, outcome: 'late' } : result, status);
    });
    if (run.stdin === 'socket') child.stdin.end(payload);
    else child.stdin.end();
  });
}
