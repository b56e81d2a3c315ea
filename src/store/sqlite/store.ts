import type { Store } from '../contract.ts';
import { migrate, openDatabase } from '../driver.ts';
import { MIGRATIONS } from '../migrations/index.ts';
import { agentStore } from './agents.ts';
import { forgetOld } from './forget.ts';
import { inboxStore } from './inbox.ts';
import { offerStore } from './offers.ts';
import { outboxStore } from './outbox.ts';
import { recordStore } from './records.ts';
import { taskStore } from './tasks.ts';

// A hook must not wait for a foreign lock on the store longer than this (ms).
const BUSY_TIMEOUT = 200;

/** Opens (and migrates) the daemon's store. Throws AB-3002. */
export function openStore(file: string): Store {
  const db = openDatabase(file, BUSY_TIMEOUT);
  migrate(db, MIGRATIONS);
  const meta = db.prepare('SELECT value FROM meta WHERE key = ?');
  const setMeta = db.prepare('INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value');
  let full: boolean | null = null;
  let inside = false;

  function commit<T>(durable: boolean, fn: () => T): T {
    if (inside) {
      if (durable && full === false) throw new Error('a promise inside a mark would not be kept');
      return fn();
    }
    if (full !== durable) {
      db.exec(`PRAGMA synchronous = ${durable ? 'FULL' : 'NORMAL'}`);
      full = durable;
    }
    inside = true;
    try {
      return db.transaction(fn);
    } finally {
      inside = false;
    }
  }

  return {
    ...agentStore(db),
    ...inboxStore(db),
    ...offerStore(db),
    ...outboxStore(db),
    ...taskStore(db),
    ...recordStore(db),
    forget: forgetOld(db),
    promise: (fn) => commit(true, fn),
    mark: (fn) => commit(false, fn),
    meta: (key) => (meta.get(key)?.['value'] as string | undefined) ?? null,
    setMeta: (key, value) => void setMeta.run(key, value),
    close: () => db.close(),
  };
}
