// What every harness's install has to do, whatever its files look like. A new harness joins by one call.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Harness } from '../../src/core/harness.ts';
import { inspectHarness, installHarness, isUninstalled, uninstallHarness } from '../../src/install/install.ts';
import { inProject, sandbox, type Sandbox } from './sandbox.ts';

export interface Setup {
  /** The harness's files under the home, each with content of a user's. */
  files: Record<string, string>;
  /** Changes such a content as the CLI itself might. */
  touch(file: string, content: string): string;
  version: string;
  /** The files are those of `project/`. */
  project?: true;
}

const NOBODY = 65_534;
// Whoever has a clone has git.
const APPLY = ['apply', '--whitespace=nowarn', '-'];

function fill(box: Sandbox, setup: Setup): void {
  for (const [file, content] of Object.entries(setup.files)) box.write(file, content);
}

function tree(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort();
}

/** Runs as a user whom file modes bind; root they do not. */
async function unprivileged<T>(box: Sandbox, work: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return work();
  chmodSync(join(box.home, '..'), 0o755);
  for (const path of [box.home, ...tree(box.home).map((name) => box.path(name))])
    if (!lstatSync(path).isSymbolicLink()) chownSync(path, NOBODY, NOBODY);
  process.seteuid?.(NOBODY);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
  }
}

export function conformance(harness: Harness, setup: Setup): void {
  const names = Object.keys(setup.files);
  const open = (): Sandbox => (setup.project ? inProject(sandbox()) : sandbox());
  const [fileMode, directoryMode] = setup.project ? [0o644, 0o755] : [0o600, 0o700];

  describe(`${harness.id} install${setup.project ? ' in a project' : ''}`, () => {
    test('a fresh place gets files of the right mode, a second install writes nothing, uninstall leaves nothing', async () => {
      const box = open();
      const umask = process.umask(0);
      await installHarness(harness, box.options).finally(() => process.umask(umask));
      const created = names.filter((name) => existsSync(box.path(name)));
      expect(created.length).toBe(2);
      for (const name of created) {
        expect(statSync(box.path(name)).mode & 0o777).toBe(fileMode);
      }
      for (const name of created.filter((file) => /\.(?:claude|codex)\//.test(file)))
        expect(statSync(join(box.path(name), '..')).mode & 0o777).toBe(directoryMode);
      const before = tree(box.home).map((name) => [name, statSync(box.path(name)).mtimeMs]);
      const second = await installHarness(harness, box.options);
      expect(second.files.map(({ change }) => change)).toEqual(['unchanged', 'unchanged']);
      expect(second.launchers).toEqual([]);
      expect(
        tree(box.home)
          .filter((name) => name !== '.agentbus/run')
          .map((name) => [name, statSync(box.path(name)).mtimeMs]),
      ).toEqual(before.filter(([name]) => name !== '.agentbus/run'));
      await uninstallHarness(harness, box.options);
      expect(tree(box.home).filter((name) => !name.startsWith('.agentbus/'))).toEqual(
        setup.project ? ['.agentbus', 'project'] : ['.agentbus'],
      );
      expect(existsSync(box.path('.agentbus/bin/agentbus-hook'))).toBe(false);
      // Only a person's own files say whether that person wants it.
      expect(isUninstalled(box.options.agentbusHome, harness.id)).toBe(setup.project !== true);
      await installHarness(harness, box.options);
      expect(isUninstalled(box.options.agentbusHome, harness.id)).toBe(false);
    });

    test('inspect says what is there, before and after', async () => {
      const box = open();
      box.program(harness.install.program, setup.version);
      const empty = await inspectHarness(harness, box.options);
      expect(empty).toMatchObject({ version: setup.version, hooks: [], mcp: null, problems: [] });
      const events = harness.install.registrations(setup.version).map(({ event }) => event);
      expect(empty.missing).toEqual(events);
      await installHarness(harness, box.options);
      const full = await inspectHarness(harness, box.options);
      expect(full.hooks.map(({ event, current }) => [event, current])).toEqual(events.map((event) => [event, true]));
      expect(full).toMatchObject({ missing: [], mcp: { current: true } });
    });

    test('the dry run changes nothing, and its diff makes the very file', async () => {
      const box = open();
      fill(box, setup);
      const report = await installHarness(harness, { ...box.options, dryRun: true });
      expect(tree(box.home).some((name) => name.startsWith('.agentbus'))).toBe(false);
      for (const name of names) expect(box.read(name)).toBe(setup.files[name]);
      const patched = open();
      fill(patched, setup);
      for (const { path, diff } of report.files) {
        if (diff === '') continue;
        const name = path.slice(box.home.length + 1);
        const input = diff.replace(/^--- (?!\/dev\/null).*$/m, `--- a/${name}`).replace(/^\+\+\+ .*$/m, `+++ b/${name}`);
        execFileSync('git', APPLY, { cwd: patched.home, input });
      }
      await installHarness(harness, box.options);
      for (const name of names) expect(patched.read(name)).toBe(box.read(name));
    });

    test('what the CLI changes between install and uninstall stays, and only ours goes', async () => {
      const box = open();
      fill(box, setup);
      await installHarness(harness, box.options);
      for (const name of names) writeFileSync(box.path(name), setup.touch(name, box.read(name)));
      await uninstallHarness(harness, box.options);
      for (const name of names) expect(box.read(name)).toBe(setup.touch(name, setup.files[name] as string));
    });

    test('a moved AGENTBUS_HOME rewrites our entries where they stand', async () => {
      const box = open();
      fill(box, setup);
      await installHarness(harness, box.options);
      const before = names.map((name) => box.read(name));
      const moved = { ...box.options, agentbusHome: box.path('elsewhere') };
      renameSync(box.options.agentbusHome, moved.agentbusHome);
      await installHarness(harness, moved);
      expect(names.map((name) => box.read(name))).toEqual(
        before.map((text) => text.replaceAll(box.options.agentbusHome, moved.agentbusHome)),
      );
      await uninstallHarness(harness, moved);
      for (const name of names) expect(box.read(name)).toBe(setup.files[name]);
    });

    test('without a receipt uninstall still finds what is ours', async () => {
      const box = open();
      await installHarness(harness, box.options);
      renameSync(box.path('.agentbus/receipts'), box.path('.agentbus/lost'));
      await uninstallHarness(harness, box.options);
      const left = await inspectHarness(harness, box.options);
      expect(left).toMatchObject({ hooks: [], mcp: null });
    });

    test('links, mode and owner stay', async () => {
      const box = open();
      const dotfiles = box.path('dotfiles');
      const store = box.path('store');
      mkdirSync(store);
      for (const [at, name] of names.entries()) {
        box.write(`dotfiles/${at}`, setup.files[name] as string, 0o640);
        if (process.geteuid?.() === 0) chownSync(join(dotfiles, String(at)), 12, 34);
        symlinkSync(join(dotfiles, String(at)), join(store, String(at)));
        mkdirSync(join(box.path(name), '..'), { recursive: true });
        symlinkSync(join(store, String(at)), box.path(name));
      }
      chmodSync(store, 0o555);
      const owners = names.map((_, at) => statSync(join(dotfiles, String(at))).uid);
      await installHarness(harness, box.options);
      for (const [at, name] of names.entries()) {
        expect(readlinkSync(box.path(name))).toBe(join(store, String(at)));
        const stat = statSync(join(dotfiles, String(at)));
        expect([stat.mode & 0o777, stat.uid]).toEqual([0o640, owners[at]]);
      }
      expect(tree(dotfiles)).toEqual(names.map((_, at) => String(at)));
      expect((await inspectHarness(harness, box.options)).missing).toEqual([]);
      await uninstallHarness(harness, box.options);
      for (const [at, name] of names.entries()) expect(readFileSync(join(dotfiles, String(at)), 'utf8')).toBe(setup.files[name]);
    });

    test('a link to nowhere is refused by the name of its target', async () => {
      const box = open();
      const [name] = names as [string];
      mkdirSync(join(box.path(name), '..'), { recursive: true });
      symlinkSync(box.path('nowhere/file'), box.path(name));
      await expect(installHarness(harness, box.options)).rejects.toMatchObject({
        code: 'AB-2001',
        message: expect.stringContaining(box.path('nowhere/file')),
      });
      expect(readlinkSync(box.path(name))).toBe(box.path('nowhere/file'));
      expect(existsSync(box.path('.agentbus/bin'))).toBe(false);
    });

    test.each([0, 1])('one read-only file leaves the others and the launchers alone (%i)', async (at) => {
      const box = open();
      fill(box, setup);
      const name = names[at] as string;
      box.write(`nix-store/abc/${at}`, setup.files[name] as string, 0o444);
      renameSync(box.path(name), box.path('old'));
      symlinkSync(box.path(`nix-store/abc/${at}`), box.path(name));
      chmodSync(box.path('nix-store/abc'), 0o555);
      await unprivileged(box, async () => {
        await expect(installHarness(harness, box.options)).rejects.toMatchObject({
          code: 'AB-2002',
          message: expect.stringContaining(box.path(`nix-store/abc/${at}`)),
          hint: expect.stringContaining(box.options.agentbusHome),
        });
      });
      for (const file of names) expect(box.read(file)).toBe(setup.files[file]);
      expect(existsSync(box.path('.agentbus/bin/agentbus-hook'))).toBe(false);
      expect(tree(box.home).filter((file) => file.includes('.agentbus-'))).toEqual([]);
    });
  });
}
