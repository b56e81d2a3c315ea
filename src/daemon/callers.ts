import { AgentBusError } from '../core/errors.ts';
import type { InboxRow, InstanceRow } from '../store/contract.ts';
import type { Bus } from './bus.ts';
import { promoteIfFree } from './identity.ts';

/** Who calls: a session by its harness and key, or the person at a shell. */
export type Caller = { harness: string; session: string } | { person: true };

export interface CallerIdentity {
  address: string;
  instance: InstanceRow | null;
}

/** A stand-by takes over as soon as it does something and the owner is gone. */
function promote(bus: Bus, instance: InstanceRow): InstanceRow {
  return bus.store.mark(() => promoteIfFree(bus, instance));
}

/** Throws AB-1002 for a session that has not joined: it is never given another's name. */
export function identify(bus: Bus, caller: Caller): CallerIdentity {
  if ('person' in caller) return { address: bus.person, instance: null };
  const known = bus.store.instance(caller.harness, caller.session);
  let instance = known;
  if (known?.state === 'ended') {
    // After /clear the same process goes on under a new session key.
    const heir = bus.store.lastHolder(known.address);
    if (heir && heir.state !== 'ended' && heir.harness === known.harness && heir.pid === known.pid) instance = heir;
  }
  if (!instance || instance.state === 'ended') {
    throw new AgentBusError(
      'AB-1002',
      'this session has not joined the bus',
      'it joins at its first prompt, once `agentbus install` has run and (Codex) its hooks are trusted',
    );
  }
  if (instance.standby) instance = promote(bus, instance);
  return { address: instance.address, instance };
}

/** Throws AB-4004 for a stand-by: it may read, nothing else. */
export function requireOwner(who: CallerIdentity): void {
  if (who.instance?.standby) {
    throw new AgentBusError('AB-4004', `${who.address} is held by another session`, 'this session stands by until that one ends');
  }
}

/** The message, as far as the caller is its recipient; AB-5003 otherwise, whether or not it exists. */
export function ownMessage(bus: Bus, who: CallerIdentity, id: string): InboxRow {
  const row = bus.store.inboxMessage(id);
  if (row?.recipient === who.address) return row;
  throw new AgentBusError('AB-5003', `no message ${id.slice(0, 40)} in your inbox`, '`agentbus inbox` lists what is there');
}
