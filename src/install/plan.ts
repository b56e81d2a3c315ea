// The files that install edits, and what it wants in them. Everything here is text in, text out.
import { isDeepStrictEqual } from 'node:util';
import type { Harness } from '../core/harness.ts';
import { hookCommand } from '../hook/launcher.ts';
import type { Handler } from './hook-plan.ts';
import type { Draft } from './text.ts';

/** `codex-trust`: the user's config.toml, which holds the trust of a project's hooks. */
export type FileKind = 'claude-settings' | 'claude-mcp' | 'codex-hooks' | 'codex-config' | 'codex-trust';

export function isToml(kind: FileKind): boolean {
  return kind === 'codex-config' || kind === 'codex-trust';
}

export interface Wanted {
  event: string;
  handler: Handler;
}

/** What install has to remember of a file to take itself out of it again, beside the spans. */
export interface Memory {
  /** JSON paths of the objects and lists that install made. */
  containers: string[];
  /** `containers` when there is a receipt, null when there is none. */
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

/** The hooks that a harness version gets, as its config spells them. */
export function wantedHooks(harness: Harness, version: string | null, launcher: string): Wanted[] {
  return harness.install.registrations(version).map(({ event, timeout, async }) => {
    const handler: Handler = { type: 'command', command: hookCommand(launcher, harness.id, event, harness.install.shell), timeout };
    return { event, handler: async ? { ...handler, async: true } : handler };
  });
}

export function same(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(a, b);
}
