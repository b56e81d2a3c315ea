// The paths that install baked into the hook launcher, read back out of it.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { splitWords } from './words.ts';

export interface BakedPaths {
  home: string;
  node: string;
  dist: string;
  nc: string | null;
  /** Null without nc, which alone needs them in the shell. */
  sockets: string | null;
}

/** Null for a script of another make: a Nix wrapper, another version's. */
export function parseLauncher(script: string): BakedPaths | null {
  const lines = script.split('\n').map((line) => line.trim());
  const words = (line: string | undefined): string[] => splitWords(line ?? '') ?? [];
  const [assignment, exec, node, hook] = words(lines.findLast((line) => line.startsWith('AGENTBUS_HOME=')));
  if (!assignment || exec !== 'exec' || !node || !hook?.endsWith('/hook.cjs')) return null;
  const socket = words(lines.find((line) => line.startsWith('s='))).at(0);
  const call = lines.find((line) => line.includes(' -w 2 -U "$s"'));
  const nc = call && words(/\bthen (.+) -w 2 -U "\$s"/.exec(call)?.[1]).at(0);
  return {
    home: assignment.slice('AGENTBUS_HOME='.length),
    node,
    dist: dirname(hook),
    nc: nc || null,
    sockets: socket ? dirname(socket.slice('s='.length)) : null,
  };
}

export function readLauncher(path: string): BakedPaths | null {
  try {
    return parseLauncher(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}

/** What the entries need and is not there any more: the launcher, or what stands behind it. */
export function goneBehind(launcher: string): string | null {
  if (!existsSync(launcher)) return launcher;
  const baked = readLauncher(launcher);
  return (baked && [baked.node, join(baked.dist, 'hook.cjs')].find((path) => !existsSync(path))) ?? null;
}
