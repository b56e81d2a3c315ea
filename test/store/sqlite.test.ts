import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Store } from '../../src/store/contract.ts';
import { lockDatabase, migrate, openDatabase } from '../../src/store/driver.ts';
import { openStore } from '../../src/store/sqlite/store.ts';
import { storeConformance, type StoreWorld } from '../conformance/store.ts';
import { codeOf } from '../core/codes.ts';
import { inboxRow, NOW } from './rows.ts';

function newFile(): string {
  const folder = mkdtempSync(joinPath(tmpdir(), 'ab-store-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return joinPath(folder, 'agentbus.db');
}

function openWorld(): StoreWorld {
  const file = newFile();
  let store: Store = openStore(file);
  onTestFinished(() => store.close());
  return {
    store,
    reopen() {
      store.close();
      store = openStore(file);
      return store;
    },
  };
}

storeConformance('SQLite', openWorld);

test('a lock is not given up because somebody else looked at the file at that moment', async () => {
  const file = newFile();
  // Another process on its first step of taking the lock, which it does not get either.
  const script = `const db = require('better-sqlite3')(process.argv[1]);
    db.exec('BEGIN'); db.prepare('SELECT count(*) FROM sqlite_master').get(); console.log('reads');
    setTimeout(() => db.close(), 40);`;
  const other = spawn(process.execPath, ['-e', script, file], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(other.stdout, 'data');
  expect(lockDatabase(file)).toBe(true);
});

test('two connections see each other’s committed writes', () => {
  const file = newFile();
  const [first, second] = [openStore(file), openStore(file)];
  first.addInbox(inboxRow());
  expect(second.unreadCount(inboxRow().recipient, NOW)).toBe(1);
  for (const store of [first, second]) store.close();
});

test('a store that another process holds is given up after a short wait, with an error and no half write', () => {
  const file = newFile();
  const [holder, store] = [openDatabase(file, 0), openStore(file)];
  holder.exec('BEGIN IMMEDIATE');
  expect(() => store.mark(() => store.setMeta('a', '1'))).toThrow(/locked|busy/i);
  holder.exec('ROLLBACK');
  expect(store.meta('a')).toBeNull();
  store.mark(() => store.setMeta('a', '2'));
  expect(store.meta('a')).toBe('2');
  holder.close();
  store.close();
});

test('a store of a newer AgentBus is refused and left as it is', () => {
  const file = newFile();
  openStore(file).close();
  const raw = openDatabase(file, 0);
  raw.exec('PRAGMA user_version = 99');
  raw.close();
  expect(codeOf(() => openStore(file))).toBe('AB-3002');
  const again = openDatabase(file, 0);
  expect(again.prepare('PRAGMA user_version').get()).toEqual({ user_version: 99 });
  again.close();
});

test('a migration that fails in the middle leaves nothing of itself behind', () => {
  const db = openDatabase(newFile(), 0);
  migrate(db, ['CREATE TABLE a (x INTEGER)']);
  expect(() => migrate(db, ['CREATE TABLE a (x INTEGER)', 'CREATE TABLE b (x INTEGER); CREATE TABLE a (x INTEGER)'])).toThrow(
    /already exists/,
  );
  expect(db.prepare("SELECT name FROM sqlite_master WHERE name = 'b'").get()).toBeUndefined();
  migrate(db, ['CREATE TABLE a (x INTEGER)', 'CREATE TABLE b (x INTEGER)']);
  expect(db.prepare('PRAGMA user_version').get()).toEqual({ user_version: 2 });
  db.close();
});

test('a lock on a database is held by one holder alone', () => {
  const file = newFile();
  expect(lockDatabase(file)).toBe(true);
  expect(lockDatabase(file)).toBe(false);
});
