import { expect, test } from 'vitest';
import { agentRow, CLAUDE, CODEX, instanceRow, join, NOW } from '../store/rows.ts';
import type { OpenWorld } from './store.ts';

export function agentTests(open: OpenWorld): void {
  test('a project keeps its name, and another root never gets the same one', () => {
    const { store, reopen } = open();
    expect(store.project('/home/dev/shop', 'shop')).toBe('shop');
    expect(store.project('/srv/shop', 'shop')).toBe('shop-2');
    expect(store.project('/opt/shop', 'shop')).toBe('shop-3');
    expect(store.project('/opt/other', 'shop-2')).not.toBe('shop-2');
    const later = reopen();
    expect(later.project('/srv/shop', 'renamed')).toBe('shop-2');
  });

  test('an agent is added once and keeps what it was', () => {
    const { store } = open();
    store.addAgent(agentRow(CLAUDE));
    store.addAgent(agentRow(CLAUDE, { kind: 'name', epoch: 7 }));
    store.addAgent(agentRow(CODEX, { harness: null, kind: 'person' }));
    expect(store.agent(CLAUDE)).toEqual(agentRow(CLAUDE));
    expect(store.agents().map(({ address }) => address)).toEqual([CLAUDE, CODEX]);
    store.setEpoch(CLAUDE, 3);
    expect(store.agent(CLAUDE)!.epoch).toBe(3);
    expect(store.agent('agent://local/shop/none')).toBeNull();
  });

  test('an instance comes back field by field, and saving it again replaces it', () => {
    const { store } = open();
    const row = join(store, { headless: true, standby: true, env: { CODEX_HOME: '/home/dev/.codex' } });
    expect(store.instanceById(row.id)).toEqual(row);
    const bare = {
      ...row,
      cwd: null,
      root: null,
      transcript: null,
      pid: null,
      model: null,
      announced: null,
      env: {},
      state: 'ended' as const,
      endedAt: NOW,
      endReason: 'other',
    };
    store.saveInstance(bare);
    expect(store.instanceById(row.id)).toEqual(bare);
    expect(store.instanceById('ins_none')).toBeNull();
  });

  test('a session key means its latest instance, within its harness', () => {
    const { store } = open();
    join(store, { state: 'ended', startedAt: NOW });
    const second = join(store, { startedAt: NOW });
    join(store, { harness: 'codex', startedAt: NOW + 5 });
    expect(store.instance('claude', 'session-1')).toEqual(second);
    expect(store.instance('claude', 'session-2')).toBeNull();
  });

  test('live instances are those that have not ended, latest seen first', () => {
    const { store } = open();
    const early = join(store, { seenAt: NOW });
    const late = join(store, { seenAt: NOW + 10, state: 'busy' });
    join(store, { seenAt: NOW + 20, state: 'ended' });
    expect(store.liveInstances().map(({ id }) => id)).toEqual([late.id, early.id]);
  });

  test('an address is held by its live instance, else by the one seen last, never by a standby', () => {
    const { store } = open();
    expect(store.lastHolder(CLAUDE)).toBeNull();
    const first = join(store, { state: 'ended', seenAt: NOW });
    const second = join(store, { state: 'ended', seenAt: NOW + 10 });
    expect(store.lastHolder(CLAUDE)!.id).toBe(second.id);
    store.saveInstance({ ...first, state: 'idle' });
    expect(store.lastHolder(CLAUDE)!.id).toBe(first.id);
    join(store, { standby: true, seenAt: NOW + 99 });
    join(store, { address: CODEX, seenAt: NOW + 99 });
    expect(store.lastHolder(CLAUDE)!.id).toBe(first.id);
  });

  test('the instance that ended last is found by harness and project, unless it is too long ago', () => {
    const { store } = open();
    join(store, { state: 'ended', endedAt: NOW });
    const last = join(store, { state: 'ended', endedAt: NOW + 50 });
    join(store, { state: 'ended', endedAt: NOW + 90, root: '/home/dev/blog' });
    join(store, { state: 'ended', endedAt: NOW + 90, harness: 'codex' });
    join(store, { state: 'idle' });
    expect(store.lastEnded('claude', '/home/dev/shop', NOW)).toEqual(last);
    expect(store.lastEnded('claude', '/home/dev/shop', NOW + 51)).toBeNull();
  });

  test('an instance of an unknown agent is refused', () => {
    const { store } = open();
    expect(() => store.saveInstance(instanceRow({ address: 'agent://local/shop/none' }))).toThrow(/constraint|REFERENCES|UNIQUE/i);
  });
}
