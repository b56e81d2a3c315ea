import { onTestFinished } from 'vitest';
import { signEnvelope } from '../../src/core/jws.ts';
import type { Draft, Envelope } from '../../src/core/envelope.ts';
import { createHub, type Hub } from '../../src/hub/hub.ts';
import { openSqliteHubStore } from '../../src/hub/sqlite.ts';
import type { HubStore } from '../../src/hub/store.ts';
import { envelopeOf, newKeys, type Keys } from '../core/samples.ts';

export const CLAUDE = 'agent://local/shop/claude';
export const CODEX = 'agent://local/shop/codex';

export interface HubWorld {
  hub: Hub;
  store: HubStore;
  clock: { now: number };
  /** A machine that is enrolled and owns the addresses. */
  machine(...addresses: string[]): Promise<Keys>;
  envelope(draft?: Partial<Draft>): Envelope;
  /** Signs and submits a message from CLAUDE to CODEX unless the draft says otherwise. */
  send(keys: Keys, draft?: Partial<Draft>): Promise<{ id: string; jws: string }>;
}

/** A hub over an empty store at a time that only the test moves. `change` may replace calls of its store. */
export function hubWorld(change: (store: HubStore) => Partial<HubStore> = () => ({})): HubWorld {
  const clock = { now: Date.parse('2026-10-10T14:00:00Z') };
  const real = openSqliteHubStore(':memory:');
  onTestFinished(() => real.close());
  const store = { ...real, ...change(real) };
  const hub = createHub(store, () => clock.now);
  const envelope = (draft: Partial<Draft> = {}): Envelope => envelopeOf({ from: CLAUDE, to: CODEX, ...draft }, clock.now);
  return {
    hub,
    store,
    clock,
    async machine(...addresses) {
      const keys = newKeys();
      await hub.enroll({ id: keys.id, workspace: 'local', publicKey: keys.publicKey });
      for (const address of addresses) await hub.announce(keys.id, address, {});
      return keys;
    },
    envelope,
    async send(keys, draft) {
      const message = envelope(draft);
      const jws = signEnvelope(message, keys.id, keys.key);
      await hub.submit(keys.id, jws);
      return { id: message.id, jws };
    },
  };
}

/** The states of a message as its trace tells them. */
export async function statesOf(world: HubWorld, keys: Keys, id: string): Promise<string[]> {
  return (await world.hub.trace(keys.id, id)).map(({ state }) => state);
}
