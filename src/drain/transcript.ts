import { closeSync, constants, fstatSync, openSync, readSync, realpathSync } from 'node:fs';
import { sep } from 'node:path';
import type { BaseFact, Evidence } from '../core/harness.ts';
import { record } from '../core/payload.ts';

/**
 * Reads harness records incrementally: one cursor and the facts behind it per file, kept while an
 * offer is open. Records are append-only; a file that shrank or was replaced is read anew.
 */
export interface TranscriptReader {
  /** The facts of a record from `from` bytes on; null when it can't be read or lies outside the roots. */
  facts(evidence: Evidence, roots: readonly string[], path: string, from: number): readonly BaseFact[] | null;
  /** Its size in bytes; 0 when there is none yet. */
  size(roots: readonly string[], path: string): number;
  forget(path: string): void;
}

interface Window {
  inode: number;
  start: number;
  cursor: number;
  facts: BaseFact[];
}

const CHUNK = 1024 * 1024;
// Rows shortly before an offer still matter: its tool results and the parents of what follows.
const LOOK_BACK = 64 * 1024;
// More than this since the last look is not caught up with; the offer then stays without proof.
const MOST = 64 * 1024 * 1024;

function openInside(roots: readonly string[], path: string): number | null {
  try {
    const real = realpathSync(path);
    const inside = roots.some((root) => {
      try {
        return real.startsWith(realpathSync(root) + sep);
      } catch {
        return false;
      }
    });
    if (!inside) return null;
    const fd = openSync(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    if (fstatSync(fd).isFile()) return fd;
    closeSync(fd);
    return null;
  } catch {
    return null;
  }
}

function parseLine(evidence: Evidence, line: string, pos: number): BaseFact | null {
  if (line.length < 2 || evidence.skip.some((prefix) => line.startsWith(prefix))) return null;
  try {
    return evidence.project(record(JSON.parse(line)), pos);
  } catch {
    return null;
  }
}

/** Reads whole lines from the window's cursor to the end of the file. */
function advance(window: Window, fd: number, size: number, evidence: Evidence): void {
  let carry = Buffer.alloc(0);
  let position = window.cursor;
  while (position < size) {
    const chunk = Buffer.alloc(Math.min(CHUNK, size - position));
    const read = readSync(fd, chunk, 0, chunk.length, position);
    if (read === 0) break;
    position += read;
    const bytes = carry.length > 0 ? Buffer.concat([carry, chunk.subarray(0, read)]) : chunk.subarray(0, read);
    let begin = 0;
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, begin)) {
      const fact = parseLine(evidence, bytes.toString('utf8', begin, end), window.cursor);
      if (fact) window.facts.push(fact);
      window.cursor += end + 1 - begin;
      begin = end + 1;
    }
    carry = bytes.subarray(begin);
  }
}

/** The start of the first whole line at or behind an offset. */
function lineStart(fd: number, offset: number): number {
  if (offset === 0) return 0;
  const chunk = Buffer.alloc(LOOK_BACK);
  const read = readSync(fd, chunk, 0, chunk.length, offset - 1);
  const newline = chunk.subarray(0, read).indexOf(10);
  return newline < 0 ? offset + read - 1 : offset + newline;
}

export function createTranscriptReader(): TranscriptReader {
  const windows = new Map<string, Window>();

  function facts(evidence: Evidence, roots: readonly string[], path: string, from: number): readonly BaseFact[] | null {
    const fd = openInside(roots, path);
    if (fd === null) return null;
    try {
      const { size: bytes, ino } = fstatSync(fd);
      let window = windows.get(path);
      if (window && (window.inode !== ino || bytes < window.cursor || window.start > from)) window = undefined;
      if (!window) {
        if (bytes < from) return null;
        const start = lineStart(fd, Math.max(0, from - LOOK_BACK));
        window = { inode: ino, start: Math.min(start, from), cursor: start, facts: [] };
        windows.set(path, window);
      }
      if (bytes - window.cursor > MOST) return null;
      advance(window, fd, bytes, evidence);
      return window.facts;
    } finally {
      closeSync(fd);
    }
  }

  function size(roots: readonly string[], path: string): number {
    const fd = openInside(roots, path);
    if (fd === null) return 0;
    try {
      return fstatSync(fd).size;
    } finally {
      closeSync(fd);
    }
  }

  return { facts, size, forget: (path) => void windows.delete(path) };
}
