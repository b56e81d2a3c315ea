import * as v from 'valibot';
import { PRIORITIES } from '../core/envelope.ts';
import { AgentBusError } from '../core/errors.ts';
import { LIMITS } from '../core/limits.ts';
import type { Bus } from './bus.ts';
import { identify, type CallerIdentity } from './callers.ts';

/** The local surface: HTTP on a Unix socket, every call with the local token. docs/protocol.md lists the calls. */
export interface ControlOptions {
  bus: Bus;
  token: string;
  started: number;
  /** Answers first, then ends the daemon. */
  stop(): void;
}

export type Handler = (options: ControlOptions, body: unknown) => unknown;

export const CallerSchema = v.union([
  v.object({ person: v.literal(true) }),
  v.object({ harness: v.pipe(v.string(), v.maxLength(32)), session: v.pipe(v.string(), v.maxLength(128)) }),
]);
export const priority = v.optional(v.picklist(PRIORITIES));
export const id = v.optional(v.string());
export const words = v.pipe(v.string(), v.maxLength(LIMITS.envelopeBytes));
export const attachments = v.optional(
  v.array(v.looseObject({ ref: v.string(), name: v.string(), mediaType: v.string(), size: v.number() })),
);

export function check<S extends v.GenericSchema>(schema: S, value: unknown): v.InferOutput<S> {
  const result = v.safeParse(schema, value);
  if (result.success) return result.output;
  const issue = result.issues[0];
  const where = issue.path?.map((item) => String(item.key)).join('.') ?? 'body';
  throw new AgentBusError('AB-7001', `${where}: ${issue.message}`.slice(0, 200), 'docs/protocol.md has the form of each call');
}

/** A call in somebody's name. Throws AB-1002. */
export function identified<S extends v.GenericSchema<unknown, { caller: v.InferOutput<typeof CallerSchema> }>>(
  schema: S,
  act: (bus: Bus, who: CallerIdentity, request: v.InferOutput<S>) => unknown,
): Handler {
  return ({ bus }, body) => {
    const request = check(schema, body);
    const who = identify(bus, request.caller);
    // The session went on: what it got before counts as read.
    if (who.instance) bus.store.mark(() => bus.confirmReads(who.instance!.id));
    return act(bus, who, request);
  };
}
