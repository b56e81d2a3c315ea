// Codex runs a hook only while `[hooks.state]` holds the hash of its definition under its place in the file.
// Both were checked against Codex 0.171.0's own `hooks/list`.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { realOf } from './files.ts';
import { findOurs, isTable } from './hook-plan.ts';

export type TrustStatus = 'trusted' | 'untrusted' | 'modified' | 'disabled';

export interface TrustEntry {
  event: string;
  key: string;
  hash: string;
  status: TrustStatus;
}

// Matchers mean nothing to these, and stay out of the hash.
const WITHOUT_MATCHER = new Set(['UserPromptSubmit', 'Stop', 'Interrupt', 'PreModelRequest', 'PostModelRequest']);
const CLAMPED = new Set(['SessionEnd', 'Interrupt']);

function snake(event: string): string {
  return event.replaceAll(/(?!^)[A-Z]/g, '_$&').toLowerCase();
}

function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (!isTable(value)) return value;
  const keys = Object.keys(value).filter((key) => value[key] !== undefined && value[key] !== null);
  return Object.fromEntries(keys.sort().map((key) => [key, canonical(value[key])]));
}

function effectiveTimeout(event: string, timeout: unknown): number {
  const set = typeof timeout === 'number' ? Math.max(1, timeout) : CLAMPED.has(event) ? 1 : 600;
  return CLAMPED.has(event) ? Math.min(3, set) : set;
}

/** What Codex calls a command hook's `currentHash`. */
export function codexHookHash(event: string, handler: Readonly<Record<string, unknown>>, matcher?: string): string {
  const { type, command, statusMessage, additionalContextLimit, async } = handler;
  const hook = {
    type,
    command,
    statusMessage,
    additionalContextLimit,
    timeout: effectiveTimeout(event, handler['timeout']),
    async: async === true,
  };
  const identity = { event_name: snake(event), matcher: WITHOUT_MATCHER.has(event) ? undefined : matcher, hooks: [hook] };
  return `sha256:${createHash('sha256')
    .update(JSON.stringify(canonical(identity)))
    .digest('hex')}`;
}

/** The directory as trust keys spell it: Codex resolves CODEX_HOME, but not the default `~/.codex`. */
export function codexKeyDir(home: string, env: Readonly<Record<string, string | undefined>>): string {
  return env['CODEX_HOME'] ? realOf(env['CODEX_HOME']) : join(home, '.codex');
}

/** The trust of each handler of ours. `source` is the hooks file as trust keys spell it, `state` the parsed `[hooks.state]`. */
export function codexTrust(source: string, hooks: Readonly<Record<string, unknown>>, state: unknown): TrustEntry[] {
  const entries: TrustEntry[] = [];
  for (const [event, groups] of Object.entries(hooks)) {
    for (const place of findOurs(groups)) {
      if (place.handler === null) continue;
      const group = (groups as Record<string, unknown>[])[place.group] as Record<string, unknown>;
      const handler = (group['hooks'] as Record<string, unknown>[])[place.handler] as Record<string, unknown>;
      const matcher = typeof group['matcher'] === 'string' ? group['matcher'] : undefined;
      const key = `${source}:${snake(event)}:${place.group}:${place.handler}`;
      const hash = codexHookHash(event, handler, matcher);
      entries.push({ event, key, hash, status: statusOf(isTable(state) ? state[key] : undefined, hash) });
    }
  }
  return entries;
}

function statusOf(known: unknown, hash: string): TrustStatus {
  if (!isTable(known)) return 'untrusted';
  if (known['enabled'] === false) return 'disabled';
  if (known['trusted_hash'] === undefined) return 'untrusted';
  return known['trusted_hash'] === hash ? 'trusted' : 'modified';
}
