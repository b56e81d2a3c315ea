import { expect, test } from 'vitest';
import { newId } from '../../src/core/ids.ts';
import { signEnvelope } from '../../src/core/jws.ts';
import type { Keys } from '../core/samples.ts';
import { codeOfAsync } from '../core/codes.ts';
import { CLAUDE, CODEX, hubWorld, statesOf, type HubWorld } from './world.ts';

function receiptOf(world: HubWorld, keys: Keys, message: string, data: unknown, from = CODEX, type = 'agentbus.receipt.v1'): string {
  const envelope = world.envelope({ id: newId('rct'), from, to: CLAUDE, type, inReplyTo: message, data });
  return signEnvelope(envelope, keys.id, keys.key);
}

async function delivered(): Promise<{ world: HubWorld; sender: Keys; recipient: Keys; id: string }> {
  const world = hubWorld();
  const [sender, recipient] = [await world.machine(CLAUDE), await world.machine(CODEX)];
  const { id } = await world.send(sender);
  const [delivery] = await world.hub.pull(recipient.id, 0, 10);
  await world.hub.ack(recipient.id, [delivery!.seq]);
  return { world, sender, recipient, id };
}

test('the recipient’s acknowledgement makes a message delivered, once', async () => {
  const { world, sender, recipient, id } = await delivered();
  expect(await statesOf(world, sender, id)).toEqual(['accepted', 'delivered']);
  await world.hub.ack(recipient.id, [1, 2, 3]);
  expect(await statesOf(world, sender, id)).toEqual(['accepted', 'delivered']);
  expect((await world.store.message('local', id))!.state).toBe('delivered');
  expect(await world.hub.pull(recipient.id, 0, 10)).toEqual([]);
});

test('a receipt of the recipient reaches the sender’s machine and frees the place in the inbox', async () => {
  const { world, sender, recipient, id } = await delivered();
  const jws = receiptOf(world, recipient, id, { state: 'presented', detail: { event: 'Stop' } });
  await world.hub.submitReceipt(recipient.id, jws);
  await world.hub.submitReceipt(recipient.id, jws);
  expect(await statesOf(world, sender, id)).toEqual(['accepted', 'delivered', 'presented']);
  const waiting = await world.hub.pull(sender.id, 0, 10);
  expect(waiting.map(({ body }) => (JSON.parse(body) as { state: string }).state)).toEqual(['accepted', 'delivered', 'presented']);
  expect(JSON.parse(waiting[2]!.body)).toMatchObject({ messageId: id, agent: CODEX, detail: { event: 'Stop' } });
  expect(await world.store.openMessages(CODEX, CLAUDE, 0)).toEqual({ all: 0, fromSource: 0 });
});

test('a step that says nothing new about the message leaves it open', async () => {
  const { world, recipient, id } = await delivered();
  for (const state of ['offered', 'in-context', 'missed', 'unproven', 'held']) {
    await world.hub.submitReceipt(recipient.id, receiptOf(world, recipient, id, { state }));
  }
  expect((await world.store.message('local', id))!.state).toBe('delivered');
});

test('nobody but the recipient makes a receipt', async () => {
  const { world, sender, recipient, id } = await delivered();
  const third = await world.machine('agent://local/shop/mallory');
  const forged = receiptOf(world, third, id, { state: 'read' }, 'agent://local/shop/mallory');
  expect(await codeOfAsync(world.hub.submitReceipt(third.id, forged))).toBe('AB-4002');
  const ofSender = receiptOf(world, sender, id, { state: 'read' }, CLAUDE);
  expect(await codeOfAsync(world.hub.submitReceipt(sender.id, ofSender))).toBe('AB-4002');
  const inHisName = receiptOf(world, third, id, { state: 'read' }, CODEX);
  expect(await codeOfAsync(world.hub.submitReceipt(third.id, inHisName))).toBe('AB-4002');
  expect(await codeOfAsync(world.hub.submitReceipt(third.id, receiptOf(world, recipient, id, { state: 'read' })))).toBe('AB-4001');
  expect(await statesOf(world, sender, id)).toEqual(['accepted', 'delivered']);
});

test('a receipt for an unknown message, of an unknown state or of another type is refused', async () => {
  const { world, recipient, id } = await delivered();
  const submit = (jws: string) => codeOfAsync(world.hub.submitReceipt(recipient.id, jws));
  expect(await submit(receiptOf(world, recipient, newId('msg'), { state: 'read' }))).toBe('AB-7001');
  expect(await submit(receiptOf(world, recipient, id, { state: 'delivered' }))).toBe('AB-7001');
  expect(await submit(receiptOf(world, recipient, id, 'read'))).toBe('AB-7001');
  expect(await submit(receiptOf(world, recipient, id, { state: 'read' }, CODEX, 'agentbus.message.v1'))).toBe('AB-7001');
});

test('a delivery that the recipient refuses for good is dead, and the sender learns why', async () => {
  const world = hubWorld();
  const [sender, recipient] = [await world.machine(CLAUDE), await world.machine(CODEX)];
  const { id } = await world.send(sender);
  const [delivery] = await world.hub.pull(recipient.id, 0, 10);
  await world.hub.nak(sender.id, delivery!.seq, 'not mine');
  expect(await statesOf(world, sender, id)).toEqual(['accepted']);
  await world.hub.nak(recipient.id, delivery!.seq, 'AB-4001 wrong signature');
  expect(await world.hub.trace(sender.id, id)).toMatchObject([
    { state: 'accepted' },
    { state: 'dead', detail: { reason: 'AB-4001 wrong signature' } },
  ]);
  expect(await world.store.openMessages(CODEX, CLAUDE, 0)).toEqual({ all: 0, fromSource: 0 });
  expect(await world.hub.pull(recipient.id, 0, 10)).toEqual([]);
});

test('a machine is called when something waits for it, until it stops watching', async () => {
  const world = hubWorld();
  const [sender, recipient] = [await world.machine(CLAUDE), await world.machine(CODEX)];
  const calls: string[] = [];
  const stop = world.hub.watch(recipient.id, () => calls.push('recipient'));
  world.hub.watch(sender.id, () => calls.push('sender'));
  await world.send(sender);
  expect(calls).toEqual(['sender', 'recipient']);
  stop();
  await world.send(sender);
  expect(calls).toEqual(['sender', 'recipient', 'sender']);
});

test('records are kept for the workspace of the machine that sent them', async () => {
  const world = hubWorld();
  const keys = await world.machine(CLAUDE);
  const row = { id: newId('rec'), at: world.clock.now, body: { event: 'stop', agent: CLAUDE } };
  await world.hub.addRecords(keys.id, [row]);
  await world.hub.addRecords(keys.id, [row]);
  expect(await world.hub.records(keys.id, { limit: 10 })).toEqual([{ ...row, workspace: 'local' }]);
  expect(await codeOfAsync(world.hub.addRecords(newId('dev'), [row]))).toBe('AB-4001');
});
