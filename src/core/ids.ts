import { randomBytes } from 'node:crypto';
import { monotonicFactory } from 'ulid';

export type IdPrefix = 'msg' | 'cnv' | 'ins' | 'rec' | 'dev' | 'rct';

// One call for many ids: random bytes cost most by the call, and a hook makes a few ids.
let pool = Buffer.alloc(0);
let used = 0;

function random(bytes: number): Buffer {
  if (used + bytes > pool.length) {
    pool = randomBytes(4096);
    used = 0;
  }
  used += bytes;
  return pool.subarray(used - bytes, used);
}

// ulid's own entropy detection looks for browser globals; node:crypto is always here.
const nextUlid = monotonicFactory(() => random(4).readUInt32BE(0) / 0x1_0000_0000);

/** A prefixed ULID, for instance `msg_01J9ZK6Q8R2M3N4P5Q6R7S8T9V`; sorts by creation time. */
export function newId(prefix: IdPrefix): string {
  return `${prefix}_${nextUlid()}`;
}

const ID = /^(?:msg|cnv|ins|rec|dev|rct)_[0-9A-HJKMNP-TV-Z]{26}$/;

export function isId(text: unknown, prefix?: IdPrefix): text is string {
  return typeof text === 'string' && ID.test(text) && (prefix === undefined || text.startsWith(`${prefix}_`));
}

/** Conversation ids may come from other systems: our own form, or up to 64 plain characters. */
export function isConversationId(text: unknown): text is string {
  return typeof text === 'string' && /^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/.test(text);
}

const NONCE_ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';

/** The `offer` attribute of one shown frame: 12 characters (60 bits) that no sender can know. */
export function newNonce(): string {
  return Array.from(random(12), (byte) => NONCE_ALPHABET[byte & 31]).join('');
}

/** A W3C traceparent for a message that starts a trace. */
export function newTraceparent(): string {
  return `00-${random(16).toString('hex')}-${random(8).toString('hex')}-01`;
}
