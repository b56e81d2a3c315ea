// What an install works with, and where its files are.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AgentBusError } from '../core/errors.ts';
import type { Harness } from '../core/harness.ts';
import { homePaths } from '../core/paths.ts';
import type { FileKind } from './plan.ts';

export type Env = Readonly<Record<string, string | undefined>>;

/** Where entries go: into a home's own files, or into those of one project. */
export interface Place {
  /** The user's home directory. */
  home: string;
  env: Env;
  scope?: 'user' | 'project';
  /** Root of the project around the working directory; null when that is no project of its own. */
  project?: string | null;
  /** `home` is a sandbox's, not that of the calling user. */
  sandbox?: boolean;
}

export interface InstallOptions extends Place {
  agentbusHome: string;
  /** Absolute path of Node. */
  node: string;
  /** Absolute path of dist/. */
  dist: string;
  /** An nc that speaks Unix sockets, or null. */
  nc: string | null;
  dryRun?: boolean;
  /** False: hooks only. */
  mcp?: boolean;
  /** Pre-approves the `send` tool as well. */
  approveSend?: boolean;
  /** Writes Codex's trust for our own hooks. */
  trustCodexHooks?: boolean;
}

export interface Target {
  kind: FileKind;
  path: string;
  /** Others read it too: a new one is not made private. */
  shared?: boolean;
}

/** The directory installed into where that is not the calling user's own home: a project's root or a sandbox's home. */
export function baseOf(place: Place): string | null {
  if (place.scope === 'project') return place.project ?? null;
  return place.sandbox ? place.home : null;
}

/** The config files of a harness at a place. */
export function targetsOf(harness: Harness, place: Place): Target[] {
  const { home, env, project } = place;
  const directory = harness.install.configDir(home, env);
  const isCodex = harness.install.format === 'codex';
  if (place.scope === 'project') {
    if (!project) return [];
    const shared = (kind: FileKind, name: string): Target => ({ kind, path: join(project, name), shared: true });
    // Whatever a project's hooks.json holds, the trust in it is the user's and stands in the user's config.
    if (isCodex)
      return [
        shared('codex-hooks', '.codex/hooks.json'),
        shared('codex-config', '.codex/config.toml'),
        { kind: 'codex-trust', path: join(directory, 'config.toml') },
      ];
    return [shared('claude-settings', '.claude/settings.json'), shared('claude-mcp', '.mcp.json')];
  }
  if (isCodex) {
    return [
      { kind: 'codex-hooks', path: join(directory, 'hooks.json') },
      { kind: 'codex-config', path: join(directory, 'config.toml') },
    ];
  }
  return [
    { kind: 'claude-settings', path: join(directory, 'settings.json') },
    { kind: 'claude-mcp', path: env['CLAUDE_CONFIG_DIR'] ? join(directory, '.claude.json') : join(home, '.claude.json') },
  ];
}

/** dist/ of the bundle that runs. The bundler may put this module into dist/ itself or into dist/chunks/. */
export function distDirectory(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  return here.endsWith('/chunks') ? dirname(here) : here;
}

/** Whether a path is in npx's cache, which npm clears. */
export function isTransient(dist: string): boolean {
  return `${dist}/`.includes('/_npx/');
}

/** Refuses paths that no config can hold for long, or at all. */
export function checkPaths(options: InstallOptions): void {
  const { hookLauncher } = homePaths(options.agentbusHome);
  for (const path of [hookLauncher, options.node, options.dist, options.nc ?? '']) {
    // oxlint-disable-next-line no-control-regex
    if (/[\u0000-\u001f\u007f]/.test(path)) {
      throw new AgentBusError(
        'AB-2006',
        `the path ${JSON.stringify(path)} holds a control character`,
        'Set AGENTBUS_HOME to a plain absolute path.',
      );
    }
  }
  if (isTransient(options.dist)) {
    throw new AgentBusError(
      'AB-2005',
      `${options.dist} is in npx's cache, which npm clears`,
      'Run `npm install -g @agentbus/cli`, then `agentbus install`.',
    );
  }
}
