import { describe, expect, test } from 'vitest';
import { newId } from '../../src/core/ids.ts';
import { blobTests, forgetTests, taskTests } from './hub-tasks.ts';
import type { HubMessage, HubReceipt, HubStore, MessageStep, NewMessage } from '../../src/hub/store.ts';

export interface HubStoreWorld {
  store: HubStore;
  /** Closes the store and opens it again on the same data. */
  reopen(): Promise<HubStore>;
}

/** A fresh and empty store; it is closed when the test that asked for it is over. */
export type OpenHubWorld = () => Promise<HubStoreWorld>;

const NOW = Date.parse('2026-10-10T14:00:00Z');
const CLAUDE = 'agent://local/shop/claude';
const CODEX = 'agent://local/shop/codex';
const device = (id = 'dev_a') => ({ id, workspace: 'local', publicKey: `key of ${id}`, enrolledAt: NOW });
const agent = (address = CODEX, owner = 'dev_a') => ({
  address,
  workspace: 'local',
  device: owner,
  card: { kind: 'slot' },
  updatedAt: NOW,
});

function message(changes: Partial<NewMessage> = {}): NewMessage {
  return {
    workspace: 'local',
    source: CLAUDE,
    id: newId('msg'),
    recipient: CODEX,
    conversation: 'cnv-1',
    jws: '{"signed":1}',
    digest: 'digest-1',
    device: 'dev_a',
    acceptedAt: NOW,
    expiresAt: NOW + 1_000,
    blobs: [],
    ...changes,
  };
}

function receipt(messageId: string, changes: Partial<HubReceipt> = {}): HubReceipt {
  return { id: newId('rct'), workspace: 'local', messageId, state: 'read', at: NOW, agent: CODEX, detail: { by: 'inbox' }, ...changes };
}

const add = (store: HubStore, row: NewMessage) => store.addMessage(row, step(row, 'accepted'));

function step(row: NewMessage | HubMessage, state: string, except: string | null = null): MessageStep {
  return { receipt: receipt(row.id, { state, agent: row.recipient, detail: {} }), source: row.source, except, state };
}

function directoryTests(open: OpenHubWorld): void {
  test('the first key of a device stays', async () => {
    const { store, reopen } = await open();
    await store.addDevice(device());
    await store.addDevice({ ...device(), publicKey: 'other' });
    expect(await store.device('dev_b')).toBeNull();
    expect(await (await reopen()).device('dev_a')).toEqual(device());
  });

  test('an address belongs to the device that claimed it first, which may change its card', async () => {
    const { store } = await open();
    await store.addDevice(device());
    await store.addDevice(device('dev_b'));
    expect(await store.putAgent(agent())).toBe(true);
    expect(await store.putAgent(agent(CODEX, 'dev_b'))).toBe(false);
    expect(await store.putAgent({ ...agent(), card: { kind: 'name' }, updatedAt: NOW + 1 })).toBe(true);
    expect(await store.agent(CODEX)).toEqual({ ...agent(), card: { kind: 'name' }, updatedAt: NOW + 1 });
    expect(await store.agent(CLAUDE)).toBeNull();
  });

  test('the directory of a workspace is its own agents, by address', async () => {
    const { store } = await open();
    await store.addDevice(device());
    for (const row of [agent(CODEX), agent(CLAUDE), { ...agent('agent://acme/x/y'), workspace: 'acme' }]) await store.putAgent(row);
    expect((await store.agents('local')).map(({ address }) => address)).toEqual([CLAUDE, CODEX]);
  });
}

function messageTests(open: OpenHubWorld): void {
  test('a message is taken once, with the next number of its conversation', async () => {
    const { store, reopen } = await open();
    const [first, second, other] = [message(), message(), message({ conversation: 'cnv-2' })];
    expect(await add(store, first)).toEqual({ result: 'new', conversationSeq: 1 });
    expect(await add(store, second)).toEqual({ result: 'new', conversationSeq: 2 });
    expect(await add(store, other)).toEqual({ result: 'new', conversationSeq: 1 });
    expect(await add(store, first)).toEqual({ result: 'duplicate', conversationSeq: 1 });
    expect(await add(store, { ...first, digest: 'other', jws: '{"changed":1}' })).toMatchObject({ result: 'conflict' });
    expect(await add(store, message({ workspace: 'acme' }))).toEqual({ result: 'new', conversationSeq: 1 });
    const later = await reopen();
    expect(await add(later, second)).toEqual({ result: 'duplicate', conversationSeq: 2 });
    const { blobs: _blobs, ...kept } = first;
    expect(await later.message('local', first.id)).toEqual({ ...kept, conversationSeq: 1, state: 'accepted' });
    expect(await later.message('acme', first.id)).toBeNull();
  });

  test('only a new message is queued for the recipient’s device, with its bytes as they came', async () => {
    const { store } = await open();
    const row = message();
    for (const each of [row, row, { ...row, digest: 'other' }]) await add(store, each);
    expect(await store.deliveries('dev_a', 0, 10)).toEqual([
      { seq: expect.any(Number) as number, kind: 'message', body: row.jws, messageId: row.id, conversationSeq: 1 },
    ]);
    expect(await store.deliveries('dev_b', 0, 10)).toEqual([]);
  });

  test('messages that are neither seen nor closed are counted, in all and by sender', async () => {
    const { store } = await open();
    const rows = [message(), message(), message({ source: 'agent://local/shop/reviewer' }), message({ recipient: CLAUDE })];
    for (const row of rows) await add(store, row);
    expect(await store.openMessages(CODEX, CLAUDE, NOW)).toEqual({ all: 3, fromSource: 2 });
    await store.addStep(step(rows[0]!, 'delivered'));
    expect(await store.openMessages(CODEX, CLAUDE, NOW)).toEqual({ all: 3, fromSource: 2 });
    await store.addStep(step(rows[0]!, 'presented'));
    expect(await store.openMessages(CODEX, CLAUDE, NOW)).toEqual({ all: 2, fromSource: 1 });
    expect(await store.openMessages(CODEX, 'agent://local/shop/none', NOW)).toEqual({ all: 2, fromSource: 0 });
    expect(await store.openMessages(CODEX, CLAUDE, NOW + 1_000)).toEqual({ all: 0, fromSource: 0 });
  });

  test('what one agent sent another lately is counted', async () => {
    const { store } = await open();
    for (const acceptedAt of [NOW, NOW + 10, NOW + 20]) await add(store, message({ acceptedAt }));
    await add(store, message({ recipient: CLAUDE, acceptedAt: NOW + 30 }));
    expect(await store.recentMessages(CLAUDE, CODEX, NOW, NOW + 20)).toBe(2);
    expect(await store.recentMessages(CLAUDE, CODEX, NOW, NOW + 19)).toBe(1);
  });
}

function deliveryTests(open: OpenHubWorld): void {
  test('deliveries come in order from a place on, and stay until they are acknowledged', async () => {
    const { store, reopen } = await open();
    const rows = [message(), message(), message()];
    for (const row of rows) await add(store, row);
    await store.addDevice(device());
    await store.putAgent(agent(CLAUDE));
    expect(await store.addStep(step(rows[0]!, 'offered'))).toBe('dev_a');
    const all = await store.deliveries('dev_a', 0, 10);
    expect(all.map(({ kind, messageId }) => [kind, messageId])).toEqual([
      ...rows.map(({ id }) => ['message', id]),
      ['receipt', rows[0]!.id],
    ]);
    expect(await store.deliveries('dev_a', all[1]!.seq, 1)).toEqual([all[2]]);
    const delivered = (row: HubMessage): MessageStep => step(row, 'delivered', 'dev_a');
    for (const seqs of [[all[0]!.seq, all[2]!.seq], [all[0]!.seq]]) expect(await store.ack('dev_a', seqs, delivered)).toEqual([]);
    expect(await (await reopen()).deliveries('dev_a', 0, 10)).toEqual([all[1], all[3]]);
  });

  test('a number is never given twice, even when its delivery is gone', async () => {
    const { store, reopen } = await open();
    await add(store, message());
    const [first] = await store.deliveries('dev_a', 0, 10);
    await store.addDevice(device());
    await store.ack('dev_a', [first!.seq], (row) => step(row, 'delivered', 'dev_a'));
    const later = await reopen();
    await add(later, message());
    expect((await later.deliveries('dev_a', 0, 10))[0]!.seq).toBeGreaterThan(first!.seq);
  });
}

function stepTests(open: OpenHubWorld): void {
  test('an acknowledged message takes its step, and its sender’s device is told, once', async () => {
    const { store, reopen } = await open();
    for (const id of ['dev_a', 'dev_b']) await store.addDevice(device(id));
    await store.putAgent(agent(CLAUDE, 'dev_b'));
    const row = message();
    await add(store, row);
    const [delivery] = await store.deliveries('dev_a', 0, 10);
    expect(await store.ack('dev_a', [delivery!.seq], (each) => step(each, 'delivered'))).toEqual(['dev_b']);
    expect(await store.ack('dev_a', [delivery!.seq], (each) => step(each, 'delivered'))).toEqual([]);
    const later = await reopen();
    expect((await later.message('local', row.id))?.state).toBe('delivered');
    expect((await later.receipts('local', row.id)).map(({ state }) => state)).toEqual(['accepted', 'delivered']);
    const told = (await later.deliveries('dev_b', 0, 10)).map(({ kind, body }) => [kind, (JSON.parse(body) as HubReceipt).state]);
    expect(told).toEqual([
      ['receipt', 'accepted'],
      ['receipt', 'delivered'],
    ]);
  });

  test('what is closed stays closed, and a step without a state changes none', async () => {
    const { store } = await open();
    const row = message();
    await add(store, row);
    await store.addStep(step(row, 'presented'));
    await store.addStep(step(row, 'delivered'));
    await store.addStep({ ...step(row, 'offered'), state: null });
    expect((await store.message('local', row.id))?.state).toBe('presented');
  });
}

function receiptTests(open: OpenHubWorld): void {
  test('a receipt is kept once; receipts stand in the order of their time', async () => {
    const { store, reopen } = await open();
    const id = newId('msg');
    const [late, early] = [receipt(id, { at: NOW + 5 }), receipt(id, { state: 'offered', agent: null, detail: {} })];
    const keep = (each: HubReceipt) => store.addStep({ receipt: each, source: CLAUDE, except: null, state: null });
    expect([await keep(late), await keep(early), await keep(late)]).toEqual([null, null, false]);
    const later = await reopen();
    expect(await later.receipts('local', id)).toEqual([early, late]);
    expect(await later.receipts('acme', id)).toEqual([]);
  });

  test('records are kept once and found by agent and event, newest first', async () => {
    const { store } = await open();
    const row = (at: number, body: Record<string, unknown>) => ({ id: newId('rec'), workspace: 'local', at, body });
    const [first, second, third] = [
      row(NOW, { agent: CODEX, event: 'stop' }),
      row(NOW + 1, { agent: CLAUDE, event: 'stop' }),
      row(NOW + 2, { odd: [1] }),
    ];
    await store.addRecords([first, second]);
    await store.addRecords([second, third, { ...first, id: newId('rec'), workspace: 'acme' }]);
    expect(await store.records('local', { limit: 10 })).toEqual([third, second, first]);
    expect(await store.records('local', { limit: 1, event: 'stop' })).toEqual([second]);
    expect(await store.records('local', { limit: 10, agent: CODEX, event: 'stop' })).toEqual([first]);
  });
}

/** What every implementation of src/hub/store.ts has to fulfil. */
export function hubStoreConformance(name: string, open: OpenHubWorld): void {
  describe(`${name}: devices and directory`, () => {
    directoryTests(open);
  });
  describe(`${name}: messages`, () => {
    messageTests(open);
  });
  describe(`${name}: deliveries`, () => {
    deliveryTests(open);
  });
  describe(`${name}: receipts and records`, () => {
    stepTests(open);
    receiptTests(open);
  });
  describe(`${name}: tasks`, () => {
    taskTests(open);
  });
  describe(`${name}: attachments`, () => {
    blobTests(open);
    forgetTests(open);
  });
}
