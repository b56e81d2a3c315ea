import { resolveAddress } from '../core/address.ts';
import { buildEnvelope, type Draft, type Priority } from '../core/envelope.ts';
import { AgentBusError, errorFromJson } from '../core/errors.ts';
import { readJws, signEnvelope } from '../core/jws.ts';
import { addReceipt } from '../drain/offer.ts';
import type { Bus } from './bus.ts';
import { ownMessage, requireOwner, type CallerIdentity } from './callers.ts';
import { seenWhen } from './presence.ts';

export interface SendRequest {
  to: string;
  data: unknown;
  priority?: Priority | undefined;
  type?: string | undefined;
  conversation?: string | undefined;
  /** ms */
  expiresIn?: number | undefined;
}

export interface SendAnswer {
  id: string;
  from: string;
  to: string;
  conversation: string;
  /** `queued` until the hub has it, then `accepted`; `delivered` once it is in the recipient's store. */
  state: 'queued' | 'accepted' | 'delivered';
  /** When it will be seen, in words. */
  seen: string;
}

// ms. A busy pump must not make a sender believe that nothing was sent: it then hears "queued".
const PATIENCE = 2_000;

function atMost(delay: number, work: Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, delay);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

async function knownAddresses(bus: Bus): Promise<string[]> {
  return [...new Set([...bus.store.agents().map((agent) => agent.address), ...(await bus.link.directory()).map((agent) => agent.address)])];
}

async function post(bus: Bus, who: CallerIdentity, draft: Draft): Promise<SendAnswer> {
  const now = bus.now();
  const hops = who.instance ? who.instance.turnHops + 1 : 0;
  const envelope = buildEnvelope({ ...draft, hops }, now);
  const jws = signEnvelope(envelope, bus.device.id, bus.device.key);
  await bus.announce(envelope.source);
  await bus.announce(envelope.subject);
  bus.store.promise(() =>
    bus.store.addOutbox({
      id: envelope.id,
      sender: envelope.source,
      recipient: envelope.subject,
      jws,
      nextAt: now,
      createdAt: now,
      expiresAt: Date.parse(envelope.expiretime),
    }),
  );
  // The outbox row is the promise; the round through the hub may fail and is then tried again.
  await atMost(PATIENCE, bus.pump.run()).catch((error: unknown) => bus.log('pump failed', { error: String(error) }));
  const row = bus.store.outboxMessage(envelope.id);
  if (row?.state === 'dead')
    throw (
      errorFromJson(JSON.parse(row.reason ?? '{}')) ??
      new AgentBusError('AB-7001', 'the hub refused the message', 'agentbus trace shows why')
    );
  const delivered = bus.store.receipts(envelope.id).some((receipt) => receipt.state === 'delivered');
  return {
    id: envelope.id,
    from: envelope.source,
    to: envelope.subject,
    conversation: envelope.conversationid,
    state: delivered ? 'delivered' : row?.state === 'sent' ? 'accepted' : 'queued',
    seen: seenWhen(bus, envelope.subject, envelope.priority, envelope.type),
  };
}

/** Throws AB-5001/5002 for a recipient that is not or not one, AB-4004, AB-5006, AB-5007, AB-7001, AB-7003. */
export async function sendMessage(bus: Bus, who: CallerIdentity, request: SendRequest): Promise<SendAnswer> {
  requireOwner(who);
  const known = await knownAddresses(bus);
  const to = resolveAddress(request.to, known);
  if (!known.includes(to))
    throw new AgentBusError(
      'AB-5001',
      `no agent called ${to}`,
      '`agentbus agents` lists who is known; a Codex session exists from its first prompt on',
    );
  return post(bus, who, {
    from: who.address,
    to,
    data: request.data,
    priority: request.priority,
    type: request.type,
    conversation: request.conversation,
    expiresIn: request.expiresIn,
  });
}

/** Answers a message in its conversation. The same answer twice is one answer. */
export async function replyTo(
  bus: Bus,
  who: CallerIdentity,
  id: string,
  data: unknown,
  priority: Priority | undefined,
): Promise<SendAnswer> {
  requireOwner(who);
  const row = ownMessage(bus, who, id);
  const original = readJws(row.jws);
  for (const sent of bus.store.sentBy(who.address, 50)) {
    const before = readJws(sent.jws);
    if (before.inreplyto === id && JSON.stringify(before.data) === JSON.stringify(data) && sent.state !== 'dead') {
      return {
        id: sent.id,
        from: sent.sender,
        to: sent.recipient,
        conversation: before.conversationid,
        state: 'accepted',
        seen: seenWhen(bus, sent.recipient, before.priority, before.type),
      };
    }
  }
  const answer = await post(bus, who, {
    from: who.address,
    to: row.source,
    data,
    priority: priority ?? original.priority,
    conversation: row.conversation,
    traceparent: original.traceparent,
    inReplyTo: id,
  });
  bus.store.mark(() => {
    if (bus.store.advance(row.seq, 'replied')) addReceipt(bus.store, row, 'replied', { reply: answer.id }, bus.now());
  });
  void bus.pump.run().catch((error: unknown) => bus.log('pump failed', { error: String(error) }));
  return answer;
}
