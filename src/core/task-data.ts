import * as v from 'valibot';
import { TYPES } from './envelope.ts';
import { AgentBusError } from './errors.ts';
import { LIMITS } from './limits.ts';

const REF = /^blob:\/\/([0-9a-f]{64})$/;
const words = v.pipe(v.string(), v.minLength(1, 'is empty'));

/** A file that travels beside the message: `ref` names its bytes by their SHA-256, and nobody fetches it unasked. */
const AttachmentSchema = v.looseObject({
  ref: v.pipe(v.string(), v.regex(REF, 'not a blob reference')),
  name: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
  mediaType: v.pipe(v.string(), v.maxLength(100)),
  size: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(LIMITS.attachmentBytes, 'is too large')),
});
export type Attachment = v.InferOutput<typeof AttachmentSchema>;

const attachments = v.optional(v.pipe(v.array(AttachmentSchema), v.maxLength(LIMITS.attachments, 'too many')));
const usage = v.optional(v.looseObject({ tokens: v.optional(v.number()), usd: v.optional(v.number()) }));

/** The task's id, for whoever reads the message: in the envelope it stands as `inreplyto`. */
const task = v.optional(v.string());

/** `data` of each kind of task message. What else stands in it is passed on. */
const SCHEMAS: Readonly<Record<string, v.GenericSchema<unknown, Record<string, unknown>>>> = {
  [TYPES.taskRequest]: v.looseObject({
    instructions: words,
    input: v.optional(v.unknown()),
    attachments,
    budget: v.optional(
      v.looseObject({
        tokens: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
        usd: v.optional(v.pipe(v.number(), v.gtValue(0))),
      }),
    ),
  }),
  [TYPES.taskAccept]: v.looseObject({ task }),
  [TYPES.taskProgress]: v.looseObject({
    task,
    percent: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(100))),
    note: v.optional(words),
    question: v.optional(words),
  }),
  [TYPES.taskInput]: v.looseObject({ task, answer: v.unknown() }),
  [TYPES.taskResult]: v.looseObject({ task, result: v.unknown(), attachments, usage }),
  [TYPES.taskError]: v.looseObject({ task, outcome: v.picklist(['failed', 'rejected', 'canceled']), message: words, usage }),
  [TYPES.taskCancel]: v.looseObject({ task, reason: v.optional(words) }),
};

/** The data of a task message, checked. Throws AB-7001 naming the field. */
export function checkTaskData(type: string, data: unknown): Record<string, unknown> {
  const schema = SCHEMAS[type];
  const result = schema && v.safeParse(schema, data);
  if (result?.success) return result.output;
  const issue = result?.issues[0];
  const where = issue?.path?.map((item) => String(item.key)).join('.') ?? 'data';
  throw new AgentBusError(
    'AB-7001',
    `${where}: ${issue?.message ?? `no data of ${type}`}`.slice(0, 200),
    'docs/protocol.md has the form of each task message',
  );
}

/** What a message carries beside its text, in whatever type it comes. What is no attachment is passed over. */
export function attachmentsOf(data: unknown): Attachment[] {
  const given = typeof data === 'object' && data !== null ? (data as Record<string, unknown>)['attachments'] : undefined;
  if (!Array.isArray(given)) return [];
  return given.flatMap((item: unknown) => {
    const parsed = v.safeParse(AttachmentSchema, item);
    return parsed.success ? [parsed.output] : [];
  });
}

export function blobRef(hash: string): string {
  return `blob://${hash}`;
}

/** The hash that a reference names. Throws AB-5008. */
export function hashOf(ref: string): string {
  const hash = REF.exec(ref)?.[1];
  if (hash === undefined) throw noAttachment(ref);
  return hash;
}

export function noAttachment(which: string): AgentBusError {
  return new AgentBusError(
    'AB-5008',
    `no attachment ${which.slice(0, 80)} of yours`,
    'only the sender and the recipients of a message that names it may read it, until the message expires',
  );
}
