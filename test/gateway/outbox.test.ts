import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AgentBusError } from '../../src/core/errors.ts';
import { backoff } from '../../src/gateway/pump.ts';
import { inboxIds, machineAt, twoMachines } from './world.ts';
import { CODEX } from '../hub/world.ts';

const offline = (): Promise<never> => Promise.reject(new Error('connect ECONNREFUSED'));

test('a message goes from outbox to inbox, and both sides know of each step', async () => {
  const { sender, recipient } = await twoMachines();
  const id = sender.queue();
  await sender.pump.run();
  await recipient.pump.run();
  await sender.pump.run();
  expect(sender.outbox(id)).toMatchObject({ state: 'sent', attempts: 1 });
  expect(inboxIds(recipient)).toEqual([id]);
  expect(recipient.news).toEqual([CODEX]);
  expect(sender.store.receipts(id).map(({ state }) => state)).toEqual(['accepted', 'delivered']);
  // Both receipts are for the sender's agent, so that its session can be told.
  expect(new Set(sender.store.receipts(id).map((row) => row.sender))).toEqual(new Set(['agent://local/shop/claude']));
});

test('a link that fails several times and then works delivers everything once and in order', async () => {
  const { world, sender, recipient } = await twoMachines();
  const { submit } = sender.link;
  sender.link.submit = offline;
  const ids = [sender.queue(), sender.queue(), sender.queue()];
  for (let round = 0; round < 5; round++) {
    await sender.pump.run();
    world.clock.now += 600_000;
  }
  expect(sender.outbox(ids[0]!)).toMatchObject({ state: 'queued', attempts: 5, reason: 'Error: connect ECONNREFUSED' });
  sender.link.submit = submit;
  await sender.pump.run();
  await recipient.pump.run();
  expect(inboxIds(recipient)).toEqual(ids);
});

test('a dead link is tried at most once per wait, not at every call', async () => {
  const { world, sender } = await twoMachines();
  let calls = 0;
  sender.link.submit = () => {
    calls++;
    return offline();
  };
  for (let n = 0; n < 100; n++) sender.queue();
  for (let round = 0; round < 50; round++) await sender.pump.run();
  expect(calls).toBe(1);
  world.clock.now += 1_250;
  for (let round = 0; round < 50; round++) await sender.pump.run();
  expect(calls).toBe(2);
});

test('a wait that a clock from the future began is over once the clock is right', async () => {
  const { world, sender, recipient } = await twoMachines();
  const { submit } = sender.link;
  const id = sender.queue();
  const { now } = world.clock;
  world.clock.now += 5 * 3_600_000;
  sender.link.submit = offline;
  await sender.pump.run();
  world.clock.now = now;
  sender.link.submit = submit;
  await sender.pump.run();
  await recipient.pump.run();
  expect(inboxIds(recipient)).toEqual([id]);
});

test('an answer that got lost is asked for again, and the message still goes out once', async () => {
  const { world, sender, recipient } = await twoMachines();
  const { submit } = sender.link;
  sender.link.submit = async (jws) => {
    await submit(jws);
    throw new Error('connection reset');
  };
  const id = sender.queue();
  await sender.pump.run();
  sender.link.submit = submit;
  world.clock.now += 2_000;
  await sender.pump.run();
  await recipient.pump.run();
  expect(sender.outbox(id)).toMatchObject({ state: 'sent', attempts: 2 });
  expect(inboxIds(recipient)).toEqual([id]);
});

test('a new message never overtakes the backlog to its recipient, and others do not wait for it', async () => {
  const { world, sender, recipient } = await twoMachines();
  const third = await machineAt(world, 'agent://local/shop/reviewer');
  const { submit } = sender.link;
  const sent: string[] = [];
  let failing = true;
  sender.link.submit = async (jws) => {
    const envelope = JSON.parse(Buffer.from((JSON.parse(jws) as { payload: string }).payload, 'base64url').toString()) as {
      id: string;
      subject: string;
    };
    if (failing && envelope.subject === CODEX) return offline();
    sent.push(envelope.id);
    return submit(jws);
  };
  const [first, second, other] = [sender.queue(), sender.queue(), sender.queue({ to: 'agent://local/shop/reviewer' })];
  await sender.pump.run();
  expect(sent).toEqual([other]);
  failing = false;
  const late = sender.queue();
  await sender.pump.run();
  expect(sent).toEqual([other]);
  world.clock.now += 2_000;
  await sender.pump.run();
  expect(sent).toEqual([other, first, second, late]);
  await recipient.pump.run();
  await third.pump.run();
  expect(inboxIds(recipient)).toEqual([first, second, late]);
});

test.each([
  ['AB-5001', { to: 'agent://local/shop/none' }],
  ['AB-4002', { from: 'agent://local/shop/somebody' }],
])('a refusal for good (%s) makes the message dead at once, with the reason where the sender looks', async (code, draft) => {
  const { sender } = await twoMachines();
  const id = sender.queue(draft);
  const next = sender.queue();
  await sender.pump.run();
  expect(sender.outbox(id).state).toBe('dead');
  expect(JSON.parse(sender.outbox(id).reason!)).toMatchObject({ code, hint: expect.any(String) as string });
  expect(sender.store.receipts(id)).toMatchObject([{ state: 'rejected', detail: { code } }]);
  expect(sender.outbox(next).state).toBe('sent');
});

test('a full inbox refuses each message once: there is no second try and nothing goes round for ever', async () => {
  const { sender, recipient } = await twoMachines();
  let calls = 0;
  const { submit } = sender.link;
  sender.link.submit = async (jws) => {
    if (++calls > 10) throw new AgentBusError('AB-5007', 'the inbox is full', 'later');
    return submit(jws);
  };
  const ids = Array.from({ length: 25 }, () => sender.queue());
  for (let round = 0; round < 20; round++) {
    await sender.pump.run();
    await recipient.pump.run();
  }
  expect(calls).toBe(25);
  expect(ids.filter((id) => sender.outbox(id).state === 'dead')).toEqual(ids.slice(10));
  expect(inboxIds(recipient)).toEqual(ids.slice(0, 10));
});

test('after a time without network what is over is dropped with a note, and the rest goes out in order', async () => {
  const { world, sender, recipient } = await twoMachines();
  const { submit } = sender.link;
  const at = (seconds: number): void => void (world.clock.now = start + seconds * 1_000);
  const start = world.clock.now;
  const m1 = sender.queue();
  await sender.pump.run();
  at(2);
  sender.link.submit = offline;
  const m2 = sender.queue();
  await sender.pump.run();
  at(3);
  const m3 = sender.queue({ expiresIn: 1_000 });
  await sender.pump.run();
  at(8);
  sender.link.submit = submit;
  const m4 = sender.queue();
  await sender.pump.run();
  await recipient.pump.run();
  expect(inboxIds(recipient)).toEqual([m1, m2, m4]);
  expect(sender.outbox(m3).state).toBe('dead');
  expect(sender.store.receipts(m3)).toMatchObject([{ state: 'expired', detail: { code: 'AB-7004' } }]);
});

test('the wait between tries doubles from one second to ten minutes and never more', () => {
  fc.assert(
    fc.property(fc.nat(100), fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (attempts, random) => {
      const wait = backoff(attempts, random);
      const base = Math.min(600_000, 1_000 * 2 ** Math.min(attempts, 20));
      expect(Number.isInteger(wait) && wait >= base && wait <= base * 1.25).toBe(true);
    }),
  );
});
