import { onTestFinished } from 'vitest';
import { buildEnvelope, type Draft } from '../../src/core/envelope.ts';
import { signEnvelope } from '../../src/core/jws.ts';
import { embeddedLink, type Link } from '../../src/gateway/link.ts';
import { createPump, type Pump } from '../../src/gateway/pump.ts';
import { openStore } from '../../src/store/sqlite/store.ts';
import type { OutboxRow, Store } from '../../src/store/contract.ts';
import type { Keys } from '../core/samples.ts';
import { CLAUDE, CODEX, hubWorld, type HubWorld } from '../hub/world.ts';

export interface Machine {
  keys: Keys;
  store: Store;
  link: Link;
  pump: Pump;
  /** Addresses at which a message became showable, in order. */
  news: string[];
  log: string[];
  /** Puts a message of the machine's agent into its outbox; answers with its id. */
  queue(draft?: Partial<Draft>): string;
  outbox(id: string): OutboxRow;
  /** The same store after the process died: another pump over what was written. */
  restart(): void;
}

/** A machine whose link may be changed by the test at any time: `link` is what its pump calls. */
export async function machineAt(world: HubWorld, address: string): Promise<Machine> {
  const keys = await world.machine(address);
  const store = openStore(':memory:');
  onTestFinished(() => store.close());
  const link = embeddedLink(world.hub, keys.id);
  const news: string[] = [];
  const log: string[] = [];
  const newPump = (): Pump =>
    createPump({
      store,
      link,
      device: keys,
      now: () => world.clock.now,
      onMessage: (recipient) => news.push(recipient),
      log: (message) => log.push(message),
    });
  const machine: Machine = {
    keys,
    store,
    link,
    pump: newPump(),
    news,
    log,
    queue(draft = {}) {
      const { now } = world.clock;
      const envelope = buildEnvelope({ from: address, to: address === CLAUDE ? CODEX : CLAUDE, data: 'hello', ...draft }, now);
      store.addOutbox({
        id: envelope.id,
        sender: envelope.source,
        recipient: envelope.subject,
        jws: signEnvelope(envelope, keys.id, keys.key),
        nextAt: now,
        createdAt: now,
        expiresAt: Date.parse(envelope.expiretime),
      });
      return envelope.id;
    },
    outbox: (id) => store.outboxMessage(id)!,
    restart() {
      machine.pump = newPump();
    },
  };
  return machine;
}

export async function twoMachines(): Promise<{ world: HubWorld; sender: Machine; recipient: Machine }> {
  const world = hubWorld();
  return { world, sender: await machineAt(world, CLAUDE), recipient: await machineAt(world, CODEX) };
}

/** The ids in a machine's inbox, in the order of arrival. */
export function inboxIds(machine: Machine, address = CODEX): string[] {
  return machine.store.listInbox(address, { unreadOnly: false, after: 0, limit: 1_000 }).map(({ id }) => id);
}
