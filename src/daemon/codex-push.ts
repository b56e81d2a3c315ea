import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { programsNamed } from '../install/detect.ts';
import { findHarness } from '../harness/registry.ts';
import type { InstanceRow } from '../store/contract.ts';
import { steerThread } from './codex-steer.ts';

const QUEUE_TIME = 20_000;

function codexHome(instance: InstanceRow, home: string): string {
  return findHarness('codex')!.install.configDir(home, { CODEX_HOME: instance.env.CODEX_HOME });
}

/** The program on the daemon's PATH, which is that of the CLI whose hook started it. */
function codexProgram(): string | null {
  return programsNamed('codex', process.env['PATH'] ?? '')[0] ?? null;
}

/** Without Codex's own daemon nobody runs what is queued: one line after the other would wait for the next resume. */
export function codexQueues(instance: InstanceRow, home: string): boolean {
  return codexProgram() !== null && codexSteers(instance, home);
}

/** Has Codex start a turn with this line in a thread of its own daemon. */
export function queueCodex(instance: InstanceRow, line: string, home: string): Promise<boolean> {
  const program = codexProgram();
  if (program === null) return Promise.resolve(false);
  const env = { HOME: home, PATH: process.env['PATH'] ?? '', CODEX_HOME: codexHome(instance, home) };
  const words = ['queue', '--thread', instance.sessionKey, '--message', line];
  return new Promise((resolve, reject) => {
    const child = execFile(program, words, { env, cwd: '/', timeout: QUEUE_TIME, killSignal: 'SIGKILL' }, (error) => {
      if (error) reject(error);
      else resolve(true);
    });
    child.stdin?.end();
  });
}

function controlSocketOf(instance: InstanceRow, home: string): string {
  return join(codexHome(instance, home), 'app-server-control', 'app-server-control.sock');
}

export function codexSteers(instance: InstanceRow, home: string): boolean {
  return existsSync(controlSocketOf(instance, home));
}

export function steerCodex(instance: InstanceRow, line: string, home: string): Promise<boolean> {
  return steerThread(controlSocketOf(instance, home), instance.sessionKey, line, instance.state === 'busy');
}
