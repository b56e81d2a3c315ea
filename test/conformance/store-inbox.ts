import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LIMITS } from '../../src/core/limits.ts';
import type { InboxState } from '../../src/store/contract.ts';
import { CLAUDE, CODEX, inboxRow, join, NOW, offerRow, receive } from '../store/rows.ts';
import type { OpenWorld } from './store.ts';

const STATES: readonly InboxState[] = ['unread', 'presented', 'read', 'replied', 'resolved', 'expired'];
const ids = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id);

export function inboxTests(open: OpenWorld): void {
  test('a message counts once: the same bytes again are a duplicate, other bytes a conflict', () => {
    const { store, reopen } = open();
    const row = inboxRow();
    expect(store.addInbox(row)).toBe('new');
    expect(store.addInbox(row)).toBe('duplicate');
    expect(store.addInbox({ ...row, digest: 'other', jws: '{"changed":1}' })).toBe('conflict');
    const later = reopen();
    expect(later.addInbox(row)).toBe('duplicate');
    expect(later.inboxMessage(row.id)).toEqual({
      ...row,
      seq: expect.any(Number) as number,
      state: 'unread',
      shows: 0,
      unproven: 0,
      stopUsed: false,
    });
    expect(later.unreadCount(CLAUDE, NOW)).toBe(1);
  });

  test('the same id is another message in another workspace or of another sender', () => {
    const { store } = open();
    const row = inboxRow();
    expect([row, { ...row, workspace: 'acme' }, { ...row, source: CLAUDE }].map((each) => store.addInbox(each))).toEqual([
      'new',
      'new',
      'new',
    ]);
  });

  test('a message of which everything is known stays a duplicate after it was read', () => {
    const { store } = open();
    const row = receive(store);
    store.advance(row.seq, 'read');
    expect(store.addInbox(row)).toBe('duplicate');
    expect(store.inboxBySeq(row.seq)!.state).toBe('read');
  });

  test('what may be shown comes by priority, then by arrival', () => {
    const { store } = open();
    const [low, urgent, normal, urgent2] = [0, 3, 1, 3].map((priority) => receive(store, { priority }));
    receive(store, { recipient: CODEX, priority: 3 });
    expect(ids(store.showable(CLAUDE, NOW, 10))).toEqual(ids([urgent!, urgent2!, normal!, low!]));
    expect(ids(store.showable(CLAUDE, NOW, 2))).toEqual(ids([urgent!, urgent2!]));
  });

  test('within a conversation it comes by the number that the hub gave it', () => {
    const { store } = open();
    const conversation = 'cnv-1';
    const rows = [3, 1, 2].map((conversationSeq) => receive(store, { conversation, conversationSeq, priority: conversationSeq }));
    receive(store);
    expect(ids(store.showableIn(CLAUDE, conversation, NOW, 10))).toEqual(ids([rows[1]!, rows[2]!, rows[0]!]));
    expect(ids(store.showableIn(CLAUDE, conversation, NOW, 1))).toEqual(ids([rows[1]!]));
  });

  test('expired, read and twice unproven messages are not shown; all but the first two stay unread', () => {
    const { store } = open();
    const [expired, read, tired, good] = [receive(store, { expiresAt: NOW }), receive(store), receive(store), receive(store)];
    store.advance(read.seq, 'read');
    store.countUnproven(tired.seq);
    expect(ids(store.showable(CLAUDE, NOW, 10))).toEqual(ids([tired, good]));
    store.countUnproven(tired.seq);
    expect(ids(store.showable(CLAUDE, NOW, 10))).toEqual(ids([good]));
    expect(store.showableIn(CLAUDE, expired.conversation, NOW, 10)).toEqual([]);
    expect(store.unreadCount(CLAUDE, NOW)).toBe(2);
    expect(store.inboxBySeq(tired.seq)).toMatchObject({ unproven: 2, state: 'unread' });
  });

  test('what has passed the hop limit is counted as held', () => {
    const { store } = open();
    receive(store, { hops: LIMITS.maxHops - 1 });
    const [held] = [receive(store, { hops: LIMITS.maxHops }), receive(store, { hops: LIMITS.maxHops, expiresAt: NOW })];
    expect([store.heldCount(CLAUDE, NOW), store.heldCount(CODEX, NOW)]).toEqual([1, 0]);
    store.advance(held.seq, 'read');
    expect(store.heldCount(CLAUDE, NOW)).toBe(0);
  });

  test('while an offer is open neither the message nor what follows in its conversation is shown', () => {
    const { store } = open();
    const instance = join(store);
    const first = receive(store, { conversation: 'cnv-1' });
    const second = receive(store, { conversation: 'cnv-1', conversationSeq: 2 });
    const other = receive(store);
    const offer = offerRow(instance.id, first.seq);
    store.addOffer(offer);
    expect(ids(store.showable(CLAUDE, NOW, 10))).toEqual(ids([other]));
    expect(store.showableIn(CLAUDE, 'cnv-1', NOW, 10)).toEqual([]);
    store.setOffer(offer.nonce, 'accepted');
    expect(ids(store.showable(CLAUDE, NOW, 10))).toEqual(ids([second, other]));
    store.setOffer(offer.nonce, 'miss');
    expect(ids(store.showable(CLAUDE, NOW, 10))).toEqual(ids([first, second, other]));
  });

  test('an open offer to one agent holds back nothing of the same conversation for another', () => {
    const { store } = open();
    const instance = join(store);
    const question = receive(store, { conversation: 'cnv-1' });
    const answer = receive(store, { conversation: 'cnv-1', conversationSeq: 2, source: CLAUDE, recipient: CODEX });
    store.addOffer(offerRow(instance.id, question.seq));
    expect(ids(store.showable(CODEX, NOW, 10))).toEqual(ids([answer]));
    expect(ids(store.showableIn(CODEX, 'cnv-1', NOW, 10))).toEqual(ids([answer]));
  });

  test('a state moves forward only, along any path', () => {
    const { store } = open();
    const rank: Record<InboxState, number> = { unread: 0, expired: 1, presented: 1, read: 2, replied: 3, resolved: 4 };
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...STATES), { maxLength: 8 }), (path) => {
        const { seq } = receive(store);
        for (const state of path) {
          const before = store.inboxBySeq(seq)!.state;
          const moved = store.advance(seq, state);
          expect(store.inboxBySeq(seq)!.state).toBe(moved ? state : before);
          expect(!moved || rank[state] > rank[before]).toBe(true);
        }
      }),
      { numRuns: 50 },
    );
    const { seq } = receive(store);
    expect(
      ['presented', 'presented', 'read', 'presented', 'replied', 'expired', 'resolved'].map((state) =>
        store.advance(seq, state as InboxState),
      ),
    ).toEqual([true, false, true, false, true, false, true]);
    expect(store.advance(999_999, 'read')).toBe(false);
  });

  test('a show is counted, and that it was at a stop is remembered', () => {
    const { store } = open();
    const { seq } = receive(store);
    store.countShow(seq, false);
    expect(store.inboxBySeq(seq)).toMatchObject({ shows: 1, stopUsed: false });
    store.countShow(seq, true);
    store.countShow(seq, false);
    expect(store.inboxBySeq(seq)).toMatchObject({ shows: 3, stopUsed: true });
  });

  test('a list goes on where the last one ended', () => {
    const { store } = open();
    const rows = Array.from({ length: 5 }, () => receive(store));
    store.advance(rows[1]!.seq, 'read');
    const page = store.listInbox(CLAUDE, { unreadOnly: false, after: 0, limit: 2 });
    expect(ids(page)).toEqual(ids(rows.slice(0, 2)));
    expect(ids(store.listInbox(CLAUDE, { unreadOnly: false, after: page[1]!.seq, limit: 10 }))).toEqual(ids(rows.slice(2)));
    expect(ids(store.listInbox(CLAUDE, { unreadOnly: true, after: 0, limit: 10 }))).toEqual(ids(rows.filter((_, at) => at !== 1)));
  });

  test('what is over expires once, unless its showing is still open', () => {
    const { store } = open();
    const instance = join(store);
    const [due, shown] = [receive(store, { expiresAt: NOW + 10 }), receive(store, { expiresAt: NOW + 10 })];
    const offer = offerRow(instance.id, shown.seq);
    store.addOffer(offer);
    receive(store, { expiresAt: NOW + 11 });
    expect(store.expireInbox(NOW + 9)).toEqual([]);
    expect(ids(store.expireInbox(NOW + 10))).toEqual(ids([due]));
    expect(store.expireInbox(NOW + 10)).toEqual([]);
    store.setOffer(offer.nonce, 'miss');
    expect(ids(store.expireInbox(NOW + 10))).toEqual(ids([shown]));
    expect(store.inboxBySeq(due.seq)!.state).toBe('expired');
  });
}
