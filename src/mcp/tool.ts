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

export function optional(args: Args, name: string): string | undefined {
  const value = args[name];
  return typeof value === 'string' && value !== '' ? wellFormed(value) : undefined;
}

export function priorityOf(args: Args): Priority | undefined {
  return PRIORITIES.find((known) => known === args['priority']);
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
