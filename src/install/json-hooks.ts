// The hooks of a JSON config, Claude's settings.json or Codex's hooks.json: same nesting, other rules.
import type { Memory, Planned, Wanted } from './plan.ts';
import { findOurs, isTable, planEvent } from './hook-plan.ts';
import { appendJson, readJson, removeJson, setJson, unreadable, type JsonPath } from './json.ts';
import { splice, type Draft } from './text.ts';

interface Rules {
  matcher: boolean;
  positional: boolean;
}

// The hook first: its group then stands before the waiter's.
const KINDS = ['hook', 'waiter'] as const;

function at(value: unknown, path: JsonPath): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<string | number, unknown> | undefined)?.[key], value);
}

/** Notes which of the containers on a path are not there yet: emptied again, they go. */
export function noteContainers(memory: Memory, value: unknown, path: JsonPath): void {
  for (let depth = 1; depth <= path.length; depth++) {
    const container = JSON.stringify(path.slice(0, depth));
    if (at(value, path.slice(0, depth)) === undefined && !memory.containers.includes(container)) memory.containers.push(container);
  }
}

/** Removes emptied containers from the innermost outwards; without a receipt (null) every one, else only those we made. */
export function dropEmpty(draft: Draft, path: JsonPath, containers: readonly string[] | null, file: string): Draft {
  let next = draft;
  for (let depth = path.length; depth > 0; depth--) {
    const container = path.slice(0, depth);
    const value = at(readJson(next.text, file), container);
    if (value === undefined) continue;
    if (Object.keys(value as object).length > 0 || (containers && !containers.includes(JSON.stringify(container)))) return next;
    next = splice(next, removeJson(next.text, container));
  }
  return next;
}

/** Brings the hooks of a JSON file to the wanted state; an empty `wanted` removes ours. */
export function planJsonHooks(
  draft: Draft,
  file: string,
  wanted: readonly Wanted[],
  rules: Rules,
  memory: Memory,
  removing: boolean,
): Planned {
  const root = readJson(draft.text, file) ?? {};
  if (!isTable(root)) throw unreadable(file, 'the file is not one object');
  const hooks = root['hooks'] ?? {};
  if (root['hooks'] === null || !isTable(hooks)) throw unreadable(file, '"hooks" is not an object');
  const notes: string[] = [];
  let next = draft;
  const events = new Set([...Object.keys(hooks).filter((event) => findOurs(hooks[event]).length > 0), ...wanted.map(({ event }) => event)]);
  for (const [event, kind] of [...events].flatMap((name) => KINDS.map((each) => [name, each] as const))) {
    const path = ['hooks', event];
    const groups = at(readJson(next.text, file), path) ?? [];
    if (!Array.isArray(groups)) throw unreadable(file, `"hooks.${event}" is not a list`);
    const handler = wanted.find((want) => want.event === event && want.kind === kind)?.handler ?? null;
    if (kind === 'waiter' && handler === null && findOurs(groups, kind).length === 0) continue;
    const plan = planEvent(groups, handler, rules.matcher, rules.positional, memory.inert[event] ?? [], kind);
    if (!removing) noteContainers(memory, readJson(next.text, file), path);
    for (const action of plan.actions) {
      if (action.do === 'append') next = splice(next, appendJson(next.text, path, action.value));
      else if (action.do === 'set-group') next = splice(next, setJson(next.text, [...path, action.group], action.value));
      else if (action.do === 'remove-group') next = splice(next, removeJson(next.text, [...path, action.group]));
      else if (action.do === 'set-handler')
        next = splice(next, setJson(next.text, [...path, action.group, 'hooks', action.handler], action.value));
      else next = splice(next, removeJson(next.text, [...path, action.group, 'hooks', action.handler]));
    }
    noteInert(memory, notes, event, plan.inert, handler !== null);
    if (handler === null && plan.actions.length > 0) next = dropEmpty(next, path, removing ? memory.known : null, file);
  }
  return { draft: next, notes };
}

export function noteInert(memory: Memory, notes: string[], event: string, inert: readonly number[], installed: boolean): void {
  if (installed && inert.length === 0) {
    // Our group is in place again: whatever was kept free for it is used.
    delete memory.inert[event];
    return;
  }
  if (inert.length === 0) return;
  memory.inert[event] = [...new Set([...(memory.inert[event] ?? []), ...inert])].sort((a, b) => a - b);
  notes.push(`${event}: an empty group stays in our place, since Codex trusts the groups after it by their position`);
}
