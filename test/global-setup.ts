// The suite must leave the home of whoever runs it alone. This compares what lies there before and
// after, one level deep: a whole walk of a large home would take longer than the tests.
import { lstatSync, readdirSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';

const WATCHED = ['.claude', '.claude.json', '.codex', '.agentbus'];

function describe(path: string): string {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat ? `${stat.isDirectory() ? 'directory' : `${stat.size} bytes`}, changed ${new Date(stat.mtimeMs).toISOString()}` : 'absent';
}

export function fingerprint(home: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const name of WATCHED) {
    const path = join(home, name);
    found.set(path, describe(path));
    if (!lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) continue;
    for (const entry of readdirSync(path)) found.set(join(path, entry), describe(join(path, entry)));
  }
  return found;
}

/** One line for each path that appeared, went or changed. */
export function differences(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  const paths = [...new Set([...before.keys(), ...after.keys()])].sort();
  return paths
    .filter((path) => before.get(path) !== after.get(path))
    .map((path) => `${path}: ${before.get(path) ?? 'absent'} -> ${after.get(path) ?? 'absent'}`);
}

export default function setup(): () => void {
  const home = userInfo().homedir;
  const before = fingerprint(home);
  return () => {
    const changed = differences(before, fingerprint(home));
    if (changed.length === 0) return;
    // An error here is only printed; the exit code makes the run fail.
    process.exitCode = 1;
    throw new Error(`the real home was touched while the tests ran:\n${changed.join('\n')}`);
  };
}
