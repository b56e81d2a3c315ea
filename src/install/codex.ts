// Codex: hooks where the user has theirs already (both places at once is a warning at every start),
// the MCP server and its approved tools in config.toml.
import { isTable, findOurs } from './hook-plan.ts';
import { readJson, unreadable } from './json.ts';
import { planJsonHooks } from './json-hooks.ts';
import { same, type Memory, type Planned, type WantedState } from './plan.ts';
import { lineEnding, splice, type Draft } from './text.ts';
import { readToml, setToml } from './toml.ts';
import { planTomlHooks, removeAll, tomlEvents } from './toml-hooks.ts';
import type { TrustEntry } from './trust.ts';

const RULES = { matcher: false, positional: true };
const SERVER = ['mcp_servers', 'agentbus'];

export type Representation = 'hooks.json' | 'config.toml';

export interface CodexFiles {
  hooks: Draft;
  hooksFile: string;
  config: Draft;
  configFile: string;
}

/** The events of hooks.json; an absent or empty file has none. */
export function jsonEvents(text: string, file: string): Record<string, unknown> {
  const root = readJson(text, file);
  const hooks = isTable(root) ? root['hooks'] : undefined;
  return isTable(hooks) ? hooks : {};
}

/** Where the hooks go: where ours are, else where the user's are, else hooks.json. */
export function chooseRepresentation(files: CodexFiles, memory: { hooks: Memory; config: Memory }): Representation {
  const json = jsonEvents(files.hooks.text, files.hooksFile);
  const toml = tomlEvents(readToml(files.config.text, files.configFile), files.configFile);
  const ours = (hooks: Record<string, unknown>, own: Memory): boolean =>
    Object.keys(own.inert).length > 0 || Object.values(hooks).some((groups) => findOurs(groups).length > 0);
  const some = (hooks: Record<string, unknown>): boolean =>
    Object.values(hooks).some((groups) => !Array.isArray(groups) || groups.length > 0);
  if (ours(json, memory.hooks)) return 'hooks.json';
  if (ours(toml, memory.config)) return 'config.toml';
  return !some(json) && some(toml) ? 'config.toml' : 'hooks.json';
}

export function planCodexHooks(
  files: CodexFiles,
  wanted: WantedState,
  memory: { hooks: Memory; config: Memory },
): { hooks: Draft; config: Draft; notes: string[]; where: Representation } {
  const where = chooseRepresentation(files, memory);
  const json = planJsonHooks(files.hooks, files.hooksFile, where === 'hooks.json' ? wanted.hooks : [], RULES, memory.hooks, false);
  const eol = lineEnding(files.config.text);
  const toml = planTomlHooks(files.config, files.configFile, where === 'config.toml' ? wanted.hooks : [], memory.config, eol);
  return { hooks: json.draft, config: toml.draft, notes: [...json.notes, ...toml.notes], where };
}

export function planCodexMcp(draft: Draft, file: string, wanted: WantedState): Draft {
  if (!wanted.mcp) return draft;
  const values: [string[], unknown][] = [
    [[...SERVER, 'command'], wanted.mcp.command],
    [[...SERVER, 'args'], wanted.mcp.args],
    ...wanted.mcp.approved.map((tool): [string[], unknown] => [[...SERVER, 'tools', tool, 'approval_mode'], 'approve']),
  ];
  let next = draft;
  for (const [path, value] of values) {
    const { found, blocked } = lookUp(readToml(next.text, file), path);
    if (blocked) throw unreadable(file, `"${blocked}" is not a table`);
    if (!same(found, value)) next = splice(next, setToml(next.text, path, value));
  }
  return next;
}

function lookUp(config: unknown, path: readonly string[]): { found?: unknown; blocked?: string } {
  let value = config;
  for (const [at, key] of path.entries()) {
    if (!isTable(value)) return { blocked: path.slice(0, at).join('.') };
    if (!Object.hasOwn(value, key)) return {};
    value = value[key];
  }
  return { found: value };
}

/** Writes the trust of our own handlers; one that the user disabled stays so. */
export function planCodexTrust(draft: Draft, file: string, entries: readonly TrustEntry[], memory: Memory): Draft {
  let next = draft;
  for (const entry of entries) {
    if (entry.status === 'trusted' || entry.status === 'disabled') continue;
    next = splice(next, setToml(next.text, ['hooks', 'state', entry.key, 'trusted_hash'], entry.hash));
    if (!memory.trust.includes(entry.key)) memory.trust.push(entry.key);
  }
  readToml(next.text, file);
  return next;
}

export function unplanCodexHooks(draft: Draft, file: string, memory: Memory): Planned {
  return planJsonHooks(draft, file, [], RULES, memory, true);
}

export function unplanCodexTrust(draft: Draft, _file: string, memory: Memory): Planned {
  let next = draft;
  for (const key of memory.trust) next = removeAll(next, ['hooks', 'state', key]);
  return { draft: next, notes: [] };
}

export function unplanCodexConfig(draft: Draft, file: string, memory: Memory): Planned {
  const planned = planTomlHooks(draft, file, [], memory, lineEnding(draft.text));
  const { draft: next } = unplanCodexTrust(removeAll(planned.draft, SERVER), file, memory);
  return { draft: next, notes: planned.notes };
}
