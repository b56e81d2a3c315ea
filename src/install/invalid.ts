// Entries of others that make a harness reject a hooks file, or part of it. Named for doctor, never repaired.
import { isTable } from './hook-plan.ts';
import type { FileKind } from './plan.ts';

const CODEX_KEYS = ['description', 'hooks'];

/** One line per entry that the harness cannot read. */
export function invalidEntries(kind: FileKind, config: Record<string, unknown>): string[] {
  if (kind === 'claude-mcp') return [];
  const found: string[] = [];
  if (kind === 'codex-hooks') {
    for (const key of Object.keys(config))
      if (!CODEX_KEYS.includes(key)) found.push(`"${key}": Codex rejects the whole file for a key it does not know`);
  }
  const hooks = config['hooks'];
  if (hooks === undefined) return found;
  if (!isTable(hooks)) return [...found, '"hooks" is not an object'];
  for (const [event, groups] of Object.entries(hooks)) {
    if (kind === 'codex-config' && event === 'state') continue;
    if (!Array.isArray(groups)) found.push(`hooks.${event} is not a list`);
    else for (const [at, group] of groups.entries()) found.push(...invalidGroup(kind, `hooks.${event}[${at}]`, group));
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
    if (!isTable(handler) || typeof handler['type'] !== 'string') found.push(`${name}.hooks[${at}] has no type`);
    else if (handler['type'] === 'command' && typeof handler['command'] !== 'string') found.push(`${name}.hooks[${at}] has no command`);
  }
  return found;
}
