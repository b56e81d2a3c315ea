// What install and uninstall say that they did.
import { unifiedDiff } from './diff.ts';
import { isChanged, type LoadedFile } from './loaded.ts';
import type { TrustEntry } from './trust.ts';

export interface FileReport {
  path: string;
  change: 'added' | 'changed' | 'removed' | 'unchanged';
  /** What changed, or would; empty when nothing does. */
  diff: string;
}

export interface HarnessReport {
  harness: string;
  title: string;
  version: string | null;
  /** The project or sandbox home that it is about; null for the user's own files. */
  place: string | null;
  files: FileReport[];
  launchers: string[];
  /** What a person should know, one sentence each. */
  notes: string[];
  /** Codex's trust of our hooks after this run; null for harnesses that have none. */
  trust: TrustEntry[] | null;
}

export function reportOf(file: LoadedFile, gone = false): FileReport {
  const there = file.snapshot.bytes !== null;
  const mark = file.bom ? '\uFEFF' : '';
  const diff = unifiedDiff(file.snapshot.real, there ? mark + file.before.text : null, gone ? null : mark + file.draft.text);
  if (gone) return { path: file.target.path, change: 'removed', diff };
  return { path: file.target.path, change: isChanged(file) ? (there ? 'changed' : 'added') : 'unchanged', diff };
}
