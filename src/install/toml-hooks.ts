// Codex's hooks in config.toml, in whichever of TOML's spellings the user has them: arrays of tables,
// lists under [hooks], or one inline table.
import type { AST } from 'toml-eslint-parser';
import type { Memory, Planned, Wanted } from './plan.ts';
import { findOurs, isTable, planEvent, type Action, type Group } from './hook-plan.ts';
import { noteContainers, noteInert } from './json-hooks.ts';
import { unreadable } from './json.ts';
import { splice, type Draft, type Edit } from './text.ts';
import {
  appendBlock,
  appendInline,
  isAt,
  linesOf,
  readToml,
  removeToml,
  sitesOf,
  tomlKey,
  tomlValue,
  type Site,
  type TomlPath,
} from './toml.ts';

function groupLines(event: string, group: Group): string[] {
  const header = `[[${tomlKey(['hooks', event])}]]`;
  const matcher = group.matcher === undefined ? [] : [`matcher = ${tomlValue(group.matcher)}`];
  if (group.hooks.length === 0) return [header, ...matcher, 'hooks = []'];
  const handlers = group.hooks.flatMap((handler) => [
    `[[${tomlKey(['hooks', event, 'hooks'])}]]`,
    ...Object.entries(handler).map(([key, value]) => `${tomlKey([key])} = ${tomlValue(value)}`),
  ]);
  return [header, ...matcher, ...handlers];
}

function siteAt(sites: readonly Site[], path: TomlPath): Site | undefined {
  return sites.find((site) => isAt(site.path, path));
}

function appendGroup(text: string, event: string, group: Group): Edit {
  const sites = sitesOf(text);
  const list = siteAt(sites, ['hooks', event]);
  if (list?.kind === 'key') return appendInline(text, (list.node as AST.TOMLKeyValue).value as AST.TOMLArray, tomlValue(group));
  const hooks = siteAt(sites, ['hooks']);
  if (hooks?.kind === 'key')
    return appendInline(text, (hooks.node as AST.TOMLKeyValue).value as AST.TOMLInlineTable, `${tomlKey([event])} = ${tomlValue([group])}`);
  return appendBlock(text, groupLines(event, group));
}

/** Removes what is at a path and under it, splice by splice. */
export function removeAll(draft: Draft, path: TomlPath): Draft {
  let next = draft;
  for (;;) {
    const removed = removeToml(next.text, path);
    if (!removed) return next;
    next = splice(next, removed.edit);
    if (removed.whole) return next;
  }
}

/** Puts a group or handler in the place of another. */
function replaceAt(draft: Draft, path: TomlPath, inline: string, lines: readonly string[], eol: string): Draft {
  const site = siteAt(sitesOf(draft.text), path);
  if (!site) return draft;
  if (site.kind === 'element') return splice(draft, { start: site.node.range[0], end: site.node.range[1], text: inline });
  let next = draft;
  // Tables under it first; they stand behind it.
  for (;;) {
    const under = sitesOf(next.text).findLast(
      (other) => other.kind === 'table' && other.path.length > path.length && path.every((part, at) => other.path[at] === part),
    );
    if (!under) break;
    const own = linesOf(next.text, under.node as AST.TOMLTable);
    const before = /\r?\n$/.exec(next.text.slice(0, own.start))?.[0].length ?? 0;
    next = splice(next, { start: own.start - before, end: own.end, text: '' });
  }
  const table = siteAt(sitesOf(next.text), path) as Site;
  const { start, end } = linesOf(next.text, table.node as AST.TOMLTable);
  return splice(next, { start, end, text: lines.join(eol) });
}

function act(draft: Draft, event: string, action: Action, eol: string): Draft {
  if (action.do === 'append') return splice(draft, appendGroup(draft.text, event, action.value));
  const group = ['hooks', event, action.group];
  if (action.do === 'remove-group') return removeAll(draft, group);
  if (action.do === 'set-group') return replaceAt(draft, group, tomlValue(action.value), groupLines(event, action.value), eol);
  const handler = [...group, 'hooks', action.handler];
  if (action.do === 'remove-handler') return removeAll(draft, handler);
  const lines = groupLines(event, { hooks: [action.value] }).slice(1);
  return replaceAt(draft, handler, tomlValue(action.value), lines, eol);
}

/** Tables are gone with their last group; a list stays, and goes if install made it. Without a receipt (null) every emptied one goes. */
function dropEmptyList(draft: Draft, file: string, event: string, containers: readonly string[] | null): Draft {
  const path = ['hooks', event];
  const groups = tomlEvents(readToml(draft.text, file), file)[event];
  const isLeft = Array.isArray(groups) && groups.length === 0;
  return isLeft && (containers === null || containers.includes(JSON.stringify(path))) ? removeAll(draft, path) : draft;
}

/** The events that a parsed config.toml has hooks for. */
export function tomlEvents(config: Record<string, unknown>, file: string): Record<string, unknown> {
  const hooks = config['hooks'] ?? {};
  if (!isTable(hooks)) throw unreadable(file, '"hooks" is not a table');
  return Object.fromEntries(Object.entries(hooks).filter(([event]) => event !== 'state'));
}

/** Brings the hooks of a config.toml to the wanted state; an empty `wanted` removes ours. */
export function planTomlHooks(draft: Draft, file: string, wanted: readonly Wanted[], memory: Memory, eol: string): Planned {
  const hooks = tomlEvents(readToml(draft.text, file), file);
  const notes: string[] = [];
  let next = draft;
  const events = new Set([...Object.keys(hooks).filter((event) => findOurs(hooks[event]).length > 0), ...wanted.map(({ event }) => event)]);
  for (const event of events) {
    const groups = hooks[event] ?? [];
    if (!Array.isArray(groups)) throw unreadable(file, `"hooks.${event}" is not a list`);
    const handler = wanted.find((want) => want.event === event)?.handler ?? null;
    const plan = planEvent(groups, handler, false, true, memory.inert[event] ?? []);
    if (handler) noteContainers(memory, { hooks }, ['hooks', event]);
    for (const action of plan.actions) next = act(next, event, action, eol);
    noteInert(memory, notes, event, plan.inert, handler !== null);
    if (handler === null && plan.actions.length > 0) next = dropEmptyList(next, file, event, memory.known);
  }
  return { draft: next, notes };
}
