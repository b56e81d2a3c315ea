import { createPublicKey, sign as signBytes, verify as verifyBytes, type KeyObject } from 'node:crypto';
import { checkEnvelope, type Envelope } from './envelope.ts';
import { AgentBusError } from './errors.ts';
import { isId } from './ids.ts';
import { LIMITS } from './limits.ts';
import { parseStrictJson } from './strict-json.ts';

const TYP = 'agentbus+jws';

function bad(what: string): never {
  throw new AgentBusError(
    'AB-4001',
    `message refused: ${what}`,
    'it was changed on its way, or signed by something that does not follow docs/protocol.md',
  );
}

/** The envelope as text that every receiver accepts. Throws AB-7001. */
function serialise(envelope: Envelope): string {
  let text: string;
  try {
    text = JSON.stringify(envelope);
  } catch {
    throw new AgentBusError('AB-7001', 'the data can not be written as JSON', 'send plain JSON, nested at most 200 levels deep');
  }
  parseStrictJson(text);
  return text;
}

/** Signs an envelope as flattened JWS JSON (RFC 7515). The text is what travels and what is stored. Throws AB-7001, AB-7003. */
export function signEnvelope(envelope: Envelope, deviceId: string, key: KeyObject): string {
  const header = Buffer.from(JSON.stringify({ alg: 'EdDSA', kid: deviceId, typ: TYP })).toString('base64url');
  const payload = Buffer.from(serialise(envelope)).toString('base64url');
  const signature = signBytes(null, Buffer.from(`${header}.${payload}`), key).toString('base64url');
  const jws = JSON.stringify({ payload, protected: header, signature });
  if (Buffer.byteLength(jws) > LIMITS.envelopeBytes) {
    throw new AgentBusError(
      'AB-7003',
      'the message is larger than 1 MiB once it is signed',
      'send at most 750 kB of text, an attachment of a task, or the path of a file',
    );
  }
  return jws;
}

export interface OpenedJws {
  envelope: Envelope;
  /** The device that signed. Whether it may speak for `envelope.source` is the directory's word. */
  deviceId: string;
}

function exactObject(value: unknown, keys: readonly string[]): Record<string, string> {
  if (typeof value !== 'object' || value === null) bad('not a JWS object');
  const object = value as Record<string, unknown>;
  const names = Object.keys(object);
  if (names.length !== keys.length || !keys.every((key) => typeof object[key] === 'string')) bad('unexpected JWS members');
  return object as Record<string, string>;
}

function decode(part: string): string {
  if (!/^[A-Za-z0-9_-]+$/.test(part)) bad('not base64url');
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(part, 'base64url'));
}

/**
 * Verifies a JWS and gives its envelope. `publicKey` answers with the key of a device id, or null.
 * Throws AB-4001 for anything but an exact header, a known device and a right signature,
 * AB-7001 for a payload that breaks the grammar, AB-7003 over the size limit.
 */
export function openJws(jws: string, publicKey: (deviceId: string) => KeyObject | null): OpenedJws {
  if (Buffer.byteLength(jws) > LIMITS.envelopeBytes) {
    throw new AgentBusError(
      'AB-7003',
      'the message is larger than 1 MiB once it is signed',
      'send at most 750 kB of text, an attachment of a task, or the path of a file',
    );
  }
  let parts: Record<string, string>;
  let header: Record<string, string>;
  let payload: string;
  try {
    parts = exactObject(parseStrictJson(jws), ['payload', 'protected', 'signature']);
    header = exactObject(parseStrictJson(decode(parts['protected']!)), ['alg', 'kid', 'typ']);
    payload = decode(parts['payload']!);
  } catch (error) {
    if (error instanceof AgentBusError && error.code === 'AB-4001') throw error;
    return bad('not a well-formed JWS');
  }
  const kid = header['kid']!;
  if (header['alg'] !== 'EdDSA' || header['typ'] !== TYP || !isId(kid, 'dev')) bad('unexpected protected header');
  const key = publicKey(kid);
  if (!key) bad(`unknown device ${kid}`);
  const signed = Buffer.from(`${parts['protected']!}.${parts['payload']!}`);
  const signature = Buffer.from(parts['signature']!, 'base64url');
  // Decoding forgives what is no base64url; a second spelling would make a second message of one.
  if (signature.toString('base64url') !== parts['signature']) bad('not base64url');
  if (!verifyBytes(null, signed, key, signature)) bad('wrong signature');
  return { envelope: checkEnvelope(parseStrictJson(payload)), deviceId: kid };
}

/** The envelope of a JWS that our own store already verified. */
export function readJws(jws: string): Envelope {
  const { payload } = JSON.parse(jws) as { payload: string };
  return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as Envelope;
}

/** The public half as base64url of its 32 raw bytes, the form the directory keeps. */
export function rawPublicKey(key: KeyObject): string {
  const jwk = createPublicKey(key).export({ format: 'jwk' });
  return jwk.x!;
}

const PRIME = 2n ** 255n - 19n;
const ORDER_8 = 0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n;
// The y of the points of small order on edwards25519: a signature under one of them can be made to
// fit any message, so such a key is never enrolled. The sign bit says nothing about it.
const SMALL_ORDER: ReadonlySet<bigint> = new Set([0n, 1n, PRIME - 1n, ORDER_8, PRIME - ORDER_8]);

function isUsable(bytes: Buffer): boolean {
  const y = BigInt(`0x${Buffer.from(bytes.toReversed()).toString('hex')}`) & (2n ** 255n - 1n);
  // A y beyond the prime is a second spelling of a small one, and read as that.
  return y < PRIME && !SMALL_ORDER.has(y);
}

/** A directory key as a KeyObject. Throws AB-4001 for a wrong length or a point of small order. */
export function publicKeyFromRaw(raw: string): KeyObject {
  const bytes = Buffer.from(raw, 'base64url');
  if (bytes.length !== 32 || !isUsable(bytes)) bad('not a usable Ed25519 key');
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: raw }, format: 'jwk' });
}
