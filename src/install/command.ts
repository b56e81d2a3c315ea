// What install, uninstall and doctor share: which harnesses, at which places, and one failing without the others.
import { realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { AgentBusError } from '../core/errors.ts';
import type { Harness } from '../core/harness.ts';
import { agentbusHome } from '../core/paths.ts';
import { findHarness, HARNESSES } from '../harness/registry.ts';
import { detectHarnesses, findNc, type HarnessReport, type InstallOptions } from './install.ts';
import { distDirectory, type Place } from './options.ts';
import { projectRoot } from './project.ts';

const KNOWN = HARNESSES.map(({ id }) => id).join(', ');

function ownHome(): string {
  return resolve(process.env['HOME'] || homedir());
}

/** The install options of this process: its environment, its Node and the dist/ it runs from. */
export async function commandOptions(chosen: Partial<InstallOptions>): Promise<InstallOptions> {
  const env = process.env;
  const home = ownHome();
  return {
    home,
    env,
    project: projectRoot(process.cwd(), home),
    agentbusHome: agentbusHome(env),
    node: process.execPath,
    dist: distDirectory(),
    nc: await findNc(env),
    ...chosen,
  };
}

export const placeArgs = {
  scope: { type: 'string', description: 'user (your own files) or project (those of the project you are in)', valueHint: 'scope' },
  home: { type: 'string', description: "A sandbox's home instead of yours", valueHint: 'dir' },
} as const;

/** The place that `--scope` and `--home` name. */
export function chosenPlace(args: { scope?: string; home?: string }): Partial<Place> {
  const usage = (message: string, hint: string): AgentBusError => new AgentBusError('AB-1001', message, hint);
  const { scope } = args;
  if (scope !== undefined && scope !== 'user' && scope !== 'project')
    throw usage(`no such scope: ${scope.slice(0, 40)}`, 'Write --scope user or --scope project.');
  if (args.home === undefined) return scope === undefined ? {} : { scope };
  if (scope === 'project') throw usage('--home and --scope project exclude each other', 'Use one of the two.');
  if (args.home === '') throw usage('--home names no directory', "Give the sandbox's home directory.");
  const home = resolve(args.home);
  if (!statSync(home, { throwIfNoEntry: false })?.isDirectory())
    throw usage(`${home} is not a directory`, "Give the sandbox's home directory.");
  // Where this process keeps its own configs says nothing about the sandbox.
  const { CLAUDE_CONFIG_DIR: _claude, CODEX_HOME: _codex, ...env } = process.env;
  return { home, env, scope: 'user', project: null, sandbox: realpathSync(home) !== realpathSync(ownHome()) };
}

/** Every `--harness a,b` of a command line; citty keeps only the last of a repeated option. Throws AB-1001 for one that names nothing. */
export function harnessIds(rawArgs: readonly string[]): string[] {
  const values = rawArgs.flatMap((arg, at) => {
    if (arg === '--harness') return [rawArgs[at + 1] ?? ''];
    return arg.startsWith('--harness=') ? [arg.slice('--harness='.length)] : [];
  });
  const ids = values
    .flatMap((value) => value.split(','))
    .map((id) => id.trim())
    .filter(Boolean);
  if (values.length > 0 && ids.length === 0) throw new AgentBusError('AB-1001', '--harness names no CLI', `Known: ${KNOWN}.`);
  return [...new Set(ids)];
}

/** The named harnesses, or all that are on this machine. */
export async function chooseHarnesses(ids: readonly string[], options: InstallOptions): Promise<Harness[]> {
  if (ids.length > 0) {
    return ids.map((id) => {
      const harness = findHarness(id);
      if (harness) return harness;
      throw new AgentBusError('AB-2004', `there is no harness "${id}"`, `Known: ${KNOWN}.`);
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

/** Runs each; what failed is thrown when the others are done. `last` runs between, unless all failed. */
export async function runEach(
  jobs: readonly (() => Promise<HarnessReport>)[],
  output: { json: boolean; describe: (report: HarnessReport) => string; last?: () => Promise<{ json: object; line: string | null }> },
): Promise<void> {
  const reports: HarnessReport[] = [];
  const failures: AgentBusError[] = [];
  for (const job of jobs) {
    try {
      const report = await job();
      reports.push(report);
      if (!output.json) process.stdout.write(`${output.describe(report)}\n`);
    } catch (error) {
      if (!(error instanceof AgentBusError)) throw error;
      failures.push(error);
    }
  }
  const last = reports.length > 0 ? await output.last?.() : undefined;
  if (output.json) {
    const errors = failures.map((failure) => failure.toJSON());
    process.stdout.write(`${JSON.stringify({ harnesses: reports, errors, ...last?.json })}\n`);
  } else if (last?.line) process.stdout.write(`${last.line}\n`);
  const [first, ...others] = failures;
  if (!first) return;
  if (output.json) {
    // One document: the failures are in it already.
    process.exitCode = first.exitCode;
    return;
  }
  // With several failures each still gets its line; the first sets the exit code.
  for (const failure of others) process.stderr.write(`${failure.code} ${failure.message}\n${failure.hint}\n`);
  throw first;
}
