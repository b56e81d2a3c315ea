import { readdirSync, readFileSync } from 'node:fs';
import type { HookEvent } from '../../src/core/harness.ts';

const ROOT = new URL('../../fixtures/', import.meta.url);

export interface PayloadFixture {
  /** `<Event>.<case>` */
  name: string;
  payload: Record<string, unknown>;
  /** What the harness's own adapter makes of it; undefined where no adapter exists yet. */
  expected: HookEvent | null | undefined;
}

const json = (path: string): unknown => JSON.parse(readFileSync(new URL(path, ROOT), 'utf8'));
const names = (folder: string, ending: string): string[] =>
  readdirSync(new URL(folder, ROOT))
    .filter((name) => name.endsWith(ending))
    .sort();

/** Folders of fixtures/hook-payloads: one for each harness whose payloads we have seen, and `odd`. */
export const PAYLOAD_FOLDERS: readonly string[] = readdirSync(new URL('hook-payloads/', ROOT), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)
  .sort();

export function payloadsOf(id: string): PayloadFixture[] {
  const files = names(`hook-payloads/${id}/`, '.json');
  const expectations = new Set(files.filter((name) => name.endsWith('.expected.json')));
  return files
    .filter((name) => !expectations.has(name))
    .map((file) => {
      const name = file.slice(0, -'.json'.length);
      const known = expectations.has(`${name}.expected.json`);
      return {
        name,
        payload: json(`hook-payloads/${id}/${file}`) as Record<string, unknown>,
        expected: known ? (json(`hook-payloads/${id}/${name}.expected.json`) as HookEvent | null) : undefined,
      };
    });
}

export interface EvidenceOffer {
  /** The id by which the captured record names what was shown. */
  tag: string;
  native: string;
  kind: HookEvent['kind'];
  /** The right judgement once the whole record is there. */
  verdict: 'presented' | 'accepted' | 'miss' | 'unknown';
  truncated?: boolean;
  prompt?: string;
  /** Prompts submitted after the offer. */
  later?: string[];
  toolIds?: string[];
  /** The row before which the offer was made; 0 when absent. */
  from?: number;
  /** The rows of a record that hold this offer's run, where a file holds several. */
  rows?: [start: number, end: number];
}

export interface EvidenceFixture {
  name: string;
  rows: Record<string, unknown>[];
  offers: EvidenceOffer[];
}

export function evidenceOf(id: string): EvidenceFixture[] {
  return names(`evidence/${id}/`, '.jsonl').map((file) => {
    const name = file.slice(0, -'.jsonl'.length);
    const lines = readFileSync(new URL(`evidence/${id}/${file}`, ROOT), 'utf8')
      .trim()
      .split('\n');
    return {
      name,
      rows: lines.map((line) => JSON.parse(line) as Record<string, unknown>),
      offers: json(`evidence/${id}/${name}.offers.json`) as EvidenceOffer[],
    };
  });
}

export function codexSchema(event: string): Record<string, unknown> {
  const name = event.replaceAll(/(?<!^)[A-Z]/g, '-$&').toLowerCase();
  return json(`hook-payloads/codex/schemas/${name}.command.output.json`) as Record<string, unknown>;
}
