// Replaces several files as if they were one: all are shown to be writable before the first is replaced, and a
// failure in between puts the earlier ones back. Each is written beside its real path, links and mode kept.
import {
  accessSync,
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { randomUUID } from 'node:crypto';
import { basename, dirname, join, resolve } from 'node:path';
import { AgentBusError, fileError, isFull } from '../core/errors.ts';

const STALE_MS = 60_000;

/** A file as it was read. `bytes` is null when there is none. */
export interface Snapshot {
  path: string;
  real: string;
  bytes: Buffer | null;
  mode: number;
  owner: { uid: number; gid: number } | null;
}

export interface Change {
  snapshot: Snapshot;
  /** Null removes the file. */
  next: Buffer | null;
}

function errno(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'error';
}

/** Reads a file through all its links. A link to nowhere is refused: writing there would guess at what the user meant. */
export function readSnapshot(path: string): Snapshot {
  let real = path;
  try {
    real = realpathSync(path);
    const stat = statSync(real);
    if (!stat.isFile()) throw new AgentBusError('AB-2001', `${real} is not a file`, 'Move it away, then run install again.');
    return { path, real, bytes: readFileSync(real), mode: stat.mode & 0o7777, owner: { uid: stat.uid, gid: stat.gid } };
  } catch (error) {
    if (error instanceof AgentBusError) throw error;
    const link = brokenLink(path);
    if (link)
      throw new AgentBusError(
        'AB-2001',
        `${link.path} is a link to ${link.target}, which cannot be read (${errno(error)})`,
        `Create ${link.target} or remove the link, then run install again.`,
      );
    if (errno(error) === 'ENOENT') return { path, real: realOf(path), bytes: null, mode: 0o600, owner: null };
    throw new AgentBusError('AB-2001', `${real} cannot be read (${errno(error)})`, 'Check what is there, who owns it and its mode.');
  }
}

/** The link on the way to a path that leads nowhere: the file itself or a directory above it. */
function brokenLink(path: string): { path: string; target: string } | null {
  for (let at = path; at !== dirname(at); at = dirname(at)) {
    try {
      if (lstatSync(at).isSymbolicLink() && !existsSync(at)) return { path: at, target: resolve(dirname(at), readlinkSync(at)) };
    } catch {
      // Not there, or behind what cannot be searched: what is above it tells.
    }
  }
  return null;
}

/** A path without links, whether or not all of it is there yet: it has to be the same once its directories are made. */
export function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const above = dirname(path);
    return above === path ? path : join(realOf(above), basename(path));
  }
}

function isUnchanged(snapshot: Snapshot): boolean {
  try {
    const now = readSnapshot(snapshot.path);
    return now.real === snapshot.real && (now.bytes === null ? snapshot.bytes === null : snapshot.bytes?.equals(now.bytes) === true);
  } catch {
    return false;
  }
}

function temporaryOf(real: string): string {
  return join(dirname(real), `.${basename(real)}.agentbus-`);
}

/** Takes away what a killed run left beside a file: a copy of somebody's settings. Another AGENTBUS_HOME may be at work just now. */
function sweep(real: string): void {
  const directory = dirname(real);
  try {
    for (const path of readdirSync(directory).map((name) => join(directory, name))) {
      if (path.startsWith(temporaryOf(real)) && Date.now() - statSync(path).mtimeMs > STALE_MS) rmSync(path, { force: true });
    }
  } catch {
    // A directory that cannot be listed can still be written.
  }
}

/** Writes a new file beside `real` with its final mode and owner, on disk. */
function writeBeside(real: string, bytes: Uint8Array, mode: number, owner: Snapshot['owner']): string {
  const temporary = temporaryOf(real) + randomUUID().slice(0, 8);
  const file = openSync(temporary, 'wx', 0o600);
  try {
    let written = 0;
    while (written < bytes.length) written += writeSync(file, bytes, written);
    fsyncSync(file);
    if (fstatSync(file).size !== bytes.length) throw new Error('short write');
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
  keepOwner(temporary, owner);
  chmodSync(temporary, mode);
  return temporary;
}

function keepOwner(path: string, owner: Snapshot['owner']): void {
  if (!owner) return;
  try {
    chownSync(path, owner.uid, owner.gid);
  } catch {
    // Only root may give files away; a config of one's own has one's own uid already.
  }
}

function syncDirectory(path: string): void {
  try {
    const directory = openSync(path, 'r');
    fsyncSync(directory);
    closeSync(directory);
  } catch {
    // Some file systems know no fsync of a directory.
  }
}

/** Writes one of our own files atomically. */
export function writeOwnFile(path: string, content: string, mode: number): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = writeBeside(path, Buffer.from(content), mode, null);
  try {
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/**
 * Replaces all files or none. False: one of them changed since it was read, and nothing was written.
 * `ready` runs when every file is known to be writable; what it throws undoes everything.
 */
export function replaceFiles(changes: readonly Change[], ready: () => void, describe: (change: Change) => string): boolean {
  const made: string[] = [];
  const temporaries = new Map<Change, string>();
  const done: Change[] = [];
  let current: Change | undefined;
  try {
    for (const change of changes) {
      current = change;
      prepare(change, made, temporaries);
    }
    current = undefined;
    ready();
    if (!changes.every((change) => isUnchanged(change.snapshot))) {
      clear(temporaries, made);
      return false;
    }
    for (const change of changes) {
      current = change;
      if (!isUnchanged(change.snapshot)) {
        undo(done);
        clear(temporaries, made);
        return false;
      }
      const temporary = temporaries.get(change);
      if (temporary === undefined) unlinkSync(change.snapshot.real);
      else renameSync(temporary, change.snapshot.real);
      temporaries.delete(change);
      done.push(change);
      syncDirectory(dirname(change.snapshot.real));
    }
    return true;
  } catch (error) {
    undo(done);
    clear(temporaries, made);
    if (error instanceof AgentBusError) throw error;
    // What is AgentBus's own, or a full disk, no pasting by hand helps with.
    if (!current || isFull(error)) throw fileError(error, current?.snapshot.real) ?? error;
    const { real } = current.snapshot;
    throw new AgentBusError('AB-2002', `${real} cannot be written (${errno(error)}); nothing was changed`, describe(current));
  }
}

function prepare(change: Change, made: string[], temporaries: Map<Change, string>): void {
  const { real, bytes, mode, owner } = change.snapshot;
  if (bytes) accessSync(real, constants.W_OK);
  const directory = dirname(real);
  const first = mkdirSync(directory, { recursive: true, mode: mode & 0o044 ? 0o755 : 0o700 });
  if (first !== undefined) made.push(directory);
  accessSync(directory, constants.W_OK);
  sweep(real);
  if (change.next) temporaries.set(change, writeBeside(real, change.next, mode, owner));
}

function undo(done: readonly Change[]): void {
  for (const { snapshot, next } of done.toReversed()) {
    // Whoever wrote after us keeps what they wrote.
    if (next && !readSnapshot(snapshot.path).bytes?.equals(next)) continue;
    if (snapshot.bytes) renameSync(writeBeside(snapshot.real, snapshot.bytes, snapshot.mode, snapshot.owner), snapshot.real);
    else rmSync(snapshot.real, { force: true });
  }
}

function clear(temporaries: ReadonlyMap<Change, string>, made: readonly string[]): void {
  for (const temporary of temporaries.values()) rmSync(temporary, { force: true });
  for (const directory of made) removeEmpty(directory);
}

/** Removes a directory if nothing is in it. */
export function removeEmpty(directory: string): boolean {
  try {
    rmdirSync(directory);
    return true;
  } catch {
    return false;
  }
}
