import { expect, test } from 'vitest';
import type { OfferState } from '../../src/store/contract.ts';
import { join, NOW, offerRow, receive } from '../store/rows.ts';
import type { OpenWorld } from './store.ts';

export function offerTests(open: OpenWorld): void {
  test('an offer is open until it is settled, and comes back field by field', () => {
    const { store } = open();
    const instance = join(store);
    const message = receive(store);
    const states: OfferState[] = ['open', 'accepted', 'presented', 'miss', 'unproven'];
    const rows = states.map((state, at) =>
      offerRow(instance.id, message.seq, { state, at: NOW + at, transcript: null, promptHash: null, toolIds: [] }),
    );
    for (const row of rows) store.addOffer(row);
    expect(store.openOffers(instance.id)).toEqual(rows.slice(0, 2));
    expect(store.offersOf(message.seq)).toEqual(rows);
    expect(store.openOffers('ins_other')).toEqual([]);
    for (const state of ['presented', 'miss'] as const) store.setOffer(rows[state === 'miss' ? 1 : 0]!.nonce, state);
    expect(store.openOffers(instance.id)).toEqual([]);
  });

  test('the instances that still wait for a verdict are known', () => {
    const { store } = open();
    const [first, second] = [join(store), join(store, { sessionKey: 'session-2' })];
    const message = receive(store);
    const offers = [first, first, second].map(({ id }) => offerRow(id, message.seq));
    for (const offer of offers) store.addOffer(offer);
    expect(store.instancesWithOffers().sort()).toEqual([first.id, second.id].sort());
    store.setOffer(offers[2]!.nonce, 'unproven');
    expect(store.instancesWithOffers()).toEqual([first.id]);
  });

  test('what has no verdict yet goes over to the instance that continues the session', () => {
    const { store } = open();
    const [before, after] = [join(store), join(store)];
    const message = receive(store);
    const rows = (['open', 'accepted', 'presented'] as const).map((state, at) => offerRow(before.id, message.seq, { state, at: NOW + at }));
    for (const row of rows) store.addOffer(row);
    store.moveOffers(before.id, after.id);
    expect(store.openOffers(before.id)).toEqual([]);
    expect(store.openOffers(after.id)).toEqual(rows.slice(0, 2).map((row) => ({ ...row, instance: after.id })));
    expect(store.offersOf(message.seq)[2]).toEqual(rows[2]);
  });

  test('prompts behind an offer are remembered in order, up to fifty', () => {
    const { store } = open();
    const instance = join(store);
    const offer = offerRow(instance.id, receive(store).seq);
    store.addOffer(offer);
    for (let at = 0; at < 60; at++) store.addLaterHash(offer.nonce, `h"${at}`);
    expect(store.openOffers(instance.id)[0]!.laterHashes).toEqual(Array.from({ length: 50 }, (_, at) => `h"${at}`));
  });

  test('what was seen at a stop is listed until it counts as read', () => {
    const { store } = open();
    const instance = join(store);
    const [atStop, atPrompt, missed] = [receive(store), receive(store), receive(store)];
    store.addOffer(offerRow(instance.id, atStop.seq, { kind: 'stop', state: 'presented' }));
    store.addOffer(offerRow(instance.id, atPrompt.seq, { kind: 'prompt', state: 'presented' }));
    store.addOffer(offerRow(instance.id, missed.seq, { kind: 'stop', state: 'miss' }));
    for (const { seq } of [atStop, atPrompt]) store.advance(seq, 'presented');
    expect(store.seenAtStop(instance.id)).toEqual([atStop.seq]);
    store.advance(atStop.seq, 'read');
    expect(store.seenAtStop(instance.id)).toEqual([]);
  });

  test('what an instance has seen since a time and not read is listed in the order it came', () => {
    const { store } = open();
    const [instance, other] = [join(store), join(store, { sessionKey: 'session-2' })];
    const rows = Array.from({ length: 5 }, () => receive(store));
    const [first, second, early, missed, foreign] = rows.map(({ seq }) => seq) as [number, number, number, number, number];
    const seen = (message: number, at: number, changes = {}, by = instance.id) =>
      store.addOffer(offerRow(by, message, { at, state: 'presented', ...changes }));
    seen(second, NOW + 1);
    seen(first, NOW, { kind: 'stop' });
    seen(first, NOW + 5);
    seen(early, NOW - 1);
    seen(missed, NOW, { state: 'miss' });
    seen(foreign, NOW, {}, other.id);
    for (const { seq } of rows) store.advance(seq, 'presented');
    expect(store.seenSince(instance.id, NOW)).toEqual([first, second]);
    store.advance(first, 'read');
    expect(store.seenSince(instance.id, NOW)).toEqual([second]);
  });

  test('a nonce is used once, for a message and an instance that exist', () => {
    const { store } = open();
    const instance = join(store);
    const offer = offerRow(instance.id, receive(store).seq);
    store.addOffer(offer);
    expect(() => store.addOffer(offer)).toThrow(/constraint|REFERENCES|UNIQUE/i);
    expect(() => store.addOffer(offerRow(instance.id, 999_999))).toThrow(/constraint|REFERENCES|UNIQUE/i);
    expect(() => store.addOffer(offerRow('ins_other', offer.message))).toThrow(/constraint|REFERENCES|UNIQUE/i);
  });
}
