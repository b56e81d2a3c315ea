// The guard behind every edit: what is not ours has to mean the same before and after it.
import { findOurs, isTable, type Place } from './hook-plan.ts';
import type { FileKind } from './plan.ts';

/** What of a config is not ours, as a value: it must be the same before and after every edit. */
export function foreignPart(value: unknown, own: { trust: readonly string[]; allow: readonly string[] }): unknown {
  const root: Record<string, unknown> = isTable(value) ? { ...value } : {};
  if (isTable(root['hooks'])) root['hooks'] = foreignHooks(root['hooks'], own.trust);
  for (const key of ['mcpServers', 'mcp_servers']) if (isTable(root[key])) root[key] = without(root[key], ['agentbus']);
  const permissions = root['permissions'];
  if (isTable(permissions)) {
    const allow = permissions['allow'];
    root['permissions'] = pruned({
      ...permissions,
      allow: Array.isArray(allow) ? allow.filter((rule) => !own.allow.includes(rule as string)) : allow,
    });
  }
  return pruned(root);
}

/** Whether a config of a kind holds entries of ours, whoever wrote them. */
export function holdsOurs(kind: FileKind, value: unknown): boolean {
  const root = isTable(value) ? value : {};
  const hooks = kind !== 'claude-mcp' && isTable(root['hooks']) ? Object.values(root['hooks']) : [];
  const servers = kind === 'claude-mcp' ? root['mcpServers'] : kind === 'codex-config' ? root['mcp_servers'] : undefined;
  return hooks.some((groups) => findOurs(groups).length > 0) || (isTable(servers) && Object.hasOwn(servers, 'agentbus'));
}

function foreignHooks(hooks: Record<string, unknown>, trust: readonly string[]): Record<string, unknown> {
  const rest: Record<string, unknown> = {};
  for (const [event, groups] of Object.entries(hooks)) {
    if (event === 'state' && isTable(groups)) rest[event] = without(groups, trust);
    else if (Array.isArray(groups))
      rest[event] = groups
        .map((group, at) =>
          foreignGroup(
            group,
            findOurs(groups).filter((place) => place.group === at),
          ),
        )
        .filter((group) => group !== null);
    else rest[event] = groups;
  }
  return pruned(rest);
}

function foreignGroup(group: unknown, ours: readonly Place[]): unknown {
  if (!isTable(group) || ours.some((place) => place.sole)) return isTable(group) ? null : group;
  const handlers = group['hooks'];
  if (Object.keys(group).every((key) => key === 'hooks') && (!Array.isArray(handlers) || handlers.length === 0)) return null;
  return Array.isArray(handlers) ? { ...group, hooks: handlers.filter((_, at) => !ours.some((place) => place.handler === at)) } : group;
}

function without(table: Record<string, unknown>, keys: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(table).filter(([key]) => !keys.includes(key)));
}

function pruned(table: Record<string, unknown>): Record<string, unknown> {
  const empty = (value: unknown): boolean =>
    value === undefined || ((Array.isArray(value) || isTable(value)) && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(table).filter(([, value]) => !empty(value)));
}
