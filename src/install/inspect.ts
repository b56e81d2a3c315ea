// What is installed, read without a lock: doctor and status show it.
import { AgentBusError, type ErrorJson } from '../core/errors.ts';
import type { Harness } from '../core/harness.ts';
import { homePaths } from '../core/paths.ts';
import { trustOf } from './codex-trust.ts';
import { detectVersion } from './detect.ts';
import { findOurs, isCurrent, isTable } from './hook-plan.ts';
import { invalidEntries } from './invalid.ts';
import { readSnapshot } from './files.ts';
import { readConfig } from './loaded.ts';
import { targetsOf, type InstallOptions, type Place, type Target } from './options.ts';
import { pluginSettings } from './plugin.ts';
import { isToml, wantedHooks, type FileKind } from './plan.ts';
import { projectPlace } from './project.ts';
import { claudeSilencers, codexSilencers, type Silencer } from './silencers.ts';
import { decodeFile } from './text.ts';
import { tomlEvents } from './toml-hooks.ts';
import type { TrustEntry } from './trust.ts';
import { ownKind, type OwnKind } from './words.ts';

export interface InstalledHook {
  event: string;
  kind: OwnKind;
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
  /** Where Claude Code has AgentBus's plugin switched on. */
  plugin: string | null;
  /** Settings that keep hooks from running. */
  silenced: Silencer[];
  /** Entries of others that the harness rejects; `disables`: the whole file with them. */
  invalid: { path: string; what: string; disables: boolean }[];
  /** Hooks stand in hooks.json and in config.toml, of which Codex warns at every start. */
  bothForms: boolean;
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
    if (isToml(target.kind)) tomlEvents(value as Record<string, unknown>, target.path);
    return { target, text, value: isTable(value) ? value : {} };
  } catch (error) {
    if (!(error instanceof AgentBusError)) throw error;
    problems.push(error.toJSON());
    return { target, text: '', value: {} };
  }
}

/** The files of a place that have hooks of ours, whoever wrote them. */
export function hookFiles(harness: Harness, place: Place): string[] {
  const reads = targetsOf(harness, place).map((target) => readTarget(target, []));
  return reads.filter((read) => hooksOf(read).length > 0).map(({ target }) => target.path);
}

/** What of ours is in a harness's configs at a place, and what keeps it from working. Changes nothing. */
export async function inspectHarness(harness: Harness, options: InstallOptions): Promise<Inspection> {
  const version = await detectVersion(harness, options.env);
  const { mcpLauncher } = homePaths(options.agentbusHome);
  const problems: ErrorJson[] = [];
  const reads = targetsOf(harness, options).map((target) => readTarget(target, problems));
  const wanted = wantedHooks(harness, version, options.agentbusHome);
  const hooks = reads.flatMap((read) =>
    hooksOf(read).map(({ event, handler }): InstalledHook => {
      const { command, timeout } = handler as { command: string; timeout?: unknown };
      const kind = ownKind(command) ?? 'hook';
      const want = wanted.find((candidate) => candidate.event === event && candidate.kind === kind)?.handler;
      const current = want !== undefined && isCurrent({ type: 'command', ...handler }, want);
      return { event, kind, path: read.target.path, command, timeout: typeof timeout === 'number' ? timeout : null, current };
    }),
  );
  const own = reads.filter(({ target }) => target.kind !== 'codex-trust');
  return {
    harness: harness.id,
    title: harness.title,
    version,
    files: own.map(({ target }) => target.path),
    hooks,
    missing: wanted
      .filter(({ event, kind }) => !hooks.some((hook) => hook.event === event && hook.kind === kind))
      .map(({ event, kind }) => (kind === 'hook' ? event : `${event} (${kind})`)),
    mcp: mcpOf(own, mcpLauncher, harness.id),
    trust: harness.install.format === 'codex' ? trustIn(reads, options) : null,
    plugin: pluginSettings(harness, options),
    silenced: silencersOf(harness, reads, options),
    invalid: own.flatMap(({ target, value }) =>
      invalidEntries(target.kind, value, version).map((entry) => ({ path: target.path, ...entry })),
    ),
    bothForms: harness.install.format === 'codex' && own.every(({ value }) => hasHooks(value)),
    problems,
  };
}

/** What of ours stands in the files of the project around the working directory; null without anything. */
export async function inspectProject(harness: Harness, options: InstallOptions): Promise<Inspection | null> {
  if (!options.project) return null;
  const place = projectPlace(harness, options);
  return hookFiles(harness, place).length > 0 || mcpEntry(harness, place) ? inspectHarness(harness, place) : null;
}

interface OwnHandler {
  event: string;
  handler: Record<string, unknown>;
}

function hooksOf({ target, value }: Read): OwnHandler[] {
  if (target.kind === 'codex-trust') return [];
  const hooks = isTable(value['hooks']) ? value['hooks'] : {};
  return Object.entries(hooks).flatMap(([event, groups]) =>
    findOurs(groups).map(({ group, handler }): OwnHandler => {
      const entry = (groups as Record<string, unknown>[])[group] as Record<string, unknown>;
      if (handler === null) return { event, handler: entry };
      return { event, handler: (entry['hooks'] as Record<string, unknown>[])[handler] as Record<string, unknown> };
    }),
  );
}

function hasHooks(config: Record<string, unknown>): boolean {
  const hooks = isTable(config['hooks']) ? config['hooks'] : {};
  return Object.entries(hooks).some(([event, groups]) => event !== 'state' && Array.isArray(groups) && groups.length > 0);
}

/** Our MCP server as it stands in a harness's config. */
export interface McpEntry {
  path: string;
  command: string | null;
  args: string[];
  env: Record<string, string>;
  enabled: boolean;
}

function entryOf(reads: readonly Read[]): McpEntry | null {
  const strings = (value: unknown): value is string => typeof value === 'string';
  for (const { target, value } of reads) {
    const servers = value[target.kind === 'codex-config' ? 'mcp_servers' : 'mcpServers'];
    const entry = (target.kind === 'codex-config' || target.kind === 'claude-mcp') && isTable(servers) ? servers['agentbus'] : undefined;
    if (!isTable(entry)) continue;
    const { command, args, env, enabled } = entry;
    return {
      path: target.path,
      command: strings(command) ? command : null,
      args: Array.isArray(args) ? args.filter(strings) : [],
      env: isTable(env) ? Object.fromEntries(Object.entries(env).filter((pair): pair is [string, string] => strings(pair[1]))) : {},
      enabled: enabled !== false,
    };
  }
  return null;
}

export function mcpEntry(harness: Harness, place: Place): McpEntry | null {
  return entryOf(targetsOf(harness, place).map((target) => readTarget(target, [])));
}

function mcpOf(reads: readonly Read[], launcher: string, id: string): Inspection['mcp'] {
  const entry = entryOf(reads);
  if (!entry) return null;
  const { path, command, args } = entry;
  return { path, command, current: command === launcher && args.length === 1 && args[0] === id };
}

function fileOf(reads: readonly Read[], kind: FileKind): { text: string; path: string } | null {
  const read = reads.find(({ target }) => target.kind === kind);
  return read ? { text: read.text, path: read.target.path } : null;
}

function trustIn(reads: readonly Read[], place: Place): TrustEntry[] {
  const [hooks, config] = [fileOf(reads, 'codex-hooks'), fileOf(reads, 'codex-config')];
  return hooks && config ? trustOf({ hooks, config, trust: fileOf(reads, 'codex-trust') ?? config }, place) : [];
}

function silencersOf(harness: Harness, reads: readonly Read[], place: Place): Silencer[] {
  if (harness.install.format === 'codex')
    return reads.flatMap(({ target, value }) => (isToml(target.kind) ? codexSilencers(target.path, value) : []));
  const [settings] = targetsOf(harness, { ...place, scope: 'user' }) as [Target];
  return claudeSilencers(settings.path, place.project ?? null);
}
