import { expect, test } from 'vitest';
import { newId } from '../../src/core/ids.ts';
import { inboxRow, join, NOW, offerRow, receive, receiptRow } from '../store/rows.ts';
import type { OpenWorld } from './store.ts';

export function basicTests(open: OpenWorld): void {
  test.each(['promise', 'mark'] as const)('%s takes back all of a failed transaction and keeps a good one', (kind) => {
    const { store } = open();
    const failing = (): void =>
      store[kind](() => {
        store.setMeta('a', '1');
        store.addInbox(inboxRow());
        throw new Error('stop');
      });
    expect(failing).toThrow('stop');
    expect(store.meta('a')).toBeNull();
    expect(store.unreadCount(inboxRow().recipient, NOW)).toBe(0);
    expect(store[kind](() => (store.setMeta('a', '2'), 7))).toBe(7);
    expect(store.meta('a')).toBe('2');
  });

  test('a transaction inside another belongs to the outer one', () => {
    const { store } = open();
    const outer = (): void =>
      store.promise(() => {
        store.mark(() => store.setMeta('inner', '1'));
        throw new Error('stop');
      });
    expect(outer).toThrow('stop');
    expect(store.meta('inner')).toBeNull();
  });

  test('meta keeps the last value of a key', () => {
    const { store, reopen } = open();
    expect(store.meta('device')).toBeNull();
    store.setMeta('device', 'a');
    store.setMeta('device', 'b');
    expect(reopen().meta('device')).toBe('b');
  });

  test('records wait until they are sent, oldest first, and once each', () => {
    const { store, reopen } = open();
    const rows = [1, 2, 3].map((at) => ({ id: newId('rec'), at, body: `{"n":${at}}` }));
    for (const row of [...rows, rows[0]!]) store.addRecord(row);
    expect(store.queuedRecords(2)).toEqual(rows.slice(0, 2));
    store.recordsSent([rows[0]!.id, rows[1]!.id]);
    expect(reopen().queuedRecords(10)).toEqual([rows[2]]);
  });

  test('the first key of a device stays pinned', () => {
    const { store } = open();
    expect(store.pinnedKey('dev_1')).toBeNull();
    store.pinKey('dev_1', 'first', NOW);
    store.pinKey('dev_1', 'second', NOW);
    expect(store.pinnedKey('dev_1')).toBe('first');
  });

  test('what is over and old is forgotten, and nothing that waits or is open', () => {
    const { store } = open();
    const old = { expiresAt: NOW - 1 };
    const [read, unread, offered, later] = [receive(store, old), receive(store, old), receive(store, old), receive(store)];
    for (const { seq } of [read, offered, later]) store.advance(seq, 'read');
    const instance = join(store);
    store.addOffer(offerRow(instance.id, read.seq, { state: 'presented' }));
    store.addOffer(offerRow(instance.id, offered.seq));
    const [sent, waiting] = [receiptRow(read.id, { at: NOW - 1, queued: false }), receiptRow(read.id, { at: NOW - 1 })];
    for (const receipt of [sent, waiting]) store.addReceipt(receipt);
    for (let portion = 0; portion < 2; portion++) store.forget(NOW);
    const kept = [read, unread, offered, later].map(({ seq }) => store.inboxBySeq(seq)?.id);
    expect(kept).toEqual([undefined, unread.id, offered.id, later.id]);
    expect(store.offersOf(read.seq)).toEqual([]);
    expect(store.receipts(read.id).map(({ id }) => id)).toEqual([waiting.id]);
  });

  test('everything is there again after the store was closed and opened', () => {
    const { store, reopen } = open();
    const instance = join(store);
    const message = receive(store);
    const offer = offerRow(instance.id, message.seq);
    store.addOffer(offer);
    store.addReceipt(receiptRow(message.id));
    const later = reopen();
    expect(later.instanceById(instance.id)).toEqual(instance);
    expect(later.inboxBySeq(message.seq)).toEqual(message);
    expect(later.openOffers(instance.id)).toEqual([offer]);
    expect(later.receipts(message.id)).toHaveLength(1);
  });
}
