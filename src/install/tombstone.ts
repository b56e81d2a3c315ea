// `uninstalled` lists the harnesses that a person took AgentBus out of, so that auto-join leaves them alone.
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeOwnFile } from './files.ts';

function read(home: string): string[] {
  try {
    return readFileSync(join(home, 'uninstalled'), 'utf8').split('\n').filter(Boolean);
  } catch {
    return [];
  }
}

function write(home: string, ids: readonly string[]): void {
  if (ids.length === 0) rmSync(join(home, 'uninstalled'), { force: true });
  else writeOwnFile(join(home, 'uninstalled'), ids.map((id) => `${id}\n`).join(''), 0o600);
}

/** Whether AgentBus was taken out of a harness on purpose. */
export function isUninstalled(home: string, harness: string): boolean {
  return read(home).includes(harness);
}

export function setTombstone(home: string, harness: string): void {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const ids = read(home);
  if (!ids.includes(harness)) write(home, [...ids, harness]);
}

export function clearTombstone(home: string, harness: string): void {
  const ids = read(home);
  if (ids.includes(harness))
    write(
      home,
      ids.filter((id) => id !== harness),
    );
}
