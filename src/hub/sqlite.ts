import { migrate, openDatabase, type Row } from '../store/driver.ts';
import { noAttachment } from '../core/task-data.ts';
import { BLOBS, hubBlobs } from './sqlite-blobs.ts';
import { hubTasks, TASKS } from './sqlite-tasks.ts';
import type { Delivery, DeliveryKind, DeviceRow, HubAgent, HubMessage, HubReceipt, HubRecord, HubStore, MessageStep } from './store.ts';

// Rows of one table that are forgotten at a time, and what finds them without reading the rest.
const PORTION = 2_000;
const OLD = `
CREATE INDEX messages_expiry ON messages (expires_at);
CREATE INDEX receipts_time ON receipts (at);
CREATE INDEX records_all_time ON records (at);
`;

const FIRST = `
CREATE TABLE devices (id TEXT PRIMARY KEY, workspace TEXT NOT NULL, public_key TEXT NOT NULL, enrolled_at INTEGER NOT NULL) STRICT;
CREATE TABLE agents (address TEXT PRIMARY KEY, workspace TEXT NOT NULL, device TEXT NOT NULL REFERENCES devices (id), card TEXT NOT NULL, updated_at INTEGER NOT NULL) STRICT;
CREATE INDEX agents_workspace ON agents (workspace, address);
CREATE TABLE conversations (workspace TEXT NOT NULL, id TEXT NOT NULL, last INTEGER NOT NULL, PRIMARY KEY (workspace, id)) STRICT, WITHOUT ROWID;
CREATE TABLE messages (
  workspace TEXT NOT NULL, source TEXT NOT NULL, id TEXT NOT NULL, recipient TEXT NOT NULL, conversation TEXT NOT NULL,
  conversation_seq INTEGER NOT NULL, jws TEXT NOT NULL, digest TEXT NOT NULL, device TEXT NOT NULL,
  accepted_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, state TEXT NOT NULL,
  UNIQUE (workspace, source, id)
) STRICT;
CREATE INDEX messages_id ON messages (workspace, id);
CREATE INDEX messages_open ON messages (recipient, source) WHERE state IN ('accepted', 'delivered');
CREATE INDEX messages_pair ON messages (source, recipient, accepted_at);
CREATE TABLE deliveries (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, device TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL,
  message_id TEXT NOT NULL, conversation_seq INTEGER NOT NULL, queued_at INTEGER NOT NULL
) STRICT;
CREATE INDEX deliveries_device ON deliveries (device, seq);
CREATE TABLE receipts (
  id TEXT PRIMARY KEY, workspace TEXT NOT NULL, message_id TEXT NOT NULL, state TEXT NOT NULL, at INTEGER NOT NULL, agent TEXT, detail TEXT NOT NULL
) STRICT;
CREATE INDEX receipts_message ON receipts (workspace, message_id, at);
CREATE TABLE records (id TEXT PRIMARY KEY, workspace TEXT NOT NULL, at INTEGER NOT NULL, agent TEXT, event TEXT, body TEXT NOT NULL) STRICT;
CREATE INDEX records_time ON records (workspace, at);
`;

const toDevice = (row: Row): DeviceRow => ({
  id: row['id'] as string,
  workspace: row['workspace'] as string,
  publicKey: row['public_key'] as string,
  enrolledAt: Number(row['enrolled_at']),
});
const toAgent = (row: Row): HubAgent => ({
  address: row['address'] as string,
  workspace: row['workspace'] as string,
  device: row['device'] as string,
  card: JSON.parse(row['card'] as string) as Record<string, unknown>,
  updatedAt: Number(row['updated_at']),
});
const toMessage = (row: Row): HubMessage => ({
  workspace: row['workspace'] as string,
  source: row['source'] as string,
  id: row['id'] as string,
  recipient: row['recipient'] as string,
  conversation: row['conversation'] as string,
  conversationSeq: Number(row['conversation_seq']),
  jws: row['jws'] as string,
  digest: row['digest'] as string,
  device: row['device'] as string,
  acceptedAt: Number(row['accepted_at']),
  expiresAt: Number(row['expires_at']),
  state: row['state'] as string,
});
const toDelivery = (row: Row): Delivery => ({
  seq: Number(row['seq']),
  kind: row['kind'] as DeliveryKind,
  body: row['body'] as string,
  messageId: row['message_id'] as string,
  conversationSeq: Number(row['conversation_seq']),
});
const toReceipt = (row: Row): HubReceipt => ({
  id: row['id'] as string,
  workspace: row['workspace'] as string,
  messageId: row['message_id'] as string,
  state: row['state'] as string,
  at: Number(row['at']),
  agent: row['agent'] as string | null,
  detail: JSON.parse(row['detail'] as string) as Record<string, unknown>,
});
const toRecord = (row: Row): HubRecord => ({
  id: row['id'] as string,
  workspace: row['workspace'] as string,
  at: Number(row['at']),
  body: JSON.parse(row['body'] as string) as Record<string, unknown>,
});

/** The embedded hub's store. Throws AB-3002. */
export function openSqliteHubStore(file: string): HubStore {
  const db = openDatabase(file, 2_000);
  db.exec('PRAGMA synchronous = FULL');
  migrate(db, [FIRST, TASKS + BLOBS + OLD]);
  const { decideTask, ...tasks } = hubTasks(db);
  const { mayRead, share, ...blobs } = hubBlobs(db);
  const sql = {
    addDevice: db.prepare('INSERT INTO devices (id, workspace, public_key, enrolled_at) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING'),
    device: db.prepare('SELECT * FROM devices WHERE id = ?'),
    putAgent: db.prepare(
      `INSERT INTO agents (address, workspace, device, card, updated_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (address) DO UPDATE SET card = excluded.card, updated_at = excluded.updated_at WHERE device = excluded.device`,
    ),
    agent: db.prepare('SELECT * FROM agents WHERE address = ?'),
    agents: db.prepare('SELECT * FROM agents WHERE workspace = ? ORDER BY address'),
    known: db.prepare('SELECT digest, conversation_seq FROM messages WHERE workspace = ? AND source = ? AND id = ?'),
    next: db.prepare(
      'INSERT INTO conversations (workspace, id, last) VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET last = last + 1 RETURNING last',
    ),
    addMessage: db.prepare("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'accepted')"),
    message: db.prepare('SELECT * FROM messages WHERE workspace = ? AND id = ? LIMIT 1'),
    setState: db.prepare("UPDATE messages SET state = ? WHERE workspace = ? AND id = ? AND state IN ('accepted', 'delivered')"),
    open: db.prepare(
      "SELECT count(*) AS everyone, coalesce(sum(source = ?), 0) AS mine FROM messages WHERE recipient = ? AND state IN ('accepted', 'delivered') AND expires_at > ?",
    ),
    recent: db.prepare('SELECT count(*) AS n FROM messages WHERE source = ? AND recipient = ? AND accepted_at > ? AND accepted_at <= ?'),
    queue: db.prepare('INSERT INTO deliveries (device, kind, body, message_id, conversation_seq, queued_at) VALUES (?, ?, ?, ?, ?, ?)'),
    deliveries: db.prepare('SELECT * FROM deliveries WHERE device = ? AND seq > ? ORDER BY seq LIMIT ?'),
    ack: db.prepare('DELETE FROM deliveries WHERE device = ? AND seq = ? RETURNING *'),
    addReceipt: db.prepare('INSERT INTO receipts VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING'),
    receipts: db.prepare('SELECT * FROM receipts WHERE workspace = ? AND message_id = ? ORDER BY at, rowid'),
    addRecord: db.prepare('INSERT INTO records VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING'),
    records: db.prepare(
      'SELECT * FROM records WHERE workspace = ? AND (? IS NULL OR agent = ?) AND (? IS NULL OR event = ?) ORDER BY at DESC, id DESC LIMIT ?',
    ),
  };
  const portion = (table: string, where: string): string => `SELECT rowid FROM ${table} WHERE ${where} LIMIT ${PORTION}`;
  const over = portion('tasks', 'open_until IS NULL AND updated_at < ?');
  const old = [
    `DELETE FROM messages WHERE rowid IN (${portion('messages', 'expires_at < ?')})`,
    `DELETE FROM receipts WHERE rowid IN (${portion('receipts', 'at < ?')})`,
    `DELETE FROM records WHERE rowid IN (${portion('records', 'at < ?')})`,
    `DELETE FROM task_events WHERE (workspace, task) IN (SELECT workspace, id FROM tasks WHERE rowid IN (${over}))`,
    `DELETE FROM tasks WHERE rowid IN (${over})`,
  ].map((statement) => db.prepare(statement));
  function addStep({ receipt, source, except, state }: MessageStep): string | null | false {
    const { id, workspace, messageId, at, agent, detail } = receipt;
    if (sql.addReceipt.run(id, workspace, messageId, receipt.state, at, agent, JSON.stringify(detail)).changes === 0) return false;
    if (state !== null) sql.setState.run(state, workspace, messageId);
    const device = sql.agent.get(source)?.['device'];
    if (typeof device !== 'string' || device === except) return null;
    sql.queue.run(device, 'receipt', JSON.stringify(receipt), messageId, 0, at);
    return device;
  }

  const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);

  return {
    addDevice: async (row) => void sql.addDevice.run(row.id, row.workspace, row.publicKey, row.enrolledAt),
    async device(id) {
      const row = sql.device.get(id);
      return row ? toDevice(row) : null;
    },
    putAgent: async (row) =>
      sql.putAgent.run(row.address, row.workspace, row.device, JSON.stringify(row.card), row.updatedAt).changes === 1,
    async agent(address) {
      const row = sql.agent.get(address);
      return row ? toAgent(row) : null;
    },
    agents: async (workspace) => sql.agents.all(workspace).map(toAgent),
    addMessage: async (message, accepted, task) =>
      db.transaction(() => {
        const known = sql.known.get(message.workspace, message.source, message.id);
        if (known) {
          const result = known['digest'] === message.digest ? 'duplicate' : 'conflict';
          return { result, conversationSeq: Number(known['conversation_seq']) } as const;
        }
        const { workspace, source, id, recipient, conversation, jws, digest, device, acceptedAt, expiresAt } = message;
        const missing = message.blobs.find((hash) => !mayRead(workspace, hash, source));
        if (missing !== undefined) return { result: 'refused', error: noAttachment(missing), devices: [] };
        const step = task ? decideTask(workspace, task.id, task.decide) : null;
        if (step?.refused) return { result: 'refused', error: step.refused, devices: step.devices };
        for (const hash of message.blobs) for (const reader of [source, recipient]) share(workspace, hash, reader, expiresAt);
        const conversationSeq = Number(sql.next.get(message.workspace, message.conversation)!['last']);
        sql.addMessage.run(workspace, source, id, recipient, conversation, conversationSeq, jws, digest, device, acceptedAt, expiresAt);
        sql.queue.run(device, 'message', jws, id, conversationSeq, acceptedAt);
        addStep(accepted);
        return { result: 'new', conversationSeq } as const;
      }),
    async message(workspace, id) {
      const row = sql.message.get(workspace, id);
      return row ? toMessage(row) : null;
    },
    async openMessages(recipient, source, now) {
      const row = sql.open.get(source, recipient, now)!;
      return { all: Number(row['everyone']), fromSource: Number(row['mine']) };
    },
    recentMessages: async (source, recipient, since, until) => Number(sql.recent.get(source, recipient, since, until)!['n']),
    deliveries: async (device, after, limit) => sql.deliveries.all(device, after, limit).map(toDelivery),
    addStep: async (step) => db.transaction(() => addStep(step)),
    ack: async (device, seqs, stepOf) =>
      db.transaction(() => {
        const told = new Set<string>();
        for (const { kind, messageId } of seqs.flatMap((seq) => sql.ack.all(device, seq)).map(toDelivery)) {
          const row = kind === 'message' ? sql.message.get(sql.device.get(device)!['workspace'] as string, messageId) : undefined;
          const sender = row ? addStep(stepOf(toMessage(row))) : null;
          if (sender) told.add(sender);
        }
        return [...told];
      }),
    receipts: async (workspace, messageId) => sql.receipts.all(workspace, messageId).map(toReceipt),
    ...tasks,
    ...blobs,
    addRecords: async (records) =>
      db.transaction(() => {
        for (const { id, workspace, at, body } of records)
          sql.addRecord.run(id, workspace, at, text(body['agent']), text(body['event']), JSON.stringify(body));
      }),
    async records(workspace, { limit, agent = null, event = null }) {
      return sql.records.all(workspace, agent, agent, event, event, limit).map(toRecord);
    },
    forget: async (before) =>
      db.transaction(() => {
        for (const statement of old) statement.run(before);
      }),
    close: async () => db.close(),
  };
}
