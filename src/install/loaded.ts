// A config file on its way through an edit: what was read, what the receipt knows of it, what it becomes.
import { dirname } from 'node:path';
import { existsSync } from 'node:fs';
import { AgentBusError } from '../core/errors.ts';
import { readSnapshot, type Change, type Snapshot } from './files.ts';
import { foreignPart, holdsOurs } from './foreign.ts';
import { readJson } from './json.ts';
import type { Target } from './options.ts';
import { emptyMemory, isToml, same, type Memory } from './plan.ts';
import type { FileReceipt, Receipt } from './receipt.ts';
import { decodeFile, encodeFile, relocateSpans, sha256, withoutSpans, type Draft, type Span } from './text.ts';
import { readToml } from './toml.ts';

export interface LoadedFile {
  target: Target;
  snapshot: Snapshot;
  bom: boolean;
  before: Draft;
  draft: Draft;
  memory: Memory;
  receipt: FileReceipt | null;
}

export function loadFile(target: Target, receipts: Receipt): LoadedFile {
  const snapshot = readSnapshot(target.path);
  if (!snapshot.bytes && target.shared) snapshot.mode = 0o644;
  const { text, bom } = snapshot.bytes ? decodeFile(snapshot.bytes, target.path) : { text: '', bom: false };
  const known = receipts.files.find((file) => file.path === target.path);
  // An install that was killed wrote the receipt of a file that it never reached.
  const receipt = known && snapshot.bytes && sha256(snapshot.bytes) !== known.before ? known : null;
  const before: Draft = { text, spans: receipt ? rememberedSpans(receipt, snapshot, text) : [] };
  const { containers, allow, trust, inert } = structuredClone(receipt ?? emptyMemory());
  return {
    target,
    snapshot,
    bom,
    before,
    draft: before,
    memory: { containers: containers ?? [], allow, trust, inert, known: receipt?.containers ?? null },
    receipt,
  };
}

function rememberedSpans(receipt: FileReceipt, snapshot: Snapshot, text: string): Span[] | null {
  if (!receipt.spans) return null;
  if (snapshot.bytes && sha256(snapshot.bytes) === receipt.after)
    return receipt.spans.map(({ at, text: own }) => ({ start: at, end: at + own.length }));
  return relocateSpans(text, receipt.spans);
}

/** The meaning of a config's text. */
export function readConfig(target: Target, text: string): unknown {
  return isToml(target.kind) ? readToml(text, target.path) : (readJson(text, target.path) ?? {});
}

/** Refuses an edit that would change anything of the user's. */
export function checkForeign(file: LoadedFile): void {
  if (file.draft.text === file.before.text) return;
  const { trust, allow } = file.memory;
  const meaning = (text: string): unknown => foreignPart(readConfig(file.target, text), { trust, allow });
  let kept = false;
  try {
    kept = same(meaning(file.before.text), meaning(file.draft.text));
  } catch {
    // Not what was meant to come out, or nested deeper than can be compared.
  }
  if (!kept)
    throw new AgentBusError(
      'AB-2001',
      `${file.target.path} is spelled in a way that cannot be edited safely; left as it is`,
      'Add the entries by hand: docs/installing.md shows them.',
    );
}

export function isChanged(file: LoadedFile): boolean {
  return file.draft.text !== file.before.text;
}

export function changeOf(file: LoadedFile): Change {
  return { snapshot: file.snapshot, next: encodeFile(file.draft.text, file.bom) };
}

/** What a person would paste to make an edit by hand. */
export function blockOf(file: LoadedFile): string {
  const { text, spans } = file.draft;
  const own = spans?.map(({ start, end }) => text.slice(start, end).replace(/^,?[\r\n]*|[\r\n]*$/g, '')).join('\n');
  return own ? `Put this into the file by hand:\n${own}` : 'Make the file writable, then run install again.';
}

/** The receipt of a file as install leaves it. */
export function receiptOf(file: LoadedFile, time: Date): FileReceipt {
  const { text, spans } = file.draft;
  const { containers, allow, trust, inert } = file.memory;
  // Ours was there before any receipt: what around it is ours nobody knows any more.
  const unknown = file.memory.known === null && holdsOurs(file.target.kind, readConfig(file.target, file.before.text));
  const created = file.receipt?.created ?? file.snapshot.bytes === null;
  return {
    kind: file.target.kind,
    path: file.target.path,
    created,
    directories: file.receipt?.directories ?? missingDirectories(file.target.path),
    mode: file.snapshot.mode,
    before: spans && sha256(encodeFile(withoutSpans(text, spans), file.bom)),
    after: sha256(encodeFile(text, file.bom)),
    spans: spans && spans.map(({ start, end }) => ({ at: start, text: text.slice(start, end) })),
    containers: unknown ? null : containers,
    allow,
    trust,
    inert,
    time: time.toISOString(),
  };
}

function missingDirectories(path: string): string[] {
  const missing: string[] = [];
  for (let directory = dirname(path); !existsSync(directory); directory = dirname(directory)) missing.push(directory);
  return missing;
}
