// What install and uninstall share: which harnesses, with which paths, and one failing without the others.
import { homedir } from 'node:os';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AgentBusError } from '../core/errors.ts';
import type { Harness } from '../core/harness.ts';
import { agentbusHome } from '../core/paths.ts';
import { findHarness, HARNESSES } from '../harness/registry.ts';
import { detectHarnesses, findNc, type HarnessReport, type InstallOptions } from './install.ts';

/** The install options of this process: its environment, its Node and the dist/ it runs from. */
export async function commandOptions(chosen: Partial<InstallOptions>): Promise<InstallOptions> {
  const env = process.env;
  const dist = distDirectory();
  return {
    home: env['HOME'] || homedir(),
    env,
    agentbusHome: agentbusHome(env),
    node: process.execPath,
    dist,
    nc: await findNc(env),
    ...chosen,
  };
}

// The bundler may put this module into dist/ itself or into dist/chunks/.
function distDirectory(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  return here.endsWith('/chunks') ? dirname(here) : here;
}

/** Every `--harness a,b` of a command line; citty keeps only the last of a repeated option. */
export function harnessIds(rawArgs: readonly string[]): string[] {
  const values = rawArgs.flatMap((arg, at) => {
    if (arg === '--harness') return [rawArgs[at + 1] ?? ''];
    return arg.startsWith('--harness=') ? [arg.slice('--harness='.length)] : [];
  });
  return [
    ...new Set(
      values
        .flatMap((value) => value.split(','))
        .map((id) => id.trim())
        .filter(Boolean),
    ),
  ];
}

/** The named harnesses, or all that are on this machine. */
export async function chooseHarnesses(ids: readonly string[], options: InstallOptions): Promise<Harness[]> {
  if (ids.length > 0) {
    return ids.map((id) => {
      const harness = findHarness(id);
      if (harness) return harness;
      throw new AgentBusError('AB-2004', `there is no harness "${id}"`, `Known: ${HARNESSES.map((known) => known.id).join(', ')}.`);
    });
  }
  const found = await detectHarnesses(HARNESSES, options.home, options.env);
  if (found.length > 0) return found.map(({ harness }) => harness);
  throw new AgentBusError(
    'AB-2004',
    'no coding CLI was found on this machine',
    `Install one, or name it: --harness ${HARNESSES.map(({ id }) => id).join(',')}`,
  );
}

/** Runs each; what failed is thrown when the others are done. */
export async function runEach(
  harnesses: readonly Harness[],
  work: (harness: Harness) => Promise<HarnessReport>,
  output: { json: boolean; describe: (report: HarnessReport) => string },
): Promise<void> {
  const reports: HarnessReport[] = [];
  const failures: AgentBusError[] = [];
  for (const harness of harnesses) {
    try {
      const report = await work(harness);
      reports.push(report);
      if (!output.json) process.stdout.write(`${output.describe(report)}\n`);
    } catch (error) {
      if (!(error instanceof AgentBusError)) throw error;
      failures.push(error);
    }
  }
  if (output.json) process.stdout.write(`${JSON.stringify({ harnesses: reports, errors: failures.map((failure) => failure.toJSON()) })}\n`);
  const [first, ...others] = failures;
  if (!first) return;
  // With several failures each still gets its line; the first sets the exit code.
  for (const failure of others) process.stderr.write(`${failure.code} ${failure.message}\n${failure.hint}\n`);
  throw first;
}
