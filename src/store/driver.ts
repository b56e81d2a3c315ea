import { createRequire } from 'node:module';
import { AgentBusError } from '../core/errors.ts';

/** The little of SQLite that the stores use, over better-sqlite3 or, where its build is missing, node:sqlite. */
export type Value = string | number | bigint | null | Uint8Array;
export type Row = Record<string, Value>;

export interface Statement {
  run(...values: Value[]): { changes: number };
  get(...values: Value[]): Row | undefined;
  all(...values: Value[]): Row[];
}

export interface Database {
  file: string;
  prepare(sql: string): Statement;
  exec(sql: string): void;
  /** `fn` in one IMMEDIATE transaction; an exception rolls back. Nested calls join the outer one. */
  transaction<T>(fn: () => T): T;
  close(): void;
}

interface RawStatement {
  run(...values: Value[]): { changes: number | bigint };
  get(...values: Value[]): unknown;
  all(...values: Value[]): unknown[];
}

interface RawDatabase {
  prepare(sql: string): RawStatement;
  exec(sql: string): unknown;
  close(): void;
}

const require = createRequire(import.meta.url);

function cannotOpen(file: string, error: unknown, hint: string): AgentBusError {
  const reason = error instanceof Error ? error.message.split('\n', 1)[0] : String(error);
  return new AgentBusError('AB-3002', `cannot open ${file}: ${reason}`, hint);
}

const UNREADABLE = 'check its disk, its owner and who else has it open; where it is moved away, AgentBus begins with an empty one';

function openRaw(file: string): RawDatabase {
  try {
    const BetterSqlite = require('better-sqlite3') as new (path: string) => RawDatabase;
    return new BetterSqlite(file);
  } catch (error) {
    if (String((error as { code?: unknown }).code).startsWith('SQLITE_')) throw cannotOpen(file, error, UNREADABLE);
    const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
    if (major > 22 || (major === 22 && minor >= 13)) {
      const { DatabaseSync } = require('node:sqlite') as { DatabaseSync: new (path: string) => RawDatabase };
      return new DatabaseSync(file);
    }
    throw cannotOpen(file, error, 'run `npm rebuild better-sqlite3` with the Node that runs AgentBus, or check the disk');
  }
}

/** Opens `file` and holds an exclusive lock on it for as long as the process lives; false when another process does. */
export function lockDatabase(file: string): boolean {
  const raw = openRaw(file);
  raw.exec('PRAGMA busy_timeout = 0');
  for (let attempt = 0; attempt < LOCK_ATTEMPTS; attempt++) {
    try {
      raw.exec('BEGIN EXCLUSIVE');
      heldLocks.push(raw);
      return true;
    } catch (error) {
      if (/locked|busy/i.test(String(error))) pause(10 + Math.random() * 40);
      else {
        raw.close();
        throw cannotOpen(file, error, UNREADABLE);
      }
    }
  }
  raw.close();
  return false;
}

// Two that try at the same moment may both be refused, each for the other's first step: neither gives up at once.
const LOCK_ATTEMPTS = 8;

function pause(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

// Kept reachable: a collected connection would give its lock away.
const heldLocks: RawDatabase[] = [];

/**
 * Opens a database file in WAL mode. `busyTimeout` in ms bounds the wait for a foreign lock.
 * Throws AB-3002 when the file cannot be opened.
 */
export function openDatabase(file: string, busyTimeout: number): Database {
  const raw = openRaw(file);
  raw.exec(`PRAGMA busy_timeout = ${Math.round(busyTimeout)}`);
  try {
    raw.exec('PRAGMA journal_mode = WAL');
    raw.exec('PRAGMA foreign_keys = ON');
    raw.exec('SELECT count(*) FROM sqlite_schema');
  } catch (error) {
    raw.close();
    throw cannotOpen(file, error, UNREADABLE);
  }
  let depth = 0;

  function transaction<T>(fn: () => T): T {
    if (depth > 0) return fn();
    raw.exec('BEGIN IMMEDIATE');
    depth++;
    try {
      const result = fn();
      raw.exec('COMMIT');
      return result;
    } catch (error) {
      try {
        raw.exec('ROLLBACK');
      } catch {
        // The statement that failed may have ended the transaction itself.
      }
      throw error;
    } finally {
      depth--;
    }
  }

  return {
    file,
    prepare: (sql) => {
      const statement = raw.prepare(sql);
      return {
        run: (...values) => ({ changes: Number(statement.run(...values).changes) }),
        get: (...values) => statement.get(...values) as Row | undefined,
        all: (...values) => statement.all(...values) as Row[],
      };
    },
    exec: (sql) => void raw.exec(sql),
    transaction,
    close: () => raw.close(),
  };
}

/** Brings a database to the last of `migrations` in one transaction; AB-3002 for one that can't be, as one from a newer AgentBus. */
export function migrate(db: Database, migrations: readonly string[]): void {
  try {
    db.transaction(() => bringUp(db, migrations));
  } catch (error) {
    throw error instanceof AgentBusError ? error : cannotOpen(db.file, error, UNREADABLE);
  }
}

function bringUp(db: Database, migrations: readonly string[]): void {
  const version = Number(db.prepare('PRAGMA user_version').get()!['user_version']);
  if (version > migrations.length) {
    throw new AgentBusError(
      'AB-3002',
      `the store is of a newer AgentBus (schema ${version}, this one knows ${migrations.length})`,
      'update AgentBus, or use another AGENTBUS_HOME',
    );
  }
  for (const sql of migrations.slice(version)) db.exec(sql);
  db.exec(`PRAGMA user_version = ${migrations.length}`);
}
