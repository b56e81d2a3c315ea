// What install wrote, kept so that uninstall can give the very bytes back. Never more of a config than our own text.
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeOwnFile } from './files.ts';
import type { FileKind } from './plan.ts';

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
  containers: string[];
  allow: string[];
  trust: string[];
  inert: Record<string, number[]>;
  time: string;
}

export interface Receipt {
  version: 1;
  harness: string;
  files: FileReceipt[];
}

function fileOf(directory: string, harness: string): string {
  return join(directory, `${harness}.json`);
}

/** The receipt of a harness; an unreadable one counts as none, since uninstall can do without. */
export function readReceipt(directory: string, harness: string): Receipt {
  try {
    const receipt = JSON.parse(readFileSync(fileOf(directory, harness), 'utf8')) as Receipt;
    if (receipt.version === 1 && Array.isArray(receipt.files)) return receipt;
  } catch {
    // Falls through to the empty one.
  }
  return { version: 1, harness, files: [] };
}

export function writeReceipt(directory: string, receipt: Receipt): void {
  if (receipt.files.length === 0) rmSync(fileOf(directory, receipt.harness), { force: true });
  else writeOwnFile(fileOf(directory, receipt.harness), `${JSON.stringify(receipt, null, 2)}\n`, 0o600);
}

/** Whether another harness's config still points at the launchers. */
export function installedElsewhere(directory: string, harness: string): boolean {
  let names: string[] = [];
  try {
    names = readdirSync(directory);
  } catch {
    return false;
  }
  const others = names.filter((name) => name.endsWith('.json') && name !== `${harness}.json`);
  return others.some((name) => readReceipt(directory, name.slice(0, -5)).files.some((file) => file.after !== null));
}
