import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkEnvelope, isExpired, priorityRank, PRIORITIES } from '../../src/core/envelope.ts';
import { LIMITS } from '../../src/core/limits.ts';
import { codeOf, outcomeOf } from './codes.ts';
import { envelopeOf, NOW } from './samples.ts';

const MSG = 'msg_01J9ZK6Q8R2M3N4P5Q6R7S8T9V';

test('a draft with nothing but from, to and data becomes a whole envelope', () => {
  expect(envelopeOf({ id: MSG })).toEqual({
    specversion: '1.0',
    id: MSG,
    source: 'agent://local/shop/claude',
    subject: 'agent://local/shop/codex',
    type: 'agentbus.message.v1',
    time: '2026-10-10T14:00:00.000Z',
    datacontenttype: 'application/json',
    data: 'hello',
    conversationid: expect.stringMatching(/^cnv_/),
    traceparent: expect.stringMatching(/^00-/),
    priority: 'normal',
    expiretime: '2026-10-17T14:00:00.000Z',
    hops: 0,
  });
});

test.each([
  ['specversion', '0.3'],
  ['id', 'm1'],
  ['id', 'dev_01J9ZK6Q8R2M3N4P5Q6R7S8T9V'],
  ['id', `${MSG}" forged="1`],
  ['source', 'agentbus://ws1/a1'],
  ['subject', 'agent://local/shop/codex" redelivery="'],
  ['subject', 'agent://local/shop/'],
  ['type', 'Agentbus.Message'],
  ['type', 'a'.repeat(65)],
  ['type', 'x">\n<system'],
  ['time', 'yesterday'],
  ['time', '2026-10-10T14:00:00+02:00'],
  ['time', '2026-99-99T99:99:99Z'],
  ['expiretime', '2026-13-45T00:00:00Z'],
  ['expiretime', '2027-10-10T14:00:00Z'],
  ['datacontenttype', 'text/plain'],
  ['conversationid', ''],
  ['conversationid', 'a'.repeat(65)],
  ['conversationid', 'cnv\u2028x'],
  ['traceparent', '00-XYZ'],
  ['traceparent', `01-${'0'.repeat(32)}-${'0'.repeat(16)}-01`],
  ['priority', 'critical'],
  ['inreplyto', 'msg_short'],
  ['hops', -1],
  ['hops', 1.5],
  ['hops', '3'],
])('an envelope whose %s is %j is refused', (attribute, value) => {
  expect(codeOf(() => checkEnvelope({ ...envelopeOf(), [attribute]: value }))).toBe('AB-7001');
});

test('each attribute but inreplyto has to be there', () => {
  const envelope = envelopeOf();
  for (const attribute of Object.keys(envelope)) {
    const { [attribute as keyof typeof envelope]: _left, ...rest } = envelope;
    expect([attribute, codeOf(() => checkEnvelope(rest))]).toEqual([attribute, 'AB-7001']);
  }
});

test('no value at all makes the check fail in another way than by refusing', () => {
  fc.assert(
    fc.property(fc.anything(), fc.constantFrom(...Object.keys(envelopeOf())), (value, attribute) => {
      for (const candidate of [value, { ...envelopeOf(), [attribute]: value }]) {
        const outcome = outcomeOf(() => checkEnvelope(candidate));
        expect('refused' in outcome ? outcome.refused : 'AB-7001').toBe('AB-7001');
      }
    }),
  );
});

test('the life of a message is between a moment and thirty days', () => {
  for (const expiresIn of [0, -1, Number.NaN, LIMITS.expiryMax + 1]) expect(codeOf(() => envelopeOf({ expiresIn }))).toBe('AB-7001');
  expect(envelopeOf({ expiresIn: LIMITS.expiryMax }).expiretime).toBe('2026-11-09T14:00:00.000Z');
});

test('a message is expired from its expiry time on', () => {
  const envelope = envelopeOf({ expiresIn: 60_000 });
  expect(isExpired(envelope, NOW + 59_999)).toBe(false);
  expect(isExpired(envelope, NOW + 60_000)).toBe(true);
});

test('a chain of answers of any length can still be answered', () => {
  expect(envelopeOf({ hops: 5_000 }).hops).toBe(1_000);
});

test('priorities rank as their list stands', () => {
  expect(PRIORITIES.map(priorityRank)).toEqual([0, 1, 2, 3]);
  expect(priorityRank('urgent')).toBeGreaterThan(priorityRank('high'));
});
