import type { Database } from '../store/driver.ts';
import type { HubStore } from './store.ts';

export const BLOBS = `
CREATE TABLE blobs (workspace TEXT NOT NULL, hash TEXT NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (workspace, hash)) STRICT;
CREATE TABLE blob_readers (
  workspace TEXT NOT NULL, hash TEXT NOT NULL, reader TEXT NOT NULL, until INTEGER NOT NULL, PRIMARY KEY (workspace, hash, reader)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_readers_until ON blob_readers (until);
`;

/** Attachments by their content, and who may read each. `mayRead` and `share` run inside the caller's transaction. */
export function hubBlobs(db: Database): Pick<HubStore, 'putBlob' | 'blob' | 'sweepBlobs'> & {
  mayRead(workspace: string, hash: string, reader: string): boolean;
  share(workspace: string, hash: string, reader: string, until: number): void;
} {
  const sql = {
    put: db.prepare('INSERT INTO blobs VALUES (?, ?, ?) ON CONFLICT DO NOTHING'),
    read: db.prepare('SELECT 1 FROM blob_readers WHERE workspace = ? AND hash = ? AND reader = ?'),
    grant: db.prepare(
      'INSERT INTO blob_readers VALUES (?, ?, ?, ?) ON CONFLICT (workspace, hash, reader) DO UPDATE SET until = max(until, excluded.until)',
    ),
    bytes: db.prepare(
      'SELECT b.bytes FROM blobs b JOIN blob_readers r ON r.workspace = b.workspace AND r.hash = b.hash WHERE b.workspace = ? AND b.hash = ? AND r.reader = ?',
    ),
    forget: db.prepare('DELETE FROM blob_readers WHERE until <= ?'),
    drop: db.prepare(
      'DELETE FROM blobs WHERE NOT EXISTS (SELECT 1 FROM blob_readers r WHERE r.workspace = blobs.workspace AND r.hash = blobs.hash)',
    ),
  };
  return {
    mayRead: (workspace, hash, reader) => sql.read.get(workspace, hash, reader) !== undefined,
    share: (workspace, hash, reader, until) => void sql.grant.run(workspace, hash, reader, until),
    putBlob: async ({ workspace, hash, bytes, reader, until }) =>
      db.transaction(() => {
        sql.put.run(workspace, hash, bytes);
        sql.grant.run(workspace, hash, reader, until);
      }),
    async blob(workspace, hash, reader) {
      const bytes = sql.bytes.get(workspace, hash, reader)?.['bytes'];
      return bytes instanceof Uint8Array ? Buffer.from(bytes) : null;
    },
    sweepBlobs: async (now) =>
      db.transaction(() => {
        if (sql.forget.run(now).changes > 0) sql.drop.run();
      }),
  };
}
