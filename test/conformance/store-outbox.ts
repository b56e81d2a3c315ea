import { expect, test } from 'vitest';
import { newId } from '../../src/core/ids.ts';
import { CLAUDE, CODEX, NOW, receiptRow } from '../store/rows.ts';
import type { OpenWorld } from './store.ts';

const outgoing = (changes: { id?: string; sender?: string; nextAt?: number } = {}) => ({
  id: newId('msg'),
  sender: CLAUDE,
  recipient: CODEX,
  jws: '{"signed":1}',
  nextAt: NOW,
  createdAt: NOW,
  expiresAt: NOW + 1_000,
  ...changes,
});
const ids = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id);

export function outboxTests(open: OpenWorld): void {
  test('what is queued comes out in the order it went in, whenever its next try is', () => {
    const { store, reopen } = open();
    const rows = [NOW + 50, NOW, NOW + 10].map((nextAt) => outgoing({ nextAt }));
    for (const row of rows) store.addOutbox(row);
    expect(store.outboxMessage(rows[0]!.id)).toEqual({
      ...rows[0],
      seq: expect.any(Number) as number,
      state: 'queued',
      attempts: 0,
      reason: null,
    });
    expect(ids(reopen().queuedOutbox(10))).toEqual(ids(rows));
  });

  test('sent and dead messages leave the queue and keep how they ended', () => {
    const { store } = open();
    const [first, second, third] = [outgoing(), outgoing(), outgoing()];
    for (const row of [first, second, third]) store.addOutbox(row);
    store.settleOutbox(first.id, 'sent', null);
    store.settleOutbox(second.id, 'dead', 'AB-5001');
    expect(ids(store.queuedOutbox(10))).toEqual([third.id]);
    expect(store.outboxMessage(first.id)).toMatchObject({ state: 'sent', attempts: 1, reason: null });
    expect(store.outboxMessage(second.id)).toMatchObject({ state: 'dead', attempts: 1, reason: 'AB-5001' });
    expect(store.outboxMessage('msg_none')).toBeNull();
  });

  test('a retry counts, keeps its place and says why', () => {
    const { store } = open();
    const [first, second] = [outgoing(), outgoing()];
    for (const row of [first, second]) store.addOutbox(row);
    store.retryOutbox(first.id, NOW + 1_000, 'link down');
    store.retryOutbox(first.id, NOW + 3_000, 'link down');
    expect(store.queuedOutbox(10)).toMatchObject([
      { id: first.id, attempts: 2, nextAt: NOW + 3_000, reason: 'link down' },
      { id: second.id },
    ]);
  });

  test('an id goes out once', () => {
    const { store } = open();
    const row = outgoing();
    store.addOutbox(row);
    expect(() => store.addOutbox({ ...row, recipient: CLAUDE })).toThrow(/constraint|REFERENCES|UNIQUE/i);
  });

  test('what an agent sent is listed newest first', () => {
    const { store } = open();
    const rows = [outgoing(), outgoing(), outgoing({ sender: CODEX }), outgoing()];
    for (const row of rows) store.addOutbox(row);
    expect(ids(store.sentBy(CLAUDE, 2))).toEqual([rows[3]!.id, rows[1]!.id]);
  });

  test('a receipt is kept once and stands in the order of its time', () => {
    const { store } = open();
    const id = newId('msg');
    const [late, early] = [receiptRow(id, { at: NOW + 5, state: 'read', agent: null, sender: null, detail: {} }), receiptRow(id)];
    expect([late, early, late].map((row) => store.addReceipt(row))).toEqual([true, true, false]);
    expect(store.receipts(id)).toEqual([early, late]);
    expect(store.receipts(newId('msg'))).toEqual([]);
  });

  test('receipts go out in the order they were made, and only those that are to go out', () => {
    const { store, reopen } = open();
    const id = newId('msg');
    const rows = [receiptRow(id, { at: NOW + 9 }), receiptRow(id, { queued: false }), receiptRow(id), receiptRow(id)];
    for (const row of rows) store.addReceipt(row);
    expect(ids(store.queuedReceipts(2))).toEqual([rows[0]!.id, rows[2]!.id]);
    store.receiptSent(rows[0]!.id);
    expect(ids(reopen().queuedReceipts(10))).toEqual([rows[2]!.id, rows[3]!.id]);
  });

  test('receipts are followed in the order they came, from a cursor or from the last few on', () => {
    const { store } = open();
    const rows = [3, 1, 2].map((at) => receiptRow(newId('msg'), { at: NOW + at }));
    expect(store.receiptsAfter(null, 5)).toEqual([]);
    for (const row of rows) store.addReceipt(row);
    const last = store.receiptsAfter(null, 2);
    expect(last.map(({ receipt }) => receipt)).toEqual(rows.slice(1));
    expect(store.receiptsAfter(last.at(-1)!.cursor, 5)).toEqual([]);
    const next = receiptRow(newId('msg'));
    store.addReceipt(next);
    expect(store.receiptsAfter(last.at(-1)!.cursor, 5).map(({ receipt }) => receipt)).toEqual([next]);
    expect(store.receiptsAfter(0, 2).map(({ receipt }) => receipt)).toEqual(rows.slice(0, 2));
  });
}
