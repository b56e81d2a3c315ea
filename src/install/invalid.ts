// Entries of others that make a harness reject a hooks file, or part of it. Named for doctor, never repaired.
import { atLeast } from '../core/version.ts';
import { isTable } from './hook-plan.ts';
import { isToml, type FileKind } from './plan.ts';

export interface InvalidEntry {
  what: string;
  /** The harness drops the whole file for it, not only the entry. */
  disables: boolean;
}

const CODEX_KEYS = ['description', 'hooks'];
const CODEX_TYPES = ['command', 'mcp_tool', 'prompt', 'agent'];
// One bad entry here makes every version of Claude Code drop the file: half a permission check would be none.
const GATES = ['PreToolUse', 'PermissionRequest'];

/** One per entry that the harness cannot read. */
export function invalidEntries(kind: FileKind, config: Record<string, unknown>, version: string | null): InvalidEntry[] {
  if (kind === 'claude-mcp' || kind === 'codex-trust') return [];
  const found: InvalidEntry[] = [];
  if (kind === 'codex-hooks') {
    for (const key of Object.keys(config))
      if (!CODEX_KEYS.includes(key)) found.push({ what: `"${key}" is a key that Codex does not know`, disables: true });
  }
  const hooks = config['hooks'];
  if (hooks === undefined) return found;
  if (!isTable(hooks)) return [...found, { what: '"hooks" is not an object', disables: true }];
  const strict = kind !== 'claude-settings' || version === null || !atLeast(version, '2.1.198');
  for (const [event, groups] of Object.entries(hooks)) {
    if (isToml(kind) && event === 'state') continue;
    const disables = strict || GATES.includes(event);
    const add = (what: string): number => found.push({ what, disables });
    if (!Array.isArray(groups)) add(`hooks.${event} is not a list`);
    else for (const [at, group] of groups.entries()) for (const what of invalidGroup(kind, `hooks.${event}[${at}]`, group)) add(what);
  }
  return found;
}

function invalidGroup(kind: FileKind, name: string, group: unknown): string[] {
  if (!isTable(group)) return [`${name} is not an object`];
  const found: string[] = [];
  if (group['matcher'] !== undefined && typeof group['matcher'] !== 'string') found.push(`${name}.matcher is not a string`);
  const handlers = group['hooks'];
  if (handlers === undefined && kind === 'claude-settings') found.push(`${name} has no "hooks" list`);
  else if (handlers !== undefined && !Array.isArray(handlers)) found.push(`${name}.hooks is not a list`);
  for (const [at, handler] of (Array.isArray(handlers) ? handlers : []).entries()) {
    const what = invalidHandler(kind, handler);
    if (what !== null) found.push(`${name}.hooks[${at}] ${what}`);
  }
  return found;
}

function invalidHandler(kind: FileKind, handler: unknown): string | null {
  if (!isTable(handler) || typeof handler['type'] !== 'string') return 'has no type';
  const { type, command, timeout } = handler;
  if (type === 'command' && typeof command !== 'string') return 'has no command';
  if (kind === 'claude-settings') return timeout !== undefined && typeof timeout !== 'number' ? 'has a timeout that is no number' : null;
  if (!CODEX_TYPES.includes(type)) return `is of the type ${JSON.stringify(type)}, which Codex does not know`;
  return timeout !== undefined && typeof timeout !== 'bigint' && !Number.isInteger(timeout)
    ? 'has a timeout that is no whole number'
    : null;
}
