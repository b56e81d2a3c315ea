import { dirname } from 'node:path';
import { lockDatabase } from '../store/driver.ts';
import { ownDirectory } from './private.ts';

/**
 * One daemon per AGENTBUS_HOME: an exclusive transaction on a database of its own, held for life.
 * Node has no flock, and a pid file says nothing about a reused pid or another container; SQLite's
 * lock ends with the process, whatever ends it.
 */
export function takeLock(file: string): boolean {
  ownDirectory(dirname(file), 'followed');
  return lockDatabase(file);
}
