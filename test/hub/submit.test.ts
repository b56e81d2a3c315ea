import { expect, test } from 'vitest';
import { newId } from '../../src/core/ids.ts';
import { signEnvelope } from '../../src/core/jws.ts';
import { LIMITS } from '../../src/core/limits.ts';
import { codeOfAsync } from '../core/codes.ts';
import { newKeys } from '../core/samples.ts';
import { CLAUDE, CODEX, hubWorld, statesOf } from './world.ts';

test('a message is accepted, waits for its recipient’s machine as it was signed, and its sender learns so', async () => {
  const world = hubWorld();
  const [sender, recipient] = [await world.machine(CLAUDE), await world.machine(CODEX)];
  const { id, jws } = await world.send(sender);
  expect(await world.hub.pull(recipient.id, 0, 10)).toMatchObject([{ kind: 'message', body: jws, messageId: id, conversationSeq: 1 }]);
  expect(await world.hub.pull(sender.id, 0, 10)).toMatchObject([{ kind: 'receipt', messageId: id }]);
  expect(await statesOf(world, sender, id)).toEqual(['accepted']);
});

test('the same message twice is accepted twice and delivered once; other bytes under its id are refused', async () => {
  const world = hubWorld();
  const [sender, recipient] = [await world.machine(CLAUDE), await world.machine(CODEX)];
  const { id, jws } = await world.send(sender, { data: 'hello m1' });
  expect(await world.hub.submit(sender.id, jws)).toEqual({ id, state: 'accepted', duplicate: true });
  expect(await codeOfAsync(world.send(sender, { id, data: 'CHANGED' }))).toBe('AB-5005');
  expect((await world.hub.pull(recipient.id, 0, 10)).map(({ body }) => body)).toEqual([jws]);
  expect(await statesOf(world, sender, id)).toEqual(['accepted']);
});

test('an id that another sender used in the workspace is refused, so no receipt can mean the wrong message', async () => {
  const world = hubWorld();
  const keys = await world.machine(CLAUDE, CODEX, 'agent://local/shop/mallory');
  const { id } = await world.send(keys);
  expect(await codeOfAsync(world.send(keys, { id, from: 'agent://local/shop/mallory' }))).toBe('AB-5005');
  expect((await world.store.message('local', id))!.source).toBe(CLAUDE);
});

test('a sender speaks only for addresses of its own machine, under its own key', async () => {
  const world = hubWorld();
  const [owner, other] = [await world.machine(CLAUDE), await world.machine(CODEX)];
  const signedByOther = signEnvelope(world.envelope(), other.id, other.key);
  const signedByOwner = signEnvelope(world.envelope(), owner.id, owner.key);
  expect(await codeOfAsync(world.hub.submit(other.id, signedByOther))).toBe('AB-4002');
  expect(await codeOfAsync(world.hub.submit(owner.id, signedByOther))).toBe('AB-4001');
  expect(await codeOfAsync(world.hub.submit(other.id, signedByOwner))).toBe('AB-4001');
  // The right device id with a wrong key.
  expect(await codeOfAsync(world.hub.submit(owner.id, signEnvelope(world.envelope(), owner.id, other.key)))).toBe('AB-4001');
  const stranger = newKeys();
  expect(await codeOfAsync(world.hub.submit(stranger.id, signEnvelope(world.envelope(), stranger.id, stranger.key)))).toBe('AB-4001');
});

test('a message for nobody, or for another workspace, is refused', async () => {
  const world = hubWorld();
  const keys = await world.machine(CLAUDE, CODEX);
  const foreign = newKeys();
  await world.hub.enroll({ id: foreign.id, workspace: 'acme', publicKey: foreign.publicKey });
  await world.hub.announce(foreign.id, 'agent://acme/shop/codex', {});
  expect(await codeOfAsync(world.send(keys, { to: 'agent://local/shop/none' }))).toBe('AB-5001');
  expect(await codeOfAsync(world.send(keys, { to: 'agent://acme/shop/codex' }))).toBe('AB-5001');
});

test('an expired message is refused, and so is one from a clock that runs ahead', async () => {
  const world = hubWorld();
  const keys = await world.machine(CLAUDE, CODEX);
  const jws = signEnvelope(world.envelope({ expiresIn: 1_000 }), keys.id, keys.key);
  world.clock.now += 1_000;
  expect(await codeOfAsync(world.hub.submit(keys.id, jws))).toBe('AB-7004');
  const now = world.clock.now;
  world.clock.now = now + LIMITS.clockSkewAhead;
  const ahead = signEnvelope(world.envelope(), keys.id, keys.key);
  world.clock.now = now - 1;
  expect(await codeOfAsync(world.hub.submit(keys.id, ahead))).toBe('AB-4001');
  world.clock.now = now;
  expect(await world.hub.submit(keys.id, ahead)).toMatchObject({ duplicate: false });
});

test('one pair may talk thirty times a minute; repeats of a known message do not count', async () => {
  const world = hubWorld();
  const keys = await world.machine(CLAUDE, CODEX, 'agent://local/shop/reviewer');
  const sent = [];
  for (let n = 0; n < LIMITS.pairPerMinute; n++) sent.push(await world.send(keys));
  expect(await codeOfAsync(world.send(keys))).toBe('AB-5006');
  expect(await world.hub.submit(keys.id, sent[0]!.jws)).toMatchObject({ duplicate: true });
  await world.send(keys, { to: 'agent://local/shop/reviewer' });
  await world.send(keys, { from: CODEX, to: CLAUDE });
  world.clock.now += 60_000;
  await world.send(keys);
});

test('a clock that was set back does not make old talk new', async () => {
  const world = hubWorld();
  const keys = await world.machine(CLAUDE, CODEX);
  for (let n = 0; n < LIMITS.pairPerMinute; n++) await world.send(keys);
  world.clock.now -= 24 * 3_600_000;
  await world.send(keys);
});

test.each([
  ['the inbox is full', { all: LIMITS.inboxPerAgent, fromSource: 0 }, 'AB-5007'],
  ['the sender’s share of it is full', { all: LIMITS.inboxPerSender, fromSource: LIMITS.inboxPerSender }, 'AB-5007'],
  ['one place is left', { all: LIMITS.inboxPerAgent - 1, fromSource: LIMITS.inboxPerSender - 1 }, 'taken'],
])('when %s, the sender is told', async (_what, open, expected) => {
  const world = hubWorld(() => ({ openMessages: async () => open }));
  const keys = await world.machine(CLAUDE, CODEX);
  const outcome = await world.send(keys).then(
    () => 'taken',
    (error: { code: string }) => error.code,
  );
  expect(outcome).toBe(expected);
});

test('an address stays with the machine that claimed it, inside its workspace', async () => {
  const world = hubWorld();
  const [first, second] = [await world.machine(CLAUDE), await world.machine()];
  expect(await codeOfAsync(world.hub.announce(second.id, CLAUDE, {}))).toBe('AB-4002');
  expect(await codeOfAsync(world.hub.announce(second.id, 'agent://acme/shop/claude', {}))).toBe('AB-7002');
  expect(await codeOfAsync(world.hub.announce(second.id, 'no address', {}))).toBe('AB-7002');
  expect(await codeOfAsync(world.hub.announce(newId('dev'), CODEX, {}))).toBe('AB-4001');
  expect(await world.hub.directory(second.id)).toMatchObject([{ address: CLAUDE, device: first.id }]);
});

test('a key of small order is not enrolled', async () => {
  const world = hubWorld();
  const publicKey = Buffer.alloc(32).toString('base64url');
  expect(await codeOfAsync((async () => world.hub.enroll({ id: newId('dev'), workspace: 'local', publicKey }))())).toBe('AB-4001');
});
