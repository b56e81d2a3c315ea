// One install at a time per AGENTBUS_HOME, from the reading of a config to its replacement. Without it two
// installs that each rename atomically still lose one's work.
import { randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmdirSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive } from '../core/alive.ts';
import { AgentBusError, fileError } from '../core/errors.ts';

const PATIENCE_MS = 15_000;
const RECOVERY_MS = 5_000;

function errno(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** Takes a dead holder's lock away. A directory guards it, so that nobody takes away the lock that a faster one took next. */
function recover(lock: string, seen: string): void {
  const guard = `${lock}.recovery`;
  try {
    mkdirSync(guard);
  } catch {
    const age = Date.now() - (statSync(guard, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > RECOVERY_MS) rmdirSync(guard);
    return;
  }
  try {
    if (read(lock) === seen) unlinkSync(lock);
  } finally {
    rmdirSync(guard);
  }
}

async function withInstallLock<T>(directory: string, work: () => T | Promise<T>): Promise<T> {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const lock = join(directory, 'install.lock');
  const own = `${process.pid} ${randomUUID()}\n`;
  const draft = `${lock}.${own.trim().split(' ')[1]}`;
  writeFileSync(draft, own, { mode: 0o600, flag: 'wx' });
  try {
    // A link appears with its content, so no one ever reads a lock without its holder's pid.
    for (const until = Date.now() + PATIENCE_MS; ;) {
      try {
        linkSync(draft, lock);
        break;
      } catch (error) {
        if (errno(error) !== 'EEXIST') throw error;
      }
      const seen = read(lock);
      const holder = Number(seen?.split(' ')[0]);
      if (seen !== null && !(holder > 0 && isAlive(holder))) recover(lock, seen);
      else if (Date.now() > until)
        throw new AgentBusError('AB-2007', `another install (process ${holder}) is at work`, 'Try again when it has ended.');
      else await delay(5 + Math.random() * 20);
    }
  } finally {
    unlinkSync(draft);
  }
  try {
    return await work();
  } finally {
    if (read(lock) === own) unlinkSync(lock);
  }
}

/** Runs `work` under the lock file `<directory>/install.lock`. */
export async function locked<T>(directory: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await withInstallLock(directory, work);
  } catch (error) {
    throw fileError(error, directory) ?? error;
  }
}
