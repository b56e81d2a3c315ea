// Which coding CLIs are here, and in which version: the hooks that a config may hold depend on it.
import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { Harness } from '../core/harness.ts';
import type { Env } from './options.ts';

const VERSION_LIMIT_MS = 5_000;

export interface Detected {
  harness: Harness;
  /** Absolute path of the program, or null. */
  program: string | null;
  version: string | null;
  /** Its user-level config directory is there. */
  configured: boolean;
}

/** Executables of a name along a PATH, first to last. */
export function programsNamed(name: string, path: string): string[] {
  const found: string[] = [];
  for (const directory of path.split(':')) {
    const program = join(directory, name);
    if (!isAbsolute(directory) || found.includes(program)) continue;
    try {
      accessSync(program, constants.X_OK);
      if (statSync(program).isFile()) found.push(program);
    } catch {
      // Not here.
    }
  }
  return found;
}

/** The version of a harness's program, or null when there is none or it does not say in time. */
export async function detectVersion(harness: Harness, env: Env): Promise<string | null> {
  const [program] = programsNamed(harness.install.program, env['PATH'] ?? '');
  if (!program) return null;
  return new Promise((resolve) => {
    const child = execFile(
      program,
      ['--version'],
      // Codex makes its home even to say its version; with this it does not, and a dry run changes nothing.
      { env: { ...env, CODEX_HOME: '/dev/null' }, timeout: VERSION_LIMIT_MS, killSignal: 'SIGKILL' },
      (_error, stdout) => {
        resolve(/\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? null);
      },
    );
    child.stdin?.end();
  });
}

/** The harnesses whose program or config directory is there. */
export async function detectHarnesses(harnesses: readonly Harness[], home: string, env: Env): Promise<Detected[]> {
  const all = await Promise.all(
    harnesses.map(async (harness): Promise<Detected> => {
      const program = programsNamed(harness.install.program, env['PATH'] ?? '')[0] ?? null;
      const configured = existsSync(harness.install.configDir(home, env));
      return { harness, program, version: program && (await detectVersion(harness, env)), configured };
    }),
  );
  return all.filter(({ program, configured }) => program !== null || configured);
}
