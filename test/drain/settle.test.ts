import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { HookEvent } from '../../src/core/harness.ts';
import { composeBatch, storeOffers, type Batch } from '../../src/drain/offer.ts';
import { settle, type SessionState, type SettleContext } from '../../src/drain/settle.ts';
import { createTranscriptReader } from '../../src/drain/transcript.ts';
import { claude } from '../../src/harness/claude/harness.ts';
import type { InstanceRow, Store } from '../../src/store/contract.ts';
import { openStore } from '../../src/store/sqlite/store.ts';
import { CLAUDE, join, NOW } from '../store/rows.ts';
import { message } from './rows.ts';

interface World {
  store: Store;
  context: SettleContext;
  clock: { now: number };
  instance: InstanceRow;
  /** Writes these rows as the whole transcript. */
  write(rows: readonly Record<string, unknown>[], path?: string): string;
  /** Receives and offers a message at a place; answers with its number and what was shown. */
  offer(kind?: 'prompt' | 'stop'): { seq: number; batch: Batch };
  settle(session?: SessionState): void;
  states(seq: number): { message: string; offers: string[]; receipts: string[] };
}

const point = claude.inject.prompt!;

function world(): World {
  const home = realpathSync(mkdtempSync(joinPath(tmpdir(), 'ab-settle-')));
  const store = openStore(':memory:');
  onTestFinished(() => {
    store.close();
    rmSync(home, { recursive: true, force: true });
  });
  const folder = joinPath(home, '.claude', 'projects', 'shop');
  mkdirSync(folder, { recursive: true });
  const transcript = joinPath(folder, 's.jsonl');
  const clock = { now: NOW };
  const context: SettleContext = { store, transcripts: createTranscriptReader(), now: () => clock.now, userHome: home };
  const instance = join(store, { transcript, env: {} });
  return {
    store,
    context,
    clock,
    instance,
    write(rows, path = transcript) {
      writeFileSync(
        path,
        rows.map((row) => `${JSON.stringify({ isSidechain: false, timestamp: new Date(NOW + 1).toISOString(), ...row })}\n`).join(''),
      );
      return path;
    },
    offer(kind = 'prompt') {
      const { seq: _seq, state: _state, shows: _shows, unproven: _unproven, stopUsed: _stopUsed, ...row } = message();
      store.addInbox(row);
      const stored = store.inboxMessage(row.id)!;
      const batch = composeBatch([stored], point, null);
      storeOffers(store, instance, event(kind, transcript), batch, 0, clock.now);
      return { seq: stored.seq, batch };
    },
    settle: (session = 'live') => store.mark(() => settle(context, claude, store.instanceById(instance.id)!, session)),
    states: (seq) => ({
      message: store.inboxBySeq(seq)!.state,
      offers: store.offersOf(seq).map(({ state }) => state),
      receipts: store.receipts(store.inboxBySeq(seq)!.id).map(({ state }) => state),
    }),
  };
}

function event(kind: 'prompt' | 'stop', transcript: string): HookEvent {
  return {
    kind,
    native: kind === 'prompt' ? 'UserPromptSubmit' : 'Stop',
    sessionKey: 'session-1',
    cwd: '/home/dev/shop',
    transcript,
    turn: null,
    subagent: false,
    source: null,
    reason: null,
    prompt: kind === 'prompt' ? 'go on' : null,
    tools: [],
    stopHookActive: false,
    model: null,
    usage: null,
  };
}

const user = { type: 'user', uuid: 'u1', parentUuid: null, message: { role: 'user', content: 'go on' } };
const context = (text: string, hookEvent = 'UserPromptSubmit') => ({
  type: 'attachment',
  uuid: 'c1',
  parentUuid: 'u1',
  attachment: { type: 'hook_additional_context', content: [text], hookEvent },
});
const answer = (parentUuid = 'c1') => ({
  type: 'assistant',
  uuid: 'a1',
  parentUuid,
  message: { id: 'm1', role: 'assistant', model: 'model-1', content: [] },
});

test('accepted, then answered: the message is presented, and each step is told to its sender once', () => {
  const w = world();
  const { seq, batch } = w.offer();
  w.write([user]);
  w.settle();
  expect(w.states(seq)).toEqual({ message: 'unread', offers: ['open'], receipts: ['offered'] });
  w.write([user, context(batch.text)]);
  for (let n = 0; n < 3; n++) w.settle();
  expect(w.states(seq)).toEqual({ message: 'unread', offers: ['accepted'], receipts: ['offered', 'in-context'] });
  expect(w.store.showable(CLAUDE, NOW, 10)).toEqual([]);
  w.write([user, context(batch.text), answer()]);
  for (let n = 0; n < 3; n++) w.settle();
  expect(w.states(seq)).toEqual({ message: 'presented', offers: ['presented'], receipts: ['offered', 'in-context', 'presented'] });
  const [proof] = w.store.receipts(w.store.inboxBySeq(seq)!.id).filter(({ state }) => state === 'presented');
  expect(proof).toMatchObject({
    queued: true,
    detail: { event: 'UserPromptSubmit', offer: batch.shown[0]!.nonce, evidence: expect.stringContaining('m1') as string },
  });
});

test('a proven miss makes the message showable again, as often as it takes', () => {
  const w = world();
  const { seq } = w.offer();
  w.write([user, answer('u1')]);
  w.settle();
  expect(w.states(seq)).toMatchObject({ message: 'unread', offers: ['miss'], receipts: ['offered', 'missed'] });
  expect(w.store.showable(CLAUDE, NOW, 10)).toMatchObject([{ seq, shows: 1, unproven: 0 }]);
});

test('what has no proof when the session is over counts as unproven, and twice is enough', () => {
  const w = world();
  const { seq } = w.offer();
  w.settle('ended');
  expect(w.states(seq)).toEqual({ message: 'unread', offers: ['unproven'], receipts: ['offered', 'unproven'] });
  expect(w.store.showable(CLAUDE, NOW, 10)).toMatchObject([{ seq, unproven: 1 }]);
  w.store.countUnproven(seq);
  expect(w.store.showable(CLAUDE, NOW, 10)).toEqual([]);
  expect(w.store.unreadCount(CLAUDE, NOW)).toBe(1);
});

test('what was accepted when the session ended waits for it to be resumed, unless another took its place', () => {
  const w = world();
  const { seq, batch } = w.offer();
  w.write([user, context(batch.text)]);
  w.settle('ended');
  expect(w.states(seq).offers).toEqual(['accepted']);
  expect(w.store.showable(CLAUDE, NOW, 10)).toEqual([]);
  w.settle('replaced');
  expect(w.states(seq)).toMatchObject({ message: 'unread', offers: ['unproven'] });
  expect(w.store.showable(CLAUDE, NOW, 10)).toMatchObject([{ seq, unproven: 1 }]);
});

test('what stays without proof for a day is given up, whether it was accepted or not', () => {
  const w = world();
  const [accepted, unknown] = [w.offer(), w.offer()];
  w.write([{ ...user, uuid: 'u0' }, context(accepted.batch.text)]);
  w.settle();
  w.clock.now += 24 * 3_600_000;
  w.settle();
  expect([accepted, unknown].map(({ seq }) => w.states(seq).offers)).toEqual([['accepted'], ['open']]);
  w.clock.now += 1;
  w.settle();
  expect([accepted, unknown].map(({ seq }) => w.states(seq).offers)).toEqual([['unproven'], ['unproven']]);
});

test('a session that shows its mail at every tick and proves nothing shows each message twice at most', () => {
  const w = world();
  const rows = [w.offer(), w.offer(), w.offer()].map(({ seq }) => seq);
  for (let tick = 0; tick < 20; tick++) {
    w.clock.now += 25 * 3_600_000;
    w.settle();
    const again = w.store.showable(CLAUDE, NOW, 10);
    storeOffers(w.store, w.instance, event('prompt', w.instance.transcript!), composeBatch(again, point, null), 0, w.clock.now);
  }
  expect(rows.map((seq) => w.store.inboxBySeq(seq)!.shows)).toEqual([2, 2, 2]);
});

test('one message that is proved says nothing about another of the same output', () => {
  const w = world();
  const [first, second] = [w.offer(), w.offer()];
  w.write([user, context(first.batch.text), answer()]);
  w.settle();
  expect(w.states(first.seq).offers).toEqual(['presented']);
  expect(w.states(second.seq).offers).toEqual(['miss']);
});

test('an offer is looked for where the session went on, when its own record does not know it', () => {
  const w = world();
  const { seq, batch } = w.offer();
  const fork = joinPath(w.instance.transcript!, '..', 'fork.jsonl');
  w.write([user, context(batch.text), answer()], fork);
  w.store.saveInstance({ ...w.instance, transcript: fork });
  w.settle();
  expect(w.states(seq).offers).toEqual(['presented']);
});

test('a record outside the harness’s own folder proves nothing', () => {
  const w = world();
  const { seq, batch } = w.offer();
  const planted = joinPath(w.context.userHome, 'planted.jsonl');
  w.write([user, context(batch.text), answer()], planted);
  w.store.saveInstance({ ...w.instance, transcript: planted });
  w.settle();
  expect(w.states(seq).offers).toEqual(['open']);
});

test('what extended a stop counts as read once the turn that it began is over', () => {
  const w = world();
  const { seq, batch } = w.offer('stop');
  expect(w.store.inboxBySeq(seq)!.stopUsed).toBe(true);
  w.store.saveInstance({ ...w.instance, state: 'busy' });
  w.write([user, context(batch.text, 'Stop'), answer()]);
  w.settle();
  expect(w.states(seq)).toMatchObject({ message: 'presented', offers: ['presented'] });
  w.store.saveInstance({ ...w.instance, state: 'idle' });
  w.settle();
  expect(w.states(seq)).toMatchObject({ message: 'read', receipts: ['offered', 'presented', 'read'] });
});

test('a message that was read in the meantime stays read when its showing is proved', () => {
  const w = world();
  const { seq, batch } = w.offer();
  w.store.advance(seq, 'read');
  w.write([user, context(batch.text), answer()]);
  w.settle();
  expect(w.states(seq)).toMatchObject({ message: 'read', offers: ['presented'] });
});
