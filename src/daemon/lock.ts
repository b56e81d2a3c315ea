import { chmodSync, lstatSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { AgentBusError } from '../core/errors.ts';
import { lockDatabase } from '../store/driver.ts';

/** Makes a directory 0700 and refuses one that somebody else planted. Throws AB-3005. */
export function ownDirectory(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const stat = lstatSync(path);
  if (!stat.isDirectory() || (process.getuid && stat.uid !== process.getuid())) {
    throw new AgentBusError('AB-3005', `${path} is not a directory of yours`, 'remove it, or choose another AGENTBUS_HOME');
  }
  if ((stat.mode & 0o077) !== 0) chmodSync(path, 0o700);
}

/**
 * One daemon per AGENTBUS_HOME: an exclusive transaction on a database of its own, held for life.
 * Node has no flock, and a pid file says nothing about a reused pid or another container; SQLite's
 * lock ends with the process, whatever ends it.
 */
export function takeLock(file: string): boolean {
  ownDirectory(dirname(file));
  return lockDatabase(file);
}
