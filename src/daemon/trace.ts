import { AgentBusError } from '../core/errors.ts';
import { readJws } from '../core/jws.ts';
import type { Bus } from './bus.ts';

export interface TraceView {
  id: string;
  from: string;
  to: string;
  type: string;
  priority: string;
  sent: string;
  state: string;
  steps: { state: string; at: string; detail: Record<string, unknown> }[];
}

/** The timeline of a message, of both sides as far as they are here. Throws AB-5003. */
export function traceMessage(bus: Bus, id: string): TraceView {
  const jws = bus.store.outboxMessage(id)?.jws ?? bus.store.inboxMessage(id)?.jws;
  if (!jws) throw new AgentBusError('AB-5003', `no message ${id.slice(0, 40)}`, '`agentbus send` prints the id of what it sent');
  const envelope = readJws(jws);
  const receipts = bus.store.receipts(id);
  const steps = receipts.map((receipt) => ({ state: receipt.state, at: new Date(receipt.at).toISOString(), detail: receipt.detail }));
  const settled = ['resolved', 'replied', 'read', 'presented', 'dead', 'rejected', 'expired'].find((state) =>
    steps.some((step) => step.state === state),
  );
  return {
    id,
    from: envelope.source,
    to: envelope.subject,
    type: envelope.type,
    priority: envelope.priority,
    sent: envelope.time,
    state: settled ?? steps.at(-1)?.state ?? 'queued',
    steps,
  };
}
