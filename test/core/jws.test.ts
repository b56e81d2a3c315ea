import { createPublicKey } from 'node:crypto';
import * as ed from '@noble/ed25519';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { newId } from '../../src/core/ids.ts';
import { openJws, publicKeyFromRaw, readJws, signEnvelope } from '../../src/core/jws.ts';
import { wellFormed } from '../../src/core/unicode.ts';
import { codeOf, outcomeOf } from './codes.ts';
import { envelopeOf, newKeys } from './samples.ts';

const keys = newKeys();
const known = (id: string) => (id === keys.id ? createPublicKey(keys.key) : null);
const open = (jws: string) => openJws(jws, known);
const encode = (value: unknown): string => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

/** A JWS of any header and payload text, rightly signed by the known device. */
async function signedBy(header: unknown, payload: string, extra: Record<string, unknown> = {}): Promise<string> {
  const seed = Buffer.from(keys.key.export({ format: 'jwk' }).d!, 'base64url');
  const signing = `${encode(header)}.${encode(payload)}`;
  const signature = Buffer.from(await ed.signAsync(Buffer.from(signing), seed)).toString('base64url');
  return JSON.stringify({ payload: encode(payload), protected: encode(header), signature, ...extra });
}
const HEADER = { alg: 'EdDSA', kid: keys.id, typ: 'agentbus+jws' };

test('our signature holds for an independent Ed25519 in its strict mode', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary' }).map(wellFormed), async (data) => {
      const jws = JSON.parse(signEnvelope(envelopeOf({ data }), keys.id, keys.key)) as Record<string, string>;
      const signature = Buffer.from(jws['signature']!, 'base64url');
      const signed = Buffer.from(`${jws['protected']}.${jws['payload']}`);
      expect(await ed.verifyAsync(signature, signed, Buffer.from(keys.publicKey, 'base64url'), { zip215: false })).toBe(true);
    }),
    { numRuns: 25 },
  );
});

test('the signature of an independent Ed25519 opens here', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary' }).map(wellFormed), async (data) => {
      const envelope = envelopeOf({ data });
      const jws = await signedBy(HEADER, JSON.stringify(envelope));
      expect(open(jws)).toEqual({ envelope, deviceId: keys.id });
    }),
    { numRuns: 25 },
  );
});

test('the signed bytes decide, not what a parser makes of them', async () => {
  const text = JSON.stringify(envelopeOf({ data: 'DATA' })).replace('"DATA"', String.raw`{"b":1.0,"a":0.00001,"s":"\u003c\u00e9<é"}`);
  const jws = await signedBy(HEADER, text);
  expect(open(jws).envelope.data).toEqual({ b: 1, a: 1e-5, s: '<é<é' });
  expect(readJws(jws)).toEqual(open(jws).envelope);
  // The same value in another spelling is another message: its signature does not fit.
  const parsed = JSON.parse(jws) as Record<string, string>;
  const respelled = encode(JSON.stringify(JSON.parse(text)));
  expect(codeOf(() => open(JSON.stringify({ ...parsed, payload: respelled })))).toBe('AB-4001');
});

test.each([
  ['another algorithm', { ...HEADER, alg: 'none' }],
  ['another type', { ...HEADER, typ: 'JWT' }],
  ['a device that nobody knows', { ...HEADER, kid: newId('dev') }],
  ['a key id that is no device', { ...HEADER, kid: 'dev_1' }],
  ['a critical extension', { ...HEADER, crit: ['exp'] }],
  ['an unencoded payload', { ...HEADER, b64: false }],
  ['a key that it brings along', { ...HEADER, jwk: { kty: 'OKP', crv: 'Ed25519', x: keys.publicKey } }],
  ['no type', { alg: 'EdDSA', kid: keys.id }],
  ['a key that stands twice', `{"alg":"none","alg":"EdDSA","kid":"${keys.id}","typ":"agentbus+jws"}`],
  ['a list', ['EdDSA']],
])('a rightly signed header with %s is refused', async (_what, header) => {
  const jws = await signedBy(header, JSON.stringify(envelopeOf()));
  expect(codeOf(() => open(jws))).toBe('AB-4001');
});

test('an unprotected header or any further member is refused', async () => {
  const payload = JSON.stringify(envelopeOf());
  for (const extra of [{ header: { kid: keys.id } }, { signatures: [] }, { note: 'x' }]) {
    const jws = await signedBy(HEADER, payload, extra);
    expect(codeOf(() => open(jws))).toBe('AB-4001');
  }
});

test('a signature counts in its one spelling only', async () => {
  const jws = JSON.parse(await signedBy(HEADER, JSON.stringify(envelopeOf()))) as Record<string, string>;
  const signature = jws['signature']!;
  const spellings = [
    `${signature}==`,
    `${signature}!`,
    ` ${signature}`,
    signature.slice(0, -1),
    `${signature.slice(0, 40)}\n${signature.slice(40)}`,
  ];
  for (const spelling of spellings) expect(codeOf(() => open(JSON.stringify({ ...jws, signature: spelling })))).toBe('AB-4001');
});

test('any change of one character anywhere is refused', async () => {
  const jws = await signedBy(HEADER, JSON.stringify(envelopeOf()));
  fc.assert(
    fc.property(fc.nat(jws.length - 1), fc.constantFrom('A', 'z', '"', ' ', '0', '\\'), (at, char) => {
      const changed = jws.slice(0, at) + char + jws.slice(at + 1);
      fc.pre(changed !== jws);
      const outcome = outcomeOf(() => open(changed));
      // What still opens says the same (white space between members); nothing else opens.
      expect(outcome).toEqual('refused' in outcome ? { refused: 'AB-4001' } : { value: open(jws) });
    }),
    { numRuns: 300 },
  );
});

test.each([
  ['a key that stands twice', (text: string) => text.replace('"data":"hello"', '"data":"hello","data":"other"')],
  ['a lone surrogate', (text: string) => text.replace('hello', String.raw`\ud83d`)],
  ['an integer beyond 2^53', (text: string) => text.replace('"hello"', '12345678901234567890')],
  ['an address that is none', (text: string) => text.replace('agent://local/shop/codex', 'agent://local/shop')],
  ['nesting without end', (text: string) => text.replace('"hello"', `${'['.repeat(300_000)}${']'.repeat(300_000)}`)],
])('a rightly signed payload with %s is refused', async (_what, change) => {
  const jws = await signedBy(HEADER, change(JSON.stringify(envelopeOf())));
  expect(codeOf(() => open(jws))).toBe('AB-7001');
});

test('what a receiver would refuse is not signed', () => {
  let deep: unknown = 'x';
  for (let level = 0; level < 20_000; level++) deep = [deep];
  for (const data of ['\ud83d', { n: 2 ** 60 }, deep]) {
    expect(codeOf(() => signEnvelope(envelopeOf({ data }), keys.id, keys.key))).toBe('AB-7001');
  }
});

test('a message over 1 MiB is refused by the sender and by the receiver', () => {
  const data = 'x'.repeat(1024 * 1024);
  expect(codeOf(() => signEnvelope(envelopeOf({ data }), keys.id, keys.key))).toBe('AB-7003');
  expect(codeOf(() => open(JSON.stringify({ payload: data, protected: 'x', signature: 'x' })))).toBe('AB-7003');
});

test('points of small order are never enrolled, in no encoding of them', () => {
  const prime = 2n ** 255n - 19n;
  const encodings = new Set<string>();
  const little = (value: bigint): string =>
    Buffer.from(Buffer.from(value.toString(16).padStart(64, '0'), 'hex').toReversed()).toString('base64url');
  // Any point times the order of the prime subgroup is of small order; eight of them exist.
  const order = 2n ** 252n + 27742317777372353535851937790883648493n;
  const torsion = new Set<bigint>([1n, prime - 1n, 0n]);
  for (let y = 2n; y < 40n; y++) {
    let point;
    try {
      point = ed.Point.fromHex(Buffer.from(little(y), 'base64url').toString('hex'));
    } catch {
      continue;
    }
    // noble multiplies by less than the order only.
    torsion.add(
      point
        .multiply(order - 1n)
        .add(point)
        .toAffine().y,
    );
  }
  expect(torsion.size).toBe(5);
  for (const y of torsion) {
    for (const value of [y, y + prime].filter((candidate) => candidate < 2n ** 255n)) {
      encodings.add(little(value));
      encodings.add(little(value + 2n ** 255n));
    }
  }
  expect(encodings.size).toBe(14);
  for (const raw of encodings) expect([raw, codeOf(() => publicKeyFromRaw(raw))]).toEqual([raw, 'AB-4001']);
});

test('a key of another length is refused, a right one comes back', () => {
  for (const raw of ['', 'AAAA', `${keys.publicKey}AA`]) expect(codeOf(() => publicKeyFromRaw(raw))).toBe('AB-4001');
  expect(publicKeyFromRaw(keys.publicKey).equals(createPublicKey(keys.key))).toBe(true);
});
