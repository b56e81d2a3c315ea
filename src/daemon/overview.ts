import { resolveAddress } from '../core/address.ts';
import { AgentBusError } from '../core/errors.ts';
import type { Bus } from './bus.ts';
import type { CallerIdentity } from './callers.ts';

/** Injection stops for an address while this is set; messages queue, records go on. */
export function pausedKey(address: string): string {
  return `paused ${address}`;
}

/** Pauses or resumes an agent: the caller's own, or the one that is named. Throws AB-5001, AB-5002, AB-7001, AB-7002. */
export function setPaused(bus: Bus, who: CallerIdentity, typed: string | undefined, paused: boolean): { address: string; paused: boolean } {
  const address =
    typed === undefined
      ? who.address
      : resolveAddress(
          typed,
          bus.store.agents().map((agent) => agent.address),
        );
  const agent = bus.store.agent(address);
  if (!agent) throw new AgentBusError('AB-5001', `no agent called ${address}`, '`agentbus agents` lists who is known');
  if (agent.kind === 'person')
    throw new AgentBusError('AB-7001', 'a session is paused, not a person', 'name one; `agentbus agents` lists them');
  bus.store.mark(() => bus.store.setMeta(pausedKey(address), paused ? '1' : ''));
  if (!paused) bus.waker.consider(address);
  return { address, paused };
}

export interface Step {
  /** Grows with every step; give the last one back as `after`. */
  cursor: number;
  id: string;
  state: string;
  at: string;
  from: string | null;
  to: string | null;
}

/** Steps of messages behind a cursor, oldest first; without one the latest `limit`. */
export function activity(bus: Bus, after: number | null, limit: number): { steps: Step[] } {
  const rows = bus.store.receiptsAfter(after, limit);
  return {
    steps: rows.map(({ cursor, receipt }) => ({
      cursor,
      id: receipt.messageId,
      state: receipt.state,
      at: new Date(receipt.at).toISOString(),
      from: receipt.sender ?? bus.store.outboxMessage(receipt.messageId)?.sender ?? null,
      to: receipt.agent,
    })),
  };
}
