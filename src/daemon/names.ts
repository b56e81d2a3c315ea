import { formatAddress, isAddress, isSegment, parseAddress, resolveAddress } from '../core/address.ts';
import { AgentBusError } from '../core/errors.ts';
import type { InstanceRow } from '../store/contract.ts';
import type { Bus } from './bus.ts';
import { holds, WORKSPACE } from './identity.ts';
import type { CallerIdentity } from './callers.ts';

export interface Renamed {
  address: string;
  before: string;
  standby: boolean;
  /** Unread messages that stay with the old address, for whoever holds it next. */
  left: number;
  /** Open tasks that it was given and that stay there as well. */
  tasks: number;
}

function newAddress(before: string, name: string): string {
  if (isAddress(name) && parseAddress(name)!.workspace === WORKSPACE) return name;
  if (isSegment(name)) return formatAddress({ workspace: WORKSPACE, group: parseAddress(before)!.group, name });
  throw new AgentBusError(
    'AB-7002',
    `not a name for an agent: ${JSON.stringify(name.slice(0, 80))}`,
    'lower-case letters, digits, dots, dashes; or a whole address in this workspace',
  );
}

/** An instance under another address from now on: a new epoch, so that whatever it did under the old one is over. */
function move(bus: Bus, instance: InstanceRow, address: string, takeOver: boolean): Renamed {
  const { store } = bus;
  return store.promise(() => {
    const known = store.agent(address);
    if (known?.kind === 'person') throw new AgentBusError('AB-4002', `${address} is a person's address`, 'choose another name');
    store.addAgent({ address, kind: 'name', harness: instance.harness, epoch: 0, createdAt: bus.now() });
    const holder = store.lastHolder(address);
    const taken = holder !== null && holder.id !== instance.id && holds(bus, holder);
    const standby = taken && !takeOver;
    const epoch = store.agent(address)!.epoch + (standby ? 0 : 1);
    if (!standby) {
      store.setEpoch(address, epoch);
      // The one that was taken over goes on, as a stand-by of the same name.
      if (taken) store.saveInstance({ ...holder, standby: true });
    }
    store.saveInstance({ ...instance, address, epoch, standby, named: true, announced: null });
    const stays = address !== instance.address;
    return {
      address,
      before: instance.address,
      standby,
      left: stays ? store.unreadCount(instance.address, bus.now()) : 0,
      tasks: stays ? store.openTasks(instance.address).filter((task) => task.agent === instance.address).length : 0,
    };
  });
}

/** `join --as <name> [--take-over]`, by the session itself. Throws AB-1002 for a person, AB-7002. */
export async function joinAs(bus: Bus, who: CallerIdentity, name: string, takeOver: boolean): Promise<Renamed> {
  if (!who.instance) {
    throw new AgentBusError(
      'AB-1002',
      'join names the session that runs it, and this is none',
      'run it inside a session, or `agentbus rename <address> <name>` from here',
    );
  }
  const renamed = move(bus, who.instance, newAddress(who.address, name), takeOver);
  await bus.announce(renamed.address);
  return renamed;
}

/** `rename <address> <name>`, from any shell of this user. Throws AB-5001, AB-5002, AB-7002, and AB-4004 when the name is taken. */
export async function renameAgent(bus: Bus, typed: string, name: string): Promise<Renamed> {
  const address = resolveAddress(
    typed,
    bus.store.agents().map((agent) => agent.address),
  );
  const holder = bus.store.lastHolder(address);
  if (!holder || !holds(bus, holder)) {
    throw new AgentBusError('AB-5001', `no live session holds ${address}`, '`agentbus agents` shows who is there');
  }
  const wanted = newAddress(address, name);
  const other = bus.store.lastHolder(wanted);
  if (other && other.id !== holder.id && holds(bus, other)) {
    throw new AgentBusError(
      'AB-4004',
      `${wanted} is held by another session`,
      'choose another name, or take it over from inside: agentbus join --as … --take-over',
    );
  }
  const renamed = move(bus, holder, wanted, false);
  await bus.announce(renamed.address);
  return renamed;
}
