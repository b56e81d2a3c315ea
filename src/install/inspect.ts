// What is installed, read without a lock: doctor and status show it.
import { readFileSync } from 'node:fs';
import { AgentBusError, type ErrorJson } from '../core/errors.ts';
import type { Harness } from '../core/harness.ts';
import { homePaths } from '../core/paths.ts';
import { trustOf } from './codex-trust.ts';
import { detectVersion } from './detect.ts';
import { findOurs, isTable } from './hook-plan.ts';
import { invalidEntries } from './invalid.ts';
import { readSnapshot } from './files.ts';
import { readConfig } from './loaded.ts';
import { targetsOf, type InstallOptions, type Target } from './options.ts';
import { wantedHooks } from './plan.ts';
import { decodeFile } from './text.ts';
import { tomlEvents } from './toml-hooks.ts';
import type { TrustEntry } from './trust.ts';

const MANAGED_CLAUDE = '/etc/claude-code/managed-settings.json';

export interface InstalledHook {
  event: string;
  path: string;
  /** The command as it stands in the config; doctor runs it. */
  command: string;
  timeout: number | null;
  /** It is what this version of install would write. */
  current: boolean;
}

export interface Inspection {
  harness: string;
  title: string;
  version: string | null;
  files: string[];
  hooks: InstalledHook[];
  /** Events that this version of the harness should have, and has not. */
  missing: string[];
  mcp: { path: string; command: string | null; current: boolean } | null;
  trust: TrustEntry[] | null;
  /** Settings that keep hooks from running. */
  silenced: { path: string; setting: string }[];
  /** Entries of others that the harness rejects, some of them with the whole file. */
  invalid: { path: string; what: string }[];
  /** Config files that cannot be read. */
  problems: ErrorJson[];
}

interface Read {
  target: Target;
  text: string;
  value: Record<string, unknown>;
}

function readTarget(target: Target, problems: ErrorJson[]): Read {
  try {
    const { bytes } = readSnapshot(target.path);
    const text = bytes ? decodeFile(bytes, target.path).text : '';
    const value = readConfig(target, text);
    if (target.kind === 'codex-config') tomlEvents(value as Record<string, unknown>, target.path);
    return { target, text, value: isTable(value) ? value : {} };
  } catch (error) {
    if (!(error instanceof AgentBusError)) throw error;
    problems.push(error.toJSON());
    return { target, text: '', value: {} };
  }
}

/** What of ours is in a harness's user-level configs, and what keeps it from working. Changes nothing. */
export async function inspectHarness(harness: Harness, options: InstallOptions): Promise<Inspection> {
  const version = await detectVersion(harness, options.env);
  const { hookLauncher, mcpLauncher } = homePaths(options.agentbusHome);
  const problems: ErrorJson[] = [];
  const reads = targetsOf(harness, options.home, options.env).map((target) => readTarget(target, problems));
  const wanted = wantedHooks(harness, version, hookLauncher);
  const hooks = reads.flatMap(({ target, value }) =>
    handlersOf(value).map(({ event, handler }): InstalledHook => {
      const want = wanted.find((candidate) => candidate.event === event)?.handler;
      const { command, timeout } = handler as { command: string; timeout?: unknown };
      const current =
        want !== undefined && command === want.command && timeout === want.timeout && (handler['async'] ?? false) === (want.async ?? false);
      return { event, path: target.path, command, timeout: typeof timeout === 'number' ? timeout : null, current };
    }),
  );
  const [hooksFile, configFile] = reads as [Read, Read];
  const file = ({ target, text }: Read): { text: string; path: string } => ({ text, path: target.path });
  return {
    harness: harness.id,
    title: harness.title,
    version,
    files: reads.map(({ target }) => target.path),
    hooks,
    missing: wanted.map(({ event }) => event).filter((event) => !hooks.some((hook) => hook.event === event)),
    mcp: mcpOf(reads, mcpLauncher, harness.id),
    trust: harness.install.format === 'codex' ? trustOf(file(hooksFile), file(configFile), options.home, options.env) : null,
    silenced: [...reads.flatMap(silencedBy), ...(harness.install.format === 'claude' ? managed() : [])],
    invalid: reads.flatMap(({ target, value }) => invalidEntries(target.kind, value).map((what) => ({ path: target.path, what }))),
    problems,
  };
}

function handlersOf(config: Record<string, unknown>): { event: string; handler: Record<string, unknown> }[] {
  const hooks = isTable(config['hooks']) ? config['hooks'] : {};
  return Object.entries(hooks).flatMap(([event, groups]) =>
    findOurs(groups).map(({ group, handler }) => {
      const entry = (groups as Record<string, unknown>[])[group] as Record<string, unknown>;
      return {
        event,
        handler: handler === null ? entry : ((entry['hooks'] as Record<string, unknown>[])[handler] as Record<string, unknown>),
      };
    }),
  );
}

function mcpOf(reads: readonly Read[], launcher: string, id: string): Inspection['mcp'] {
  for (const { target, value } of reads) {
    const servers = value[target.kind === 'codex-config' ? 'mcp_servers' : 'mcpServers'];
    const entry = (target.kind === 'codex-config' || target.kind === 'claude-mcp') && isTable(servers) ? servers['agentbus'] : undefined;
    if (!isTable(entry)) continue;
    const { command, args } = entry;
    const current = command === launcher && Array.isArray(args) && args.length === 1 && args[0] === id;
    return { path: target.path, command: typeof command === 'string' ? command : null, current };
  }
  return null;
}

function silencedBy({ target, value }: Read): { path: string; setting: string }[] {
  const found: string[] = [];
  if (target.kind === 'claude-settings' && value['disableAllHooks'] === true) found.push('disableAllHooks');
  const features = value['features'];
  if (target.kind === 'codex-config' && isTable(features)) {
    for (const name of ['hooks', 'codex_hooks']) if (features[name] === false) found.push(`[features] ${name} = false`);
  }
  return found.map((setting) => ({ path: target.path, setting }));
}

function managed(): { path: string; setting: string }[] {
  try {
    const settings: unknown = JSON.parse(readFileSync(MANAGED_CLAUDE, 'utf8'));
    const names = ['allowManagedHooksOnly', 'disableAllHooks'].filter((name) => isTable(settings) && settings[name] === true);
    return names.map((setting) => ({ path: MANAGED_CLAUDE, setting }));
  } catch {
    return [];
  }
}
