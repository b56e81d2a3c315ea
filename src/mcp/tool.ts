import { newId } from '../core/ids.ts';
import { PRIORITIES, type Priority } from '../core/envelope.ts';
import { AgentBusError } from '../core/errors.ts';
import { LIMITS } from '../core/limits.ts';
import { wellFormed } from '../core/unicode.ts';
import type { Caller } from '../daemon/callers.ts';

/** What a tool needs: the daemon, and who calls. */
export interface ToolContext {
  ask<T>(path: string, body: unknown): Promise<T>;
  caller(): Caller;
}

export type Args = Readonly<Record<string, unknown>>;

export interface Tool {
  name: string;
  description: string;
  inputSchema: { type: 'object'; properties: Record<string, object>; required?: string[] };
  annotations: { readOnlyHint: boolean; destructiveHint: boolean; openWorldHint: boolean };
  run(context: ToolContext, args: Args): Promise<string>;
}

export const WRITES = { readOnlyHint: false, destructiveHint: false, openWorldHint: false } as const;
export const READS = { readOnlyHint: true, destructiveHint: false, openWorldHint: false } as const;

/** An id made before the call: a call that is repeated after a restart of the daemon sends nothing twice. */
export function messageId(): string {
  return newId('msg');
}

/** Throws AB-7001 when it is missing. */
export function need(args: Args, name: string): string {
  const value = optional(args, name);
  if (value !== undefined) return value;
  throw new AgentBusError('AB-7001', `${name} is missing`, `give ${name} as text`);
}

/** A text, also where a model wrote a number; undefined for none. Throws AB-7001 for a list or an object. */
export function optional(args: Args, name: string): string | undefined {
  const value = args[name];
  if (typeof value === 'string') return value === '' ? undefined : wellFormed(value);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (value === undefined || value === null) return undefined;
  throw new AgentBusError('AB-7001', `${name} is no text`, `give ${name} as text`);
}

/** One of a few words, in whatever case; undefined for none. Throws AB-7001 for any other. */
export function oneOf<T extends string>(args: Args, name: string, words: readonly T[]): T | undefined {
  const given = optional(args, name)?.toLowerCase();
  const word = words.find((known) => known === given);
  if (given === undefined || word !== undefined) return word;
  throw new AgentBusError('AB-7001', `${name}: no such word: ${given.slice(0, 40)}`, `it is one of ${words.join(', ')}`);
}

export function priorityOf(args: Args): Priority | undefined {
  return oneOf(args, 'priority', PRIORITIES);
}

/** A number that a model may write as text, negative or as a billion; undefined for none at all. */
export function number(value: unknown, least: number, most: number): number | undefined {
  const given = typeof value === 'string' && value !== '' ? Number(value) : value;
  if (typeof given !== 'number' || !Number.isFinite(given)) return undefined;
  return Math.min(most, Math.max(least, Math.trunc(given)));
}

/** A list that a model may write as one item. */
export function items(value: unknown): unknown[] {
  return Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];
}

export function fits(result: string): boolean {
  return Buffer.byteLength(result) <= LIMITS.toolResultBytes;
}
