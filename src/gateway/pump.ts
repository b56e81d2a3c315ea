import { createHash } from 'node:crypto';
import { parseAddress } from '../core/address.ts';
import { buildEnvelope, priorityRank, TYPES, type Envelope } from '../core/envelope.ts';
import { AgentBusError, type ErrorCode } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { openJws, publicKeyFromRaw, readJws, signEnvelope } from '../core/jws.ts';
import { isStatus, taskOf } from '../core/task.ts';
import type { Delivery, HubReceipt } from '../hub/store.ts';
import type { InboxRow, OutboxRow, ReceiptRow, Store } from '../store/contract.ts';
import type { Device } from './device.ts';
import type { Link } from './link.ts';
import { closeMoot, takeTask } from './tasks.ts';

export interface PumpContext {
  store: Store;
  link: Link;
  device: Device;
  now(): number;
  /** A message became showable at this address. */
  onMessage(recipient: string): void;
  log(message: string, detail?: Record<string, unknown>): void;
}

export interface Pump {
  /** Sends what is queued and takes in what is waiting; calls while it runs are folded into one more round. */
  run(): Promise<void>;
}

const BATCH = 200;

const LONGEST = 600_000;

/** Whole ms: 1 s, doubling up to 10 min, with up to a quarter of jitter. */
export function backoff(attempts: number, random: number): number {
  return Math.floor(Math.min(LONGEST, 1_000 * 2 ** Math.min(attempts, 20)) * (1 + random / 4));
}

// Refusals that another try can't change; everything else is tried again.
const FINAL: ReadonlySet<ErrorCode> = new Set([
  'AB-4001',
  'AB-4002',
  'AB-5001',
  'AB-5005',
  'AB-5006',
  'AB-5007',
  'AB-5008',
  'AB-6001',
  'AB-6002',
  'AB-6003',
  'AB-7001',
  'AB-7002',
  'AB-7003',
  'AB-7004',
  'AB-7005',
]);

function isFinal(error: unknown): error is AgentBusError {
  return error instanceof AgentBusError && FINAL.has(error.code);
}

function receiptEnvelope(row: ReceiptRow, message: InboxRow): Envelope {
  return buildEnvelope(
    {
      id: row.id,
      from: message.recipient,
      to: message.source,
      type: TYPES.receipt,
      inReplyTo: message.id,
      conversation: message.conversation,
      traceparent: readJws(message.jws).traceparent,
      data: { state: row.state, detail: row.detail },
    },
    row.at,
  );
}

export function createPump(context: PumpContext): Pump {
  const { store, link, device, now } = context;

  function deadLetter(row: OutboxRow, error: AgentBusError): void {
    const receipt = { messageId: row.id, at: now(), agent: row.recipient, sender: row.sender, queued: false };
    store.promise(() => {
      store.settleOutbox(row.id, 'dead', JSON.stringify(error));
      const state = error.code === 'AB-7004' ? 'expired' : 'rejected';
      store.addReceipt({ ...receipt, id: newId('rct'), state, detail: { code: error.code, reason: error.message } });
    });
  }

  async function sendOut(): Promise<void> {
    // A recipient whose first message has to wait holds back the ones behind it, and nobody else's.
    const waiting = new Set<string>();
    for (const row of store.queuedOutbox(BATCH)) {
      if (waiting.has(row.recipient)) continue;
      // A wait longer than there is was begun by a clock that has been set back since.
      if (row.nextAt > now() && row.nextAt <= now() + LONGEST * 1.25) {
        waiting.add(row.recipient);
        continue;
      }
      try {
        if (row.expiresAt <= now())
          throw new AgentBusError('AB-7004', `message ${row.id} expired before it could be sent`, 'send it again');
        await link.submit(row.jws);
        // Forgotten in a power cut, it is sent again, and the hub knows it.
        store.mark(() => store.settleOutbox(row.id, 'sent', null));
      } catch (error) {
        if (isFinal(error)) deadLetter(row, error);
        else {
          waiting.add(row.recipient);
          store.mark(() => store.retryOutbox(row.id, now() + backoff(row.attempts, Math.random()), String(error)));
        }
      }
    }
  }

  async function sendReceipts(): Promise<void> {
    for (const row of store.queuedReceipts(BATCH)) {
      const message = store.inboxMessage(row.messageId);
      if (!message) {
        store.mark(() => store.receiptSent(row.id));
        continue;
      }
      try {
        await link.submitReceipt(signEnvelope(receiptEnvelope(row, message), device.id, device.key));
      } catch (error) {
        if (!isFinal(error)) throw error;
        context.log('receipt refused', { code: error.code, state: row.state });
      }
      store.mark(() => store.receiptSent(row.id));
    }
  }

  async function keyOf(deviceId: string): Promise<string | null> {
    const pinned = store.pinnedKey(deviceId);
    if (pinned !== null) return pinned;
    const key = await link.publicKey(deviceId);
    if (key !== null) store.promise(() => store.pinKey(deviceId, key, now()));
    return key;
  }

  async function takeMessage(delivery: Delivery): Promise<string | null> {
    let kid = '';
    try {
      const header = JSON.parse(Buffer.from((JSON.parse(delivery.body) as { protected: string }).protected, 'base64url').toString()) as {
        kid: unknown;
      };
      if (typeof header.kid === 'string') kid = header.kid;
    } catch {
      // openJws below refuses it with the right words.
    }
    const raw = await keyOf(kid);
    const { envelope } = openJws(delivery.body, () => (raw === null ? null : publicKeyFromRaw(raw)));
    const task = taskOf(envelope);
    const status = isStatus(envelope);
    const result = store.promise(() =>
      store.addInbox({
        workspace: parseAddress(envelope.subject)!.workspace,
        source: envelope.source,
        id: envelope.id,
        recipient: envelope.subject,
        conversation: envelope.conversationid,
        conversationSeq: delivery.conversationSeq,
        type: envelope.type,
        // Whatever its sender says: a status stops and wakes nobody.
        priority: status ? 0 : priorityRank(envelope.priority),
        hops: envelope.hops,
        task,
        status,
        jws: delivery.body,
        digest: createHash('sha256').update(delivery.body).digest('hex'),
        receivedAt: now(),
        expiresAt: Date.parse(envelope.expiretime),
      }),
    );
    if (result === 'conflict') context.log('another message under a known id was refused', { id: envelope.id });
    if (task !== null) store.mark(() => closeMoot(store, task, now()));
    return result === 'new' ? envelope.subject : null;
  }

  function takeReceipt(delivery: Delivery): void {
    const receipt = JSON.parse(delivery.body) as HubReceipt;
    store.mark(() => {
      const sender = store.outboxMessage(receipt.messageId)?.sender ?? null;
      store.addReceipt({
        id: receipt.id,
        messageId: receipt.messageId,
        state: receipt.state,
        at: receipt.at,
        agent: receipt.agent,
        sender,
        detail: receipt.detail,
        queued: false,
      });
    });
  }

  // Everything up to here is acknowledged. Kept in memory alone: what was taken in but not acknowledged
  // comes again after a crash, the inbox knows it, and its sender learns of the delivery after all.
  let acknowledged = 0;

  async function takeIn(): Promise<boolean> {
    const deliveries = await link.pull(acknowledged, BATCH);
    for (const delivery of deliveries) {
      let refusal: AgentBusError | null = null;
      try {
        if (delivery.kind === 'receipt') takeReceipt(delivery);
        else if (delivery.kind === 'task') takeTask(store, delivery.body, now());
        else {
          const recipient = await takeMessage(delivery);
          if (recipient !== null) context.onMessage(recipient);
        }
      } catch (error) {
        if (!isFinal(error)) throw error;
        refusal = error;
        context.log('delivery refused', { code: error.code, message: error.message });
      }
      if (refusal) await link.nak(delivery.seq, `${refusal.code} ${refusal.message}`);
      else await link.ack([delivery.seq]);
      acknowledged = delivery.seq;
    }
    return deliveries.length > 0;
  }

  async function sendRecords(): Promise<void> {
    const rows = store.queuedRecords(BATCH);
    if (rows.length === 0) return;
    await link.addRecords(rows.map((row) => ({ id: row.id, at: row.at, body: JSON.parse(row.body) as Record<string, unknown> })));
    store.mark(() => store.recordsSent(rows.map((row) => row.id)));
  }

  let running: Promise<void> | null = null;
  let again = false;

  async function rounds(): Promise<void> {
    do {
      again = false;
      await sendOut();
      while (await takeIn());
      await sendReceipts();
      await sendRecords();
    } while (again);
  }

  async function run(): Promise<void> {
    if (running) {
      again = true;
      return running;
    }
    running = rounds().finally(() => {
      running = null;
    });
    return running;
  }

  return { run };
}
