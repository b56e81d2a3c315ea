// What has to happen to one event's groups, as decisions on parsed values: JSON and TOML carry them out.
// In Codex a group's place is part of its trust, so there nothing may move.
import { isDeepStrictEqual } from 'node:util';
import { ownKind, type OwnKind } from './words.ts';

export interface Handler {
  type: 'command';
  command: string;
  timeout: number;
  async?: true;
  /** Claude Code: runs in the background, and wakes the session when it ends with 2. */
  asyncRewake?: true;
  rewakeMessage?: string;
  rewakeSummary?: string;
}

export interface Group {
  matcher?: string;
  hooks: Handler[];
}

/** Where an entry of ours is. `handler` is null for a handler that stands where a group should. */
export interface Place {
  group: number;
  handler: number | null;
  /** Nothing else is in the group. */
  sole: boolean;
}

export type Action =
  | { do: 'set-group'; group: number; value: Group }
  | { do: 'set-handler'; group: number; handler: number; value: Handler }
  | { do: 'remove-group'; group: number }
  | { do: 'remove-handler'; group: number; handler: number }
  | { do: 'append'; value: Group };

export interface EventPlan {
  actions: Action[];
  /** Places that were emptied but kept, so that the groups after them keep theirs. */
  inert: number[];
}

type Value = Record<string, unknown>;

export function isTable(value: unknown): value is Value {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Our entries of one kind, or all of them. */
export function findOurs(groups: unknown, kind: OwnKind | null = null): Place[] {
  const places: Place[] = [];
  const isOurs = (handler: Value): boolean => {
    const own = ownKind(handler['command']);
    return own !== null && (kind === null || own === kind);
  };
  for (const [group, value] of (Array.isArray(groups) ? groups : []).entries()) {
    if (!isTable(value)) continue;
    if (isOurs(value)) places.push({ group, handler: null, sole: true });
    const handlers = Array.isArray(value['hooks']) ? (value['hooks'] as unknown[]) : [];
    const ours = handlers.flatMap((handler, at) => (isTable(handler) && isOurs(handler) ? [at] : []));
    // In a group of nothing but ours, the first stands for the group.
    for (const handler of ours) places.push({ group, handler, sole: ours.length === handlers.length && handler === 0 });
  }
  return places;
}

/** A group that runs nothing. */
export function isInert(group: unknown): boolean {
  return (
    isTable(group) &&
    Object.keys(group).every((key) => key === 'hooks') &&
    (group['hooks'] === undefined || isDeepStrictEqual(group['hooks'], []))
  );
}

function matchesAll(group: unknown): boolean {
  const matcher = isTable(group) ? group['matcher'] : undefined;
  return matcher === undefined || matcher === '' || matcher === '*';
}

/** Whether an entry is what install would write; what else stands in it is a person's. */
export function isCurrent(handler: unknown, wanted: Handler): boolean {
  if (!isTable(handler)) return false;
  const keys = ['type', 'command', 'timeout', 'async', 'asyncRewake', 'rewakeMessage', 'rewakeSummary'] as const;
  return keys.every((key) => (handler[key] ?? false) === (wanted[key] ?? false));
}

/**
 * Makes `wanted` the one entry of ours of its kind for an event (null: none). `positional`: groups keep their places.
 * `inert` are the places that an earlier uninstall left empty for us.
 */
export function planEvent(
  groups: readonly unknown[],
  wanted: Handler | null,
  matcher: boolean,
  positional: boolean,
  inert: readonly number[],
  kind: OwnKind = 'hook',
): EventPlan {
  const plan: EventPlan = { actions: [], inert: [] };
  const places = findOurs(groups, kind);
  const keeper = wanted && places.find((place) => place.sole || (place.handler !== null && matchesAll(groups[place.group])));
  let length = groups.length;
  const drop = (place: Place): void => {
    if (place.handler !== null && !place.sole) plan.actions.push({ do: 'remove-handler', group: place.group, handler: place.handler });
    else if (positional && place.group < length - 1) {
      plan.inert.push(place.group);
      plan.actions.push({ do: 'set-group', group: place.group, value: { hooks: [] } });
    } else {
      length -= 1;
      plan.actions.push({ do: 'remove-group', group: place.group });
    }
  };
  // From the last to the first, so that indexes stay right. What is dropped stands behind the keeper, or leaves its group in place.
  for (const place of places.toReversed()) if (place !== keeper) drop(place);
  if (wanted) {
    const value: Group = matcher ? { matcher: '', hooks: [wanted] } : { hooks: [wanted] };
    if (keeper) {
      const group = groups[keeper.group] as Value;
      const handler = keeper.handler === null ? null : (group['hooks'] as unknown[])[keeper.handler];
      const shape = keeper.handler !== null && (!keeper.sole || (matchesAll(group) && (matcher || group['matcher'] === undefined)));
      if (keeper.sole && !(shape && isCurrent(handler, wanted))) plan.actions.push({ do: 'set-group', group: keeper.group, value });
      else if (!isCurrent(handler, wanted))
        plan.actions.push({ do: 'set-handler', group: keeper.group, handler: keeper.handler as number, value: wanted });
    } else {
      const slot = inert.find((at) => isInert(groups[at]));
      plan.actions.push(slot === undefined ? { do: 'append', value } : { do: 'set-group', group: slot, value });
    }
  }
  return plan;
}
