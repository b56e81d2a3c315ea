import { openTasksLine } from '../core/task.ts';
import { VERSION } from '../core/version.ts';
import type { Bus } from './bus.ts';
import type { CallerIdentity } from './callers.ts';
import { brakeOf, presenceOf } from './presence.ts';

export interface Diagnosis {
  address: string;
  presence: string;
  unread: number;
  version: string;
  /** The open tasks in one line. */
  tasks: string;
  /** What keeps messages from being shown or sent, in words. */
  notes: string[];
}

/** How a session's own connection stands. */
export function diagnose(bus: Bus, who: CallerIdentity): Diagnosis {
  const { store } = bus;
  const now = bus.now();
  const brake = brakeOf(bus, who.address, who.instance);
  const queued = store.queuedOutbox(1_000).filter((row) => row.sender === who.address);
  const open = who.instance ? store.openOffers(who.instance.id).length : 0;
  const notes = [
    who.instance?.standby ? 'Another session holds this name: nothing is shown here until that one ends.' : '',
    who.instance?.headless && !who.instance.named
      ? 'A run without a person: only mail to this address is shown, and it ends with the run.'
      : '',
    brake === 'paused' ? 'Paused: nothing is shown until `agentbus resume`.' : '',
    brake === null || brake === 'paused' ? '' : `Loop brake: ${brake}, until your user's next prompt.`,
    open > 0 ? `${open} shown and not proven yet.` : '',
    queued.length > 0 ? `${queued.length} of yours not at the hub yet.` : '',
    who.instance ? `Last hook ${Math.round((now - who.instance.seenAt) / 1000)} s ago.` : '',
  ];
  return {
    address: who.address,
    presence: presenceOf(bus, who.address),
    unread: store.unreadCount(who.address, now),
    version: VERSION,
    tasks: openTasksLine(store.openTasks(who.address), who.address),
    notes: notes.filter((note) => note !== ''),
  };
}
