// What install wrote, kept so that uninstall can give the very bytes back. Never more of a config than our own text.
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeOwnFile } from './files.ts';
import { baseOf, type Place } from './options.ts';
import type { FileKind } from './plan.ts';
import { sha256 } from './text.ts';

export interface FileReceipt {
  kind: FileKind;
  path: string;
  /** Install made the file. */
  created: boolean;
  /** Directories that install made for it, the innermost first. */
  directories: string[];
  mode: number;
  /** sha256 of the file without our spans, and as install left it. */
  before: string | null;
  after: string | null;
  /** Our text by offset; null when only the structure tells what is ours. */
  spans: { at: number; text: string }[] | null;
  /** What install made around its entries; null where ours was found without a receipt. */
  containers: string[] | null;
  allow: string[];
  trust: string[];
  inert: Record<string, number[]>;
  time: string;
}

export interface Receipt {
  version: 1;
  harness: string;
  /** Where the files are, unless in the user's own home. */
  place?: { scope: 'user' | 'project'; base: string };
  files: FileReceipt[];
}

function nameOf(harness: string, base: string | null): string {
  return base === null ? harness : `${harness}-${sha256(Buffer.from(base)).slice(0, 16)}`;
}

function readNamed(directory: string, name: string): Receipt | null {
  try {
    const receipt = JSON.parse(readFileSync(join(directory, `${name}.json`), 'utf8')) as Receipt;
    return receipt.version === 1 && Array.isArray(receipt.files) ? receipt : null;
  } catch {
    return null;
  }
}

function readAll(directory: string): Map<string, Receipt> {
  let names: string[] = [];
  try {
    names = readdirSync(directory).filter((name) => name.endsWith('.json'));
  } catch {
    // No receipts yet.
  }
  return new Map(
    names.flatMap((name): [string, Receipt][] => {
      const receipt = readNamed(directory, name.slice(0, -5));
      return receipt ? [[name.slice(0, -5), receipt]] : [];
    }),
  );
}

/** The receipt of a harness at a place; an unreadable one counts as none, since uninstall can do without. */
export function readReceipt(directory: string, harness: string, place: Place): Receipt {
  const base = baseOf(place);
  const read = readNamed(directory, nameOf(harness, base));
  if (read) return read;
  return { version: 1, harness, ...(base === null ? {} : { place: { scope: place.scope ?? 'user', base } }), files: [] };
}

export function writeReceipt(directory: string, receipt: Receipt): void {
  const file = join(directory, `${nameOf(receipt.harness, receipt.place?.base ?? null)}.json`);
  if (receipt.files.length === 0) rmSync(file, { force: true });
  else writeOwnFile(file, `${JSON.stringify(receipt, null, 2)}\n`, 0o600);
}

/** Whether the config of another harness or place still points at the launchers. */
export function installedElsewhere(directory: string, harness: string, place: Place): boolean {
  const own = nameOf(harness, baseOf(place));
  return [...readAll(directory)].some(([name, { files }]) => name !== own && files.some((file) => file.after !== null));
}

/** The projects and sandbox homes that a harness's entries were put into. */
export function otherPlaces(directory: string, harness: string): NonNullable<Receipt['place']>[] {
  return [...readAll(directory).values()].flatMap((receipt) => (receipt.harness === harness && receipt.place ? [receipt.place] : []));
}
