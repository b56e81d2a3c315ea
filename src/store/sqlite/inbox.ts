import { LIMITS } from '../../core/limits.ts';
import type { InboxRow, InboxState, InboxStore } from '../contract.ts';
import type { Database, Row } from '../driver.ts';

function toInbox(row: Row): InboxRow {
  return {
    seq: Number(row['seq']),
    workspace: row['workspace'] as string,
    source: row['source'] as string,
    id: row['id'] as string,
    recipient: row['recipient'] as string,
    conversation: row['conversation'] as string,
    conversationSeq: Number(row['conversation_seq']),
    type: row['type'] as string,
    priority: Number(row['priority']),
    hops: Number(row['hops']),
    task: row['task'] as string | null,
    status: row['status'] === 1,
    jws: row['jws'] as string,
    digest: row['digest'] as string,
    receivedAt: Number(row['received_at']),
    expiresAt: Number(row['expires_at']),
    state: row['state'] as InboxState,
    shows: Number(row['shows']),
    unproven: Number(row['unproven']),
    stopUsed: row['stop_used'] === 1,
  };
}

// A state only ever moves to one of these.
const FORWARD: Readonly<Record<InboxState, readonly InboxState[]>> = {
  unread: ['presented', 'read', 'replied', 'resolved', 'expired'],
  presented: ['read', 'replied', 'resolved'],
  read: ['replied', 'resolved'],
  replied: ['resolved'],
  resolved: [],
  expired: ['read', 'replied', 'resolved'],
};

// A message in an open offer is not shown again, and neither is to its recipient what follows it in its
// conversation: if that offer turns out a miss, the order would be broken. Twice shown without proof is enough.
const SHOWABLE = `state = 'unread' AND expires_at > ? AND unproven < ${LIMITS.showsWithoutProof}
    AND seq NOT IN (SELECT message FROM offers WHERE state IN ('open', 'accepted'))
    AND conversation NOT IN (SELECT i.conversation FROM offers o JOIN inbox i ON i.seq = o.message
      WHERE o.state = 'open' AND i.recipient = ?)`;

export function inboxStore(db: Database): InboxStore {
  const sql = {
    add: db.prepare(
      `INSERT INTO inbox (workspace, source, id, recipient, conversation, conversation_seq, type, priority, hops, task, status, jws, digest, received_at, expires_at, state)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'unread') ON CONFLICT (workspace, source, id) DO NOTHING`,
    ),
    digest: db.prepare('SELECT digest FROM inbox WHERE workspace = ? AND source = ? AND id = ?'),
    byId: db.prepare('SELECT * FROM inbox WHERE id = ? ORDER BY seq LIMIT 1'),
    bySeq: db.prepare('SELECT * FROM inbox WHERE seq = ?'),
    showable: db.prepare(`SELECT * FROM inbox WHERE recipient = ? AND ${SHOWABLE} ORDER BY priority DESC, seq LIMIT ?`),
    showableIn: db.prepare(
      `SELECT * FROM inbox WHERE recipient = ? AND conversation = ? AND ${SHOWABLE} ORDER BY conversation_seq, seq LIMIT ?`,
    ),
    unread: db.prepare("SELECT count(*) AS n FROM inbox WHERE recipient = ? AND state = 'unread' AND expires_at > ?"),
    held: db.prepare(
      `SELECT count(*) AS n FROM inbox WHERE recipient = ? AND state = 'unread' AND expires_at > ? AND hops >= ${LIMITS.maxHops}`,
    ),
    list: db.prepare('SELECT * FROM inbox WHERE recipient = ? AND seq > ? ORDER BY seq LIMIT ?'),
    listUnread: db.prepare("SELECT * FROM inbox WHERE recipient = ? AND state = 'unread' AND seq > ? ORDER BY seq LIMIT ?"),
    ofTask: db.prepare("SELECT * FROM inbox WHERE task = ? AND state = 'unread' ORDER BY seq"),
    lastOfTask: db.prepare('SELECT max(seq) AS seq FROM inbox WHERE task = ? AND recipient = ?'),
    setState: db.prepare('UPDATE inbox SET state = ? WHERE seq = ?'),
    show: db.prepare('UPDATE inbox SET shows = shows + 1, stop_used = max(stop_used, ?) WHERE seq = ?'),
    unproven: db.prepare('UPDATE inbox SET unproven = unproven + 1 WHERE seq = ?'),
    next: db.prepare("SELECT min(expires_at) AS at FROM inbox WHERE state = 'unread'"),
    due: db.prepare(
      `SELECT * FROM inbox WHERE state = 'unread' AND expires_at <= ?
       AND seq NOT IN (SELECT message FROM offers WHERE state IN ('open', 'accepted')) LIMIT 500`,
    ),
  };
  const one = (row: Row | undefined): InboxRow | null => (row ? toInbox(row) : null);

  function advance(seq: number, state: InboxState): boolean {
    const row = one(sql.bySeq.get(seq));
    if (!row || !FORWARD[row.state].includes(state)) return false;
    sql.setState.run(state, seq);
    return true;
  }

  return {
    addInbox(row) {
      const { changes } = sql.add.run(
        row.workspace,
        row.source,
        row.id,
        row.recipient,
        row.conversation,
        row.conversationSeq,
        row.type,
        row.priority,
        row.hops,
        row.task,
        row.status ? 1 : 0,
        row.jws,
        row.digest,
        row.receivedAt,
        row.expiresAt,
      );
      if (changes === 1) return 'new';
      return sql.digest.get(row.workspace, row.source, row.id)?.['digest'] === row.digest ? 'duplicate' : 'conflict';
    },
    inboxMessage: (id) => one(sql.byId.get(id)),
    inboxBySeq: (seq) => one(sql.bySeq.get(seq)),
    showable: (recipient, now, limit) => sql.showable.all(recipient, now, recipient, limit).map(toInbox),
    showableIn: (recipient, conversation, now, limit) => sql.showableIn.all(recipient, conversation, now, recipient, limit).map(toInbox),
    unreadCount: (recipient, now) => Number(sql.unread.get(recipient, now)!['n']),
    heldCount: (recipient, now) => Number(sql.held.get(recipient, now)!['n']),
    listInbox: (recipient, options) =>
      (options.unreadOnly ? sql.listUnread : sql.list).all(recipient, options.after, options.limit).map(toInbox),
    advance,
    countShow: (seq, atStop) => void sql.show.run(atStop ? 1 : 0, seq),
    countUnproven: (seq) => void sql.unproven.run(seq),
    unreadOfTask: (task) => sql.ofTask.all(task).map(toInbox),
    lastOfTask: (task, recipient) => Number(sql.lastOfTask.get(task, recipient)!['seq'] ?? 0),
    nextExpiry() {
      const at = sql.next.get()?.['at'];
      return typeof at === 'number' ? at : null;
    },
    expireInbox(now) {
      return sql.due
        .all(now)
        .map(toInbox)
        .filter((row) => advance(row.seq, 'expired'));
    },
  };
}
