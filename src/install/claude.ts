// Claude Code: hooks and pre-approved tools in settings.json, the MCP server in .claude.json, in a project in .mcp.json.
import { ALL_TOOLS, same, type Memory, type Planned, type Wanted, type WantedState } from './plan.ts';
import { isTable } from './hook-plan.ts';
import { appendJson, readJson, removeJson, setJson, unreadable } from './json.ts';
import { dropEmpty, noteContainers, planJsonHooks } from './json-hooks.ts';
import { splice, type Draft } from './text.ts';

// The {matcher, hooks} shape is the one that every version of Claude Code reads.
const RULES = { matcher: true, positional: false };
const ALLOW = ['permissions', 'allow'];
const SERVER = ['mcpServers', 'agentbus'];

export function permissionOf(tool: string): string {
  return `mcp__agentbus__${tool}`;
}

function allowList(draft: Draft, file: string): unknown[] {
  const root = readJson(draft.text, file);
  const permissions = (isTable(root) ? root['permissions'] : undefined) ?? {};
  if (!isTable(permissions)) throw unreadable(file, '"permissions" is not an object');
  const allow = permissions['allow'] ?? [];
  if (!Array.isArray(allow)) throw unreadable(file, '"permissions.allow" is not a list');
  return allow;
}

export function planClaudeSettings(draft: Draft, file: string, wanted: WantedState, memory: Memory): Planned {
  const planned = planJsonHooks(draft, file, wanted.hooks, RULES, memory, false);
  let next = planned.draft;
  for (const tool of wanted.mcp?.approved ?? []) {
    if (allowList(next, file).includes(permissionOf(tool))) continue;
    noteContainers(memory, readJson(next.text, file), ALLOW);
    memory.allow.push(permissionOf(tool));
    next = splice(next, appendJson(next.text, ALLOW, permissionOf(tool)));
  }
  return { draft: next, notes: planned.notes };
}

export function unplanClaudeSettings(draft: Draft, file: string, memory: Memory): Planned {
  const none: Wanted[] = [];
  const planned = planJsonHooks(draft, file, none, RULES, memory, true);
  const ours = memory.known ? memory.allow : ALL_TOOLS.map(permissionOf);
  memory.allow = ours;
  let next = planned.draft;
  for (let at = allowList(next, file).length - 1; at >= 0; at--) {
    if (ours.includes(allowList(next, file)[at] as string)) next = splice(next, removeJson(next.text, [...ALLOW, at]));
  }
  if (next !== planned.draft) next = dropEmpty(next, ALLOW, memory.known, file);
  return { draft: next, notes: planned.notes };
}

function server(draft: Draft, file: string): { root: unknown; entry: unknown } {
  const root = readJson(draft.text, file) ?? {};
  if (!isTable(root)) throw unreadable(file, 'the file is not one object');
  const servers = root['mcpServers'] ?? {};
  if (!isTable(servers)) throw unreadable(file, '"mcpServers" is not an object');
  return { root, entry: servers['agentbus'] };
}

/** The entry is ours by its name; keys that a person added to it (`env`, `alwaysLoad`) stay. */
export function planClaudeMcp(draft: Draft, file: string, wanted: WantedState, memory: Memory): Planned {
  if (!wanted.mcp) return { draft, notes: [] };
  const { root, entry } = server(draft, file);
  const values = { type: 'stdio', command: wanted.mcp.command, args: wanted.mcp.args };
  let next = draft;
  if (!isTable(entry)) {
    noteContainers(memory, root, ['mcpServers']);
    return { draft: splice(next, setJson(next.text, SERVER, values)), notes: [] };
  }
  for (const [key, value] of Object.entries(values)) {
    if (!same(entry[key], value)) next = splice(next, setJson(next.text, [...SERVER, key], value));
  }
  return { draft: next, notes: [] };
}

export function unplanClaudeMcp(draft: Draft, file: string, memory: Memory): Planned {
  if (server(draft, file).entry === undefined) return { draft, notes: [] };
  const next = splice(draft, removeJson(draft.text, SERVER));
  return { draft: dropEmpty(next, ['mcpServers'], memory.known, file), notes: [] };
}
