import { expect, test } from 'vitest';
import { AgentBusError } from '../../src/core/errors.ts';
import type { Delivery } from '../../src/hub/store.ts';
import { addReceipt } from '../../src/drain/offer.ts';
import { newKeys } from '../core/samples.ts';
import { signEnvelope } from '../../src/core/jws.ts';
import { CLAUDE, CODEX, statesOf } from '../hub/world.ts';
import { inboxIds, twoMachines } from './world.ts';

test('a crash between the inbox and the acknowledgement neither doubles nor loses anything', async () => {
  const { world, sender, recipient } = await twoMachines();
  const id = sender.queue();
  await sender.pump.run();
  const { ack } = recipient.link;
  recipient.link.ack = () => Promise.reject(new Error('killed'));
  await expect(recipient.pump.run()).rejects.toThrow('killed');
  expect(inboxIds(recipient)).toEqual([id]);
  recipient.link.ack = ack;
  recipient.restart();
  await recipient.pump.run();
  expect(inboxIds(recipient)).toEqual([id]);
  // What came again is no news, and the sender learns of the delivery after all.
  expect(recipient.news).toEqual([CODEX]);
  expect(await statesOf(world, sender.keys, id)).toEqual(['accepted', 'delivered']);
  expect(await world.hub.pull(recipient.keys.id, 0, 10)).toEqual([]);
});

test('an acknowledgement that failed is made good by the next round of the same pump', async () => {
  const { world, sender, recipient } = await twoMachines();
  const ids = [sender.queue(), sender.queue()];
  await sender.pump.run();
  const { ack } = recipient.link;
  recipient.link.ack = () => Promise.reject(new Error('link down'));
  await expect(recipient.pump.run()).rejects.toThrow('link down');
  recipient.link.ack = ack;
  await recipient.pump.run();
  expect(inboxIds(recipient)).toEqual(ids);
  expect(recipient.news).toEqual([CODEX, CODEX]);
  for (const id of ids) expect(await statesOf(world, sender.keys, id)).toEqual(['accepted', 'delivered']);
});

test('a hub that offers everything again from its first message on brings no news', async () => {
  const { sender, recipient } = await twoMachines();
  const ids = [sender.queue(), sender.queue(), sender.queue()];
  await sender.pump.run();
  const { pull } = recipient.link;
  const seen: Delivery[] = [];
  recipient.link.pull = async (after, limit) => {
    const deliveries = await pull(after, limit);
    seen.push(...deliveries);
    return deliveries;
  };
  await recipient.pump.run();
  const before = recipient.store.listInbox(CODEX, { unreadOnly: false, after: 0, limit: 10 });
  expect(recipient.news).toHaveLength(3);
  const replay = [...seen];
  recipient.link.pull = async (after, limit) => replay.filter(({ seq }) => seq > after).slice(0, limit);
  recipient.restart();
  await recipient.pump.run();
  expect(recipient.news).toHaveLength(3);
  expect(inboxIds(recipient)).toEqual(ids);
  expect(recipient.store.listInbox(CODEX, { unreadOnly: false, after: 0, limit: 10 })).toEqual(before);
});

test('a hub that was set up anew, and counts from one again, still gets its messages through', async () => {
  const { world, sender, recipient } = await twoMachines();
  const { pull, ack } = recipient.link;
  const old = 5_000;
  recipient.link.pull = async (after, limit) =>
    (await pull(Math.max(0, after - old), limit)).map((row) => ({ ...row, seq: row.seq + old }));
  recipient.link.ack = (seqs) => ack(seqs.map((seq) => seq - old));
  const first = sender.queue();
  for (const machine of [sender, recipient]) await machine.pump.run();
  Object.assign(recipient.link, { pull, ack });
  recipient.restart();
  const { id } = await world.send(sender.keys);
  await recipient.pump.run();
  expect(inboxIds(recipient)).toEqual([first, id]);
});

/** Lets the recipient's link deliver these bytes as the hub's message number 1. */
function deliverOnce(link: { pull: (after: number, limit: number) => Promise<Delivery[]> }, body: string): void {
  link.pull = async (after) => (after >= 1 ? [] : [{ seq: 1, kind: 'message', body, messageId: 'msg_x', conversationSeq: 1 }]);
}

test.each([
  ['no JSON', () => 'garbage'],
  ['a header that is none', () => JSON.stringify({ payload: 'e30', protected: 'e30', signature: 'e30' })],
  [
    'a key id that is an object',
    () => JSON.stringify({ payload: 'e30', protected: Buffer.from('{"kid":{"a":1}}').toString('base64url'), signature: 'e30' }),
  ],
  ['another machine’s signature', () => signed(newKeys().id)],
  ['a signature by another key', (own: string) => signed(own)],
])('a delivery with %s is refused for good and holds up nothing', async (_what, body) => {
  const { sender, recipient } = await twoMachines();
  const naks: string[] = [];
  recipient.link.nak = async (_seq, reason) => void naks.push(reason);
  deliverOnce(recipient.link, body(sender.keys.id));
  await recipient.pump.run();
  expect(naks).toEqual([expect.stringMatching(/^AB-4001 /)]);
  expect(inboxIds(recipient)).toEqual([]);
  expect(recipient.news).toEqual([]);
});

function signed(kid: string): string {
  const stranger = newKeys();
  const envelope = { ...JSON.parse(JSON.stringify(sample())) } as ReturnType<typeof sample>;
  return signEnvelope(envelope, kid, stranger.key);
}

test('the key that a machine saw first is the one that counts afterwards', async () => {
  const { sender, recipient } = await twoMachines();
  const first = sender.queue();
  await sender.pump.run();
  await recipient.pump.run();
  const stranger = newKeys();
  recipient.link.publicKey = async () => stranger.publicKey;
  const second = sender.queue();
  await sender.pump.run();
  await recipient.pump.run();
  deliverOnce(recipient.link, signEnvelope(sample(), sender.keys.id, stranger.key));
  const naks: number[] = [];
  recipient.link.nak = async (seq) => void naks.push(seq);
  recipient.restart();
  await recipient.pump.run();
  expect(inboxIds(recipient)).toEqual([first, second]);
  expect(naks).toEqual([1]);
});

test('other bytes under a known id change nothing and are reported', async () => {
  const { world, sender, recipient } = await twoMachines();
  const id = sender.queue({ data: 'first' });
  await sender.pump.run();
  await recipient.pump.run();
  const changed = signEnvelope(world.envelope({ id, data: 'CHANGED' }), sender.keys.id, sender.keys.key);
  deliverOnce(recipient.link, changed);
  recipient.restart();
  await recipient.pump.run();
  expect(recipient.store.inboxMessage(id)!.jws).not.toBe(changed);
  expect(recipient.log).toContain('another message under a known id was refused');
  expect(recipient.news).toHaveLength(1);
});

test('what happens to a message at its recipient reaches the sender as signed receipts, once each', async () => {
  const { world, sender, recipient } = await twoMachines();
  const id = sender.queue();
  for (const machine of [sender, recipient]) await machine.pump.run();
  const row = recipient.store.inboxMessage(id)!;
  for (const state of ['offered', 'presented', 'read']) addReceipt(recipient.store, row, state, { event: 'Stop' }, world.clock.now);
  const { submitReceipt } = recipient.link;
  for (const trouble of [new Error('link down'), new AgentBusError('AB-3002', 'the hub can not write', 'later')]) {
    recipient.link.submitReceipt = () => Promise.reject(trouble);
    await expect(recipient.pump.run()).rejects.toThrow(trouble);
  }
  recipient.link.submitReceipt = submitReceipt;
  for (const machine of [recipient, recipient, sender]) await machine.pump.run();
  expect(sender.store.receipts(id).map(({ state }) => state)).toEqual(['accepted', 'delivered', 'offered', 'presented', 'read']);
  expect(recipient.store.queuedReceipts(10)).toEqual([]);
});

test('a receipt that the hub refuses for good holds up no other', async () => {
  const { sender, recipient } = await twoMachines();
  const id = sender.queue();
  for (const machine of [sender, recipient]) await machine.pump.run();
  const row = recipient.store.inboxMessage(id)!;
  addReceipt(recipient.store, row, 'no such state', {}, row.receivedAt);
  addReceipt(recipient.store, row, 'presented', { odd: '\ud83d' }, row.receivedAt);
  addReceipt(recipient.store, row, 'read', {}, row.receivedAt);
  for (const machine of [recipient, sender]) await machine.pump.run();
  expect(sender.store.receipts(id).map(({ state }) => state)).toEqual(['accepted', 'delivered', 'read']);
  expect(recipient.store.queuedReceipts(10)).toEqual([]);
});

test('records go out in batches and stay until the hub has them', async () => {
  const { recipient } = await twoMachines();
  for (let n = 0; n < 250; n++) recipient.store.addRecord({ id: `rec_${String(n).padStart(3, '0')}`, at: n, body: `{"n":${n}}` });
  const { addRecords } = recipient.link;
  recipient.link.addRecords = () => Promise.reject(new Error('link down'));
  await expect(recipient.pump.run()).rejects.toThrow('link down');
  recipient.link.addRecords = addRecords;
  for (let round = 0; round < 2; round++) await recipient.pump.run();
  expect(recipient.store.queuedRecords(500)).toEqual([]);
  expect(await recipient.link.records({ limit: 500 })).toHaveLength(250);
});

test('calls while a round runs make one more round, not one each', async () => {
  const { sender } = await twoMachines();
  let pulls = 0;
  const { pull } = sender.link;
  sender.link.pull = async (after, limit) => {
    pulls++;
    return pull(after, limit);
  };
  await Promise.all(Array.from({ length: 30 }, () => sender.pump.run()));
  expect(pulls).toBe(2);
});

function sample() {
  return {
    specversion: '1.0' as const,
    id: 'msg_01J9ZK6Q8R2M3N4P5Q6R7S8T9V',
    source: CLAUDE,
    subject: CODEX,
    type: 'agentbus.message.v1',
    time: '2026-10-10T14:00:00Z',
    datacontenttype: 'application/json' as const,
    data: 'x',
    conversationid: 'cnv-1',
    traceparent: `00-${'4b'.repeat(16)}-${'00'.repeat(8)}-01`,
    priority: 'normal' as const,
    expiretime: '2026-10-11T14:00:00Z',
    hops: 0,
  };
}
