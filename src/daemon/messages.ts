import { resolveAddress } from '../core/address.ts';
import { buildEnvelope, TYPES, type Draft, type Envelope, type Priority } from '../core/envelope.ts';
import { AgentBusError, errorFromJson } from '../core/errors.ts';
import { isId } from '../core/ids.ts';
import { readJws, signEnvelope } from '../core/jws.ts';
import { applyToTask, taskOf, type Task } from '../core/task.ts';
import { addReceipt } from '../drain/offer.ts';
import type { OutboxRow } from '../store/contract.ts';
import type { Bus } from './bus.ts';
import { ownMessage, requireOwner, type CallerIdentity } from './callers.ts';
import { WORKSPACE } from './identity.ts';
import { presenceOf, seenWhen } from './presence.ts';

export interface SendRequest {
  /** The sender's own id for it: sent again under it, it is the same message. */
  id?: string | undefined;
  to: string;
  data: unknown;
  priority?: Priority | undefined;
  type?: string | undefined;
  conversation?: string | undefined;
  /** ms */
  expiresIn?: number | undefined;
}

export interface ReplyRequest {
  /** Of the message that is answered. */
  id: string;
  data: unknown;
  priority?: Priority | undefined;
  /** The answer's own id. */
  as?: string | undefined;
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

/** How a task will stand once what is queued for it has reached the hub. */
export function expectedTask(bus: Bus, id: string): Task | null {
  let task: Task | null = bus.store.task(id);
  for (const row of bus.store.queuedOutbox(200)) {
    const envelope = readJws(row.jws);
    const step = taskOf(envelope) === id ? applyToTask(task, envelope, WORKSPACE, bus.now()) : null;
    if (step && 'change' in step) task = step.change.task;
  }
  return task;
}

/** Throws what the hub would say to a step of a task that does not fit; the hub decides all the same. */
function checkTaskStep(bus: Bus, envelope: Envelope): void {
  const task = taskOf(envelope);
  if (task === null) return;
  const step = applyToTask(expectedTask(bus, task), envelope, WORKSPACE, bus.now());
  if ('refused' in step) throw step.refused;
}

function refusalOf(row: OutboxRow): AgentBusError {
  const known = errorFromJson(JSON.parse(row.reason ?? '{}'));
  return known ?? new AgentBusError('AB-7001', 'the hub refused the message', '`agentbus trace` shows why');
}

function answerFor(bus: Bus, row: OutboxRow): SendAnswer {
  const envelope = readJws(row.jws);
  const delivered = bus.store.receipts(row.id).some((receipt) => receipt.state === 'delivered');
  return {
    id: row.id,
    from: row.sender,
    to: row.recipient,
    conversation: envelope.conversationid,
    state: delivered ? 'delivered' : row.state === 'sent' ? 'accepted' : 'queued',
    seen: seenWhen(bus, envelope),
  };
}

/** What the caller has sent already: the same answer to the same message, in the same words. */
export function sentBefore(bus: Bus, who: CallerIdentity, draft: Pick<Draft, 'type' | 'data' | 'inReplyTo'>): SendAnswer | null {
  const wanted = JSON.stringify(draft.data);
  for (const row of bus.store.sentBy(who.address, 50)) {
    if (row.state === 'dead') continue;
    const sent = readJws(row.jws);
    if (sent.inreplyto === draft.inReplyTo && sent.type === (draft.type ?? TYPES.message) && JSON.stringify(sent.data) === wanted)
      return answerFor(bus, row);
  }
  return null;
}

/** The message that was sent under this id already; AB-5005 where that was another one. */
function sentAs(bus: Bus, draft: Draft): OutboxRow | null {
  const row = draft.id === undefined ? null : bus.store.outboxMessage(draft.id);
  if (!row) return null;
  const same =
    row.sender === draft.from && row.recipient === draft.to && JSON.stringify(readJws(row.jws).data) === JSON.stringify(draft.data);
  if (!same) throw new AgentBusError('AB-5005', `${row.id} was used for another message`, 'every message needs an id of its own');
  return row;
}

/** Signs, keeps and sends. Throws AB-4002, AB-5005 to AB-5008, AB-6001 to AB-6003, AB-7001, AB-7003. */
export async function post(bus: Bus, who: CallerIdentity, draft: Draft): Promise<SendAnswer> {
  if (draft.id !== undefined && !isId(draft.id, 'msg'))
    throw new AgentBusError('AB-7001', 'id: not a message id', 'leave it out, or give msg_ and a ULID');
  const before = sentAs(bus, draft);
  if (before?.state === 'dead') throw refusalOf(before);
  if (before) return answerFor(bus, before);
  const now = bus.now();
  const hops = who.instance ? who.instance.turnHops + 1 : 0;
  const envelope = buildEnvelope({ ...draft, hops }, now);
  checkTaskStep(bus, envelope);
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
  if (row?.state === 'dead') throw refusalOf(row);
  return answerFor(bus, row!);
}

/** The address that somebody typed. Throws AB-5001, AB-5002, AB-7002. */
export async function recipientOf(bus: Bus, typed: string): Promise<string> {
  const known = await knownAddresses(bus);
  const to = resolveAddress(typed, known);
  if (bus.store.agent(to)?.kind === 'oneoff' && presenceOf(bus, to) === 'offline')
    throw new AgentBusError('AB-5001', `${to} was a run that has ended`, 'nobody takes its place; `agentbus agents` lists who is there');
  if (known.includes(to)) return to;
  throw new AgentBusError(
    'AB-5001',
    `no agent called ${to}`,
    '`agentbus agents` lists who is known; a Codex session exists from its first prompt on',
  );
}

/** Throws AB-5001/5002 for a recipient that is not or not one, AB-4004, AB-5006, AB-5007, AB-7001, AB-7003. */
export async function sendMessage(bus: Bus, who: CallerIdentity, request: SendRequest): Promise<SendAnswer> {
  requireOwner(who);
  return post(bus, who, {
    from: who.address,
    to: await recipientOf(bus, request.to),
    id: request.id,
    data: request.data,
    priority: request.priority,
    type: request.type,
    conversation: request.conversation,
    expiresIn: request.expiresIn,
  });
}

/** Answers a message in its conversation. The same answer twice is one answer. */
export async function replyTo(bus: Bus, who: CallerIdentity, request: ReplyRequest): Promise<SendAnswer> {
  requireOwner(who);
  const { id, data } = request;
  const row = ownMessage(bus, who, id);
  const original = readJws(row.jws);
  const draft = {
    from: who.address,
    to: row.source,
    id: request.as,
    data,
    priority: request.priority ?? original.priority,
    conversation: row.conversation,
    traceparent: original.traceparent,
    inReplyTo: id,
  };
  const answer = sentBefore(bus, who, draft) ?? (await post(bus, who, draft));
  bus.store.mark(() => {
    if (bus.store.advance(row.seq, 'replied')) addReceipt(bus.store, row, 'replied', { reply: answer.id }, bus.now());
  });
  bus.pumpSoon();
  return answer;
}
