import { chmodSync, lstatSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { AgentBusError } from '../core/errors.ts';

/** Makes a directory 0700 and refuses one that somebody else planted. Throws AB-3005. */
export function ownDirectory(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const stat = lstatSync(path);
  if (!stat.isDirectory() || (process.getuid && stat.uid !== process.getuid())) {
    throw new AgentBusError('AB-3005', `${path} is not a directory of yours`, 'remove it, or choose another AGENTBUS_HOME');
  }
  if ((stat.mode & 0o077) !== 0) chmodSync(path, 0o700);
}

/** Writes a file (0600) that others read while it is replaced: they see the old one or the new one. */
export function writePrivate(path: string, text: string): void {
  const temporary = `${path}.${process.pid}.tmp`;
  writeFileSync(temporary, text, { mode: 0o600 });
  renameSync(temporary, path);
}
