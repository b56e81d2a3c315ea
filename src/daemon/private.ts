import { chmodSync, lstatSync, mkdirSync, renameSync, statSync, writeFileSync, type Stats } from 'node:fs';
import { AgentBusError } from '../core/errors.ts';

const isOwn = (stat: Stats): boolean => !process.getuid || stat.uid === process.getuid();

/**
 * Makes a directory 0700 and refuses one that somebody else planted. A home may lie behind a link of one's own;
 * in a place where others write, none is followed. Throws AB-3005.
 */
export function ownDirectory(path: string, links: 'followed' | 'refused' = 'refused'): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const found = lstatSync(path);
  const stat = links === 'followed' && found.isSymbolicLink() && isOwn(found) ? statSync(path) : found;
  if (!stat.isDirectory() || !isOwn(stat)) {
    throw new AgentBusError('AB-3005', `${path} is not a directory of yours`, 'remove it, or choose another AGENTBUS_HOME');
  }
  if ((stat.mode & 0o077) !== 0) chmodSync(path, 0o700);
}

/** Whether a directory is there and somebody else's, who would hear whatever is said at a socket in it. */
export function isForeign(directory: string): boolean {
  const stat = lstatSync(directory, { throwIfNoEntry: false });
  return stat !== undefined && (!stat.isDirectory() || !isOwn(stat));
}

/** Writes a file (0600) that others read while it is replaced: they see the old one or the new one. */
export function writePrivate(path: string, text: string): void {
  const temporary = `${path}.${process.pid}.tmp`;
  writeFileSync(temporary, text, { mode: 0o600 });
  renameSync(temporary, path);
}
