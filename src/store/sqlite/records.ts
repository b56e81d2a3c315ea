import type { RecordRow, RecordStore } from '../contract.ts';
import type { Database, Row } from '../driver.ts';

function toRecord(row: Row): RecordRow {
  return { id: row['id'] as string, at: Number(row['at']), body: row['body'] as string };
}

export function recordStore(db: Database): RecordStore {
  const sql = {
    add: db.prepare('INSERT INTO records (id, at, body, queued) VALUES (?, ?, ?, 1) ON CONFLICT (id) DO NOTHING'),
    queued: db.prepare('SELECT * FROM records WHERE queued = 1 ORDER BY id LIMIT ?'),
    // Records live at the hub; here they only wait for it.
    sent: db.prepare('DELETE FROM records WHERE id = ?'),
    pinned: db.prepare('SELECT public_key FROM pins WHERE device = ?'),
    pin: db.prepare('INSERT INTO pins (device, public_key, pinned_at) VALUES (?, ?, ?) ON CONFLICT (device) DO NOTHING'),
  };
  return {
    addRecord: (row) => void sql.add.run(row.id, row.at, row.body),
    queuedRecords: (limit) => sql.queued.all(limit).map(toRecord),
    recordsSent: (ids) => ids.forEach((id) => sql.sent.run(id)),
    pinnedKey: (device) => (sql.pinned.get(device)?.['public_key'] as string | undefined) ?? null,
    pinKey: (device, publicKey, now) => void sql.pin.run(device, publicKey, now),
  };
}
