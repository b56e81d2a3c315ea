import type { OutboxRow, OutboxStore, ReceiptRow } from '../contract.ts';
import type { Database, Row } from '../driver.ts';

function toOutbox(row: Row): OutboxRow {
  return {
    seq: Number(row['seq']),
    id: row['id'] as string,
    sender: row['sender'] as string,
    recipient: row['recipient'] as string,
    jws: row['jws'] as string,
    state: row['state'] as OutboxRow['state'],
    attempts: Number(row['attempts']),
    nextAt: Number(row['next_at']),
    createdAt: Number(row['created_at']),
    expiresAt: Number(row['expires_at']),
    reason: row['reason'] as string | null,
  };
}

function toReceipt(row: Row): ReceiptRow {
  return {
    id: row['id'] as string,
    messageId: row['message_id'] as string,
    state: row['state'] as string,
    at: Number(row['at']),
    agent: row['agent'] as string | null,
    sender: row['sender'] as string | null,
    detail: JSON.parse(row['detail'] as string) as Record<string, unknown>,
    queued: row['queued'] === 1,
  };
}

export function outboxStore(db: Database): OutboxStore {
  const sql = {
    add: db.prepare(
      "INSERT INTO outbox (id, sender, recipient, jws, state, next_at, created_at, expires_at) VALUES (?, ?, ?, ?, 'queued', ?, ?, ?)",
    ),
    one: db.prepare('SELECT * FROM outbox WHERE id = ?'),
    // First in, first out: a new message never overtakes the backlog to its recipient.
    queued: db.prepare("SELECT * FROM outbox WHERE state = 'queued' ORDER BY seq LIMIT ?"),
    settle: db.prepare('UPDATE outbox SET state = ?, reason = ?, attempts = attempts + 1 WHERE id = ?'),
    retry: db.prepare('UPDATE outbox SET attempts = attempts + 1, next_at = ?, reason = ? WHERE id = ?'),
    addReceipt: db.prepare(
      'INSERT INTO receipts (id, message_id, state, at, agent, sender, detail, queued) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING',
    ),
    receipts: db.prepare('SELECT * FROM receipts WHERE message_id = ? ORDER BY at, rowid'),
    receiptsAfter: db.prepare('SELECT rowid AS cursor, * FROM receipts WHERE rowid > ? ORDER BY rowid LIMIT ?'),
    lastReceipts: db.prepare('SELECT * FROM (SELECT rowid AS cursor, * FROM receipts ORDER BY rowid DESC LIMIT ?) ORDER BY cursor'),
    queuedReceipts: db.prepare('SELECT * FROM receipts WHERE queued = 1 ORDER BY rowid LIMIT ?'),
    receiptSent: db.prepare('UPDATE receipts SET queued = 0 WHERE id = ?'),
    sentBy: db.prepare('SELECT * FROM outbox WHERE sender = ? ORDER BY seq DESC LIMIT ?'),
  };
  return {
    addOutbox: (row) => void sql.add.run(row.id, row.sender, row.recipient, row.jws, row.nextAt, row.createdAt, row.expiresAt),
    outboxMessage(id) {
      const row = sql.one.get(id);
      return row ? toOutbox(row) : null;
    },
    queuedOutbox: (limit) => sql.queued.all(limit).map(toOutbox),
    settleOutbox: (id, state, reason) => void sql.settle.run(state, reason, id),
    retryOutbox: (id, nextAt, reason) => void sql.retry.run(nextAt, reason, id),
    addReceipt(row) {
      const { changes } = sql.addReceipt.run(
        row.id,
        row.messageId,
        row.state,
        row.at,
        row.agent,
        row.sender,
        JSON.stringify(row.detail),
        row.queued ? 1 : 0,
      );
      return changes === 1;
    },
    receipts: (messageId) => sql.receipts.all(messageId).map(toReceipt),
    receiptsAfter(cursor, limit) {
      const rows = cursor === null ? sql.lastReceipts.all(limit) : sql.receiptsAfter.all(cursor, limit);
      return rows.map((row) => ({ cursor: Number(row['cursor']), receipt: toReceipt(row) }));
    },
    queuedReceipts: (limit) => sql.queuedReceipts.all(limit).map(toReceipt),
    receiptSent: (id) => void sql.receiptSent.run(id),
    sentBy: (sender, limit) => sql.sentBy.all(sender, limit).map(toOutbox),
  };
}
