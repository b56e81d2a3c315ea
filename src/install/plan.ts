// The files that install edits, and what it wants in them. Everything here is text in, text out.
import { isDeepStrictEqual } from 'node:util';
import type { Harness } from '../core/harness.ts';
import { homePaths } from '../core/paths.ts';
import { settingsReader } from '../daemon/settings.ts';
import { hookCommand, waitCommand } from '../hook/launcher.ts';
import type { Handler } from './hook-plan.ts';
import type { Draft } from './text.ts';
import type { OwnKind } from './words.ts';

/** `codex-trust`: the user's config.toml, which holds the trust of a project's hooks. */
export type FileKind = 'claude-settings' | 'claude-mcp' | 'codex-hooks' | 'codex-config' | 'codex-trust';

export function isToml(kind: FileKind): boolean {
  return kind === 'codex-config' || kind === 'codex-trust';
}

export interface Wanted {
  event: string;
  kind: OwnKind;
  handler: Handler;
}

/** What install has to remember of a file to take itself out of it again, beside the spans. */
export interface Memory {
  /** JSON paths of the objects and lists that install made. */
  containers: string[];
  /** `containers` as the receipt has them; null when there is none, or none that knows. */
  known: readonly string[] | null;
  /** Entries of `permissions.allow` that install added. */
  allow: string[];
  /** Keys of `[hooks.state]` that install wrote. */
  trust: string[];
  /** Places left empty for us, by event. */
  inert: Record<string, number[]>;
}

export interface Planned {
  draft: Draft;
  notes: string[];
}

export interface WantedState {
  hooks: Wanted[];
  /** Null: the MCP registration is not touched. */
  mcp: { command: string; args: string[]; approved: string[] } | null;
}

/** MCP tools that need no question each time: they read, or answer what a person's agent was sent. */
export const APPROVED_TOOLS = ['inbox', 'find_agent', 'reply', 'diagnose', 'task_progress', 'task_result'];
export const ALL_TOOLS = [...APPROVED_TOOLS, 'send'];

export function emptyMemory(): Memory {
  return { containers: [], known: null, allow: [], trust: [], inert: {} };
}

/** The entries that a harness version gets, as its config spells them; a waiter's only while `<harness>.push` is on. */
export function wantedHooks({ id, install }: Harness, version: string | null, agentbusHome: string): Wanted[] {
  const { hookLauncher, waitLauncher, config } = homePaths(agentbusHome);
  const hooks = install.registrations(version).map(({ event, timeout, async }): Wanted => {
    const handler: Handler = { type: 'command', command: hookCommand(hookLauncher, id, event, install.shell), timeout };
    return { event, kind: 'hook', handler: async ? { ...handler, async: true } : handler };
  });
  const push = settingsReader(config, () => undefined)().push(id);
  const waiters = push === 'off' ? [] : (install.waiters?.(version) ?? []);
  return [
    ...hooks,
    ...waiters.map(({ event, timeout }): Wanted => {
      const command = waitCommand(waitLauncher, id);
      return { event, kind: 'waiter', handler: { type: 'command', command, timeout, asyncRewake: true, ...REWAKE } };
    }),
  ];
}

/** What Claude Code puts around the waiter's line; without them it names the whole command. */
const REWAKE = { rewakeMessage: 'Automatic notice.', rewakeSummary: 'A message arrived on AgentBus.' };

export function same(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(a, b);
}
