import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Harness } from '../../src/core/harness.ts';
import { HARNESSES } from '../../src/harness/registry.ts';
import { installHarness, uninstallHarness } from '../../src/install/install.ts';
import { sandbox, type Sandbox } from './sandbox.ts';

// fixtures/config/<harness>/<case>/{before,after}.<file>: what install makes of a user's file, byte for byte.
// `restored.<file>` stands for `before` where that held older entries of ours; a case without an `after` is refused.
// UPDATE_GOLDENS=1 writes the files after install and uninstall; read the diff before you keep it.
const ROOT = join(import.meta.dirname, '../../fixtures/config');
const FILES: Record<string, string[]> = { claude: ['.claude/settings.json'], codex: ['.codex/hooks.json', '.codex/config.toml'] };
const PLACEHOLDER = '/home/user/.agentbus';
const UPDATE = process.env['UPDATE_GOLDENS'] !== undefined;

interface Case {
  name: string;
  harness: Harness;
  folder: string;
  files: string[];
  refused: boolean;
}

const CASES = HARNESSES.flatMap((harness): Case[] => {
  const files = FILES[harness.id];
  if (!files) return [];
  return readdirSync(join(ROOT, harness.id)).map((name) => {
    const folder = join(ROOT, harness.id, name);
    const refused = !readdirSync(folder).some((file) => file.startsWith('after.'));
    return { name: `${harness.id}/${name}`, harness, folder, files, refused };
  });
});

function golden({ folder }: Case, kind: string, file: string): string {
  return join(folder, `${kind}.${file.slice(file.indexOf('/') + 1)}`);
}

function bytesAt(path: string): Buffer | null {
  return existsSync(path) ? readFileSync(path) : null;
}

function filled(given: Case): Sandbox {
  const box = sandbox();
  for (const file of given.files) {
    const bytes = bytesAt(golden(given, 'before', file));
    if (bytes) box.write(file, bytes);
  }
  return box;
}

test.each(CASES.filter(({ refused }) => UPDATE || !refused))('$name', async (given) => {
  const box = filled(given);
  const { harness, files } = given;
  await installHarness(harness, box.options);
  for (const file of files) {
    const after = bytesAt(box.path(file))?.toString('utf8').replaceAll(box.options.agentbusHome, PLACEHOLDER) ?? null;
    if (UPDATE && after !== null) writeFileSync(golden(given, 'after', file), after);
    expect(after).toBe(bytesAt(golden(given, 'after', file))?.toString('utf8') ?? null);
  }
  const second = await installHarness(harness, box.options);
  expect(second.files.map(({ change }) => change)).toEqual(['unchanged', 'unchanged']);
  await uninstallHarness(harness, box.options);
  for (const file of files) {
    const back = bytesAt(box.path(file));
    const before = bytesAt(golden(given, 'before', file));
    if (UPDATE && back && !before?.equals(back)) writeFileSync(golden(given, 'restored', file), back);
    expect(back).toEqual(bytesAt(golden(given, 'restored', file)) ?? before);
  }
});

test.each(CASES.filter(({ refused }) => !UPDATE && refused))('$name is refused', async (given) => {
  const box = filled(given);
  await expect(installHarness(given.harness, box.options)).rejects.toMatchObject({ code: 'AB-2001' });
  for (const file of given.files) expect(bytesAt(box.path(file))).toEqual(bytesAt(golden(given, 'before', file)));
  expect(existsSync(box.path('.agentbus/bin/agentbus-hook'))).toBe(false);
});
