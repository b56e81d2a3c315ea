// What an install works with, and where its files are.
import { join } from 'node:path';
import { AgentBusError } from '../core/errors.ts';
import type { Harness } from '../core/harness.ts';
import { homePaths } from '../core/paths.ts';
import type { FileKind } from './plan.ts';

export type Env = Readonly<Record<string, string | undefined>>;

export interface InstallOptions {
  /** The user's home directory. */
  home: string;
  env: Env;
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
}

/** The config files of a harness at user scope. */
export function targetsOf(harness: Harness, home: string, env: Env): Target[] {
  const directory = harness.install.configDir(home, env);
  if (harness.install.format === 'codex') {
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
  if (`${options.dist}/`.includes('/_npx/')) {
    throw new AgentBusError(
      'AB-2005',
      `${options.dist} is in npx's cache, which npm clears`,
      'Run `npm install -g @agentbus/cli`, then `agentbus install`.',
    );
  }
}
