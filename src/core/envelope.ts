import * as v from 'valibot';
import { isAddress } from './address.ts';
import { AgentBusError } from './errors.ts';
import { isConversationId, isId, newId, newTraceparent } from './ids.ts';
import { LIMITS } from './limits.ts';

export const PRIORITIES = ['low', 'normal', 'high', 'urgent'] as const;
export type Priority = (typeof PRIORITIES)[number];

/** Higher is more urgent. */
export function priorityRank(priority: Priority): number {
  return PRIORITIES.indexOf(priority);
}

const address = v.custom<string>(isAddress, 'not an agent address');
const messageId = v.custom<string>((value) => isId(value, 'msg') || isId(value, 'rct'), 'not a message id');
const time = v.pipe(
  v.string(),
  v.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$/, 'not a UTC time'),
  v.check((text) => Number.isFinite(Date.parse(text)), 'not a UTC time'),
);
const MOST_HOPS = 1_000;

/** A CloudEvents 1.0 event with AgentBus's extension attributes. `data` is any JSON value. */
const EnvelopeSchema = v.object({
  specversion: v.literal('1.0'),
  id: messageId,
  source: address,
  subject: address,
  type: v.pipe(v.string(), v.regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'not an event type')),
  time,
  datacontenttype: v.literal('application/json'),
  data: v.unknown(),
  conversationid: v.custom<string>(isConversationId, 'not a conversation id'),
  traceparent: v.pipe(v.string(), v.regex(/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/, 'not a traceparent')),
  priority: v.picklist(PRIORITIES),
  expiretime: time,
  inreplyto: v.optional(messageId),
  hops: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(MOST_HOPS)),
});

export type Envelope = v.InferOutput<typeof EnvelopeSchema>;

export const TYPES = {
  message: 'agentbus.message.v1',
  taskRequest: 'agentbus.task.request.v1',
  taskAccept: 'agentbus.task.accept.v1',
  taskProgress: 'agentbus.task.progress.v1',
  taskInput: 'agentbus.task.input.v1',
  taskResult: 'agentbus.task.result.v1',
  taskError: 'agentbus.task.error.v1',
  taskCancel: 'agentbus.task.cancel.v1',
  receipt: 'agentbus.receipt.v1',
  record: 'agentbus.session.record.v1',
} as const;

export interface Draft {
  from: string;
  to: string;
  data: unknown;
  type?: string | undefined;
  priority?: Priority | undefined;
  conversation?: string | undefined;
  traceparent?: string | undefined;
  inReplyTo?: string | undefined;
  /** Milliseconds from now; LIMITS.expiryDefault when absent. */
  expiresIn?: number | undefined;
  hops?: number | undefined;
  id?: string | undefined;
}

/** Builds a valid envelope of a draft at `now` (ms since the epoch). Throws AB-7001 or AB-7004. */
export function buildEnvelope(draft: Draft, now: number): Envelope {
  const expiresIn = draft.expiresIn ?? LIMITS.expiryDefault;
  if (!(expiresIn > 0) || expiresIn > LIMITS.expiryMax) {
    throw new AgentBusError('AB-7001', 'a message expires after 1 second to 30 days', 'give --expires as 10m, 2h or 7d');
  }
  return checkEnvelope({
    specversion: '1.0',
    id: draft.id ?? newId('msg'),
    source: draft.from,
    subject: draft.to,
    type: draft.type ?? TYPES.message,
    time: new Date(now).toISOString(),
    datacontenttype: 'application/json',
    data: draft.data,
    conversationid: draft.conversation ?? newId('cnv'),
    traceparent: draft.traceparent ?? newTraceparent(),
    priority: draft.priority ?? 'normal',
    expiretime: new Date(now + expiresIn).toISOString(),
    ...(draft.inReplyTo === undefined ? {} : { inreplyto: draft.inReplyTo }),
    // Bounded, so that nobody's count keeps a recipient from answering.
    hops: Math.min(draft.hops ?? 0, MOST_HOPS),
  });
}

/** The value as an envelope; AB-7001 names the first attribute that breaks the grammar. */
export function checkEnvelope(value: unknown): Envelope {
  const result = v.safeParse(EnvelopeSchema, value);
  if (!result.success) {
    const issue = result.issues[0];
    return refuse(issue.path?.map((item) => String(item.key)).join('.') ?? 'envelope', issue.message);
  }
  const { time: sent, expiretime } = result.output;
  // Receivers remember ids for as long as a message can live, so that has a bound.
  if (Date.parse(expiretime) - Date.parse(sent) > LIMITS.expiryMax) refuse('expiretime', 'more than 30 days after time');
  return result.output;
}

function refuse(attribute: string, what: string): never {
  throw new AgentBusError(
    'AB-7001',
    `envelope attribute ${attribute}: ${what}`.slice(0, 200),
    'docs/protocol.md has the grammar of each attribute',
  );
}

export function isExpired(envelope: Pick<Envelope, 'expiretime'>, now: number): boolean {
  return Date.parse(envelope.expiretime) <= now;
}
