// Projects, worktrees and sandbox homes: each place has its own receipt, and none is doubled or forgotten.
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { parse } from 'smol-toml';
import { describe, expect, test } from 'vitest';
import { claude } from '../../src/harness/claude/harness.ts';
import { codex } from '../../src/harness/codex/harness.ts';
import { inspectHarness, installHarness, isUninstalled, uninstallHarness } from '../../src/install/install.ts';
import { mainCheckout, projectRoot } from '../../src/install/project.ts';
import { inProject, sandbox, type Sandbox } from './sandbox.ts';

const LAUNCHER = '.agentbus/bin/agentbus-hook';

function stateKeys(box: Sandbox): string[] {
  const { hooks } = parse(box.read('.codex/config.toml')) as { hooks?: { state?: object } };
  return Object.keys(hooks?.state ?? {});
}

/** A main checkout `main` and a worktree `tree` of it, as git lays them out. */
function worktree(box: Sandbox): void {
  mkdirSync(box.path('main/.git/worktrees/tree'), { recursive: true });
  box.write('main/.git/worktrees/tree/commondir', '../..\n');
  box.write('tree/.git', `gitdir: ${box.path('main/.git/worktrees/tree')}\n`);
}

describe('the project', () => {
  test('is the git root, else the directory itself, and never the home', () => {
    const box = sandbox();
    mkdirSync(box.path('repo/.git'), { recursive: true });
    mkdirSync(box.path('repo/deep/er'), { recursive: true });
    mkdirSync(box.path('plain/sub'), { recursive: true });
    symlinkSync(box.path('repo/deep'), box.path('link'));
    const of = (name: string): string | null => projectRoot(box.path(name), box.home);
    expect([of('repo'), of('repo/deep/er'), of('link'), of('plain/sub')]).toEqual([
      box.path('repo'),
      box.path('repo'),
      box.path('repo'),
      box.path('plain/sub'),
    ]);
    expect(projectRoot(box.home, box.home)).toBeNull();
  });

  test('a worktree has a main checkout, a repository and a submodule have none but themselves', () => {
    const box = sandbox();
    worktree(box);
    mkdirSync(box.path('sub'), { recursive: true });
    box.write('sub/.git', 'gitdir: ../main/.git/modules/sub\n');
    expect(['tree', 'main', 'sub'].map((name) => mainCheckout(box.path(name)))).toEqual(['main', 'main', 'sub'].map(box.path));
  });

  test('is refused at home, and for Codex in a worktree, whose hooks Codex does not read', async () => {
    const box = sandbox();
    worktree(box);
    const at = (project: string | null) => ({ ...box.options, scope: 'project', project }) as const;
    for (const project of [null, box.home])
      await expect(installHarness(claude, at(project))).rejects.toMatchObject({ code: 'AB-1001', exitCode: 2 });
    await expect(uninstallHarness(claude, at(null))).rejects.toMatchObject({ code: 'AB-1001' });
    await expect(installHarness(codex, at(box.path('tree')))).rejects.toMatchObject({ hint: expect.stringContaining(box.path('main')) });
    await installHarness(claude, at(box.path('tree')));
    expect(existsSync(box.path('tree/.mcp.json'))).toBe(true);
    expect(existsSync(box.path('.claude'))).toBe(false);
  });
});

describe('a project and the user', () => {
  test("Codex's trust of a project's hooks stands in the user's config, and goes with them alone", async () => {
    const box = sandbox();
    const project = inProject(box);
    await installHarness(codex, { ...box.options, trustCodexHooks: true });
    const before = box.read('.codex/config.toml');
    const report = await installHarness(codex, { ...project.options, trustCodexHooks: true });
    expect(report.trust?.every(({ status }) => status === 'trusted')).toBe(true);
    expect(report.files.map(({ path, change }) => [path, change])).toContainEqual([box.path('.codex/config.toml'), 'changed']);
    expect(stateKeys(box).filter((key) => key.startsWith(box.path('project/.codex/hooks.json:')))).toHaveLength(10);
    expect(stateKeys(box)).toHaveLength(20);
    await uninstallHarness(codex, project.options);
    expect(box.read('.codex/config.toml')).toBe(before);
    expect((await inspectHarness(codex, box.options)).trust?.every(({ status }) => status === 'trusted')).toBe(true);
  });

  test('the user can go first as well', async () => {
    const box = sandbox();
    box.write('.codex/config.toml', 'model = "a"\n');
    const project = inProject(box);
    await installHarness(codex, { ...project.options, trustCodexHooks: true });
    await installHarness(codex, { ...box.options, trustCodexHooks: true });
    await uninstallHarness(codex, box.options);
    expect(stateKeys(box)).toHaveLength(10);
    expect(existsSync(box.path(LAUNCHER))).toBe(true);
    await uninstallHarness(codex, project.options);
    expect(box.read('.codex/config.toml')).toBe('model = "a"\n');
    expect(existsSync(box.path(LAUNCHER))).toBe(false);
  });

  test('hooks in both scopes: a note for Codex, which runs both; the same words for Claude Code, which drops one', async () => {
    const box = sandbox();
    const project = inProject(box);
    for (const harness of [claude, codex]) {
      expect((await installHarness(harness, box.options)).notes).toEqual([]);
      const { notes } = await installHarness(harness, project.options);
      expect(notes.some((note) => note.includes('runs both'))).toBe(harness === codex);
    }
    const again = await installHarness(codex, { ...project.options, scope: 'user' });
    expect(again.notes).toEqual([expect.stringContaining(box.path('project/.codex/hooks.json'))]);
    const commands = async (options: typeof box.options): Promise<string[]> =>
      (await inspectHarness(claude, options)).hooks.map(({ command }) => command);
    expect(await commands(project.options)).toEqual(await commands(box.options));
  });

  test('taking out a project says nothing of the user, and leaves launchers that a hand-written entry needs', async () => {
    const box = sandbox();
    const project = inProject(box);
    box.write(
      '.claude/settings.json',
      JSON.stringify({ hooks: { Stop: [{ hooks: [{ type: 'command', command: `${box.path(LAUNCHER)} claude Stop` }] }] } }),
    );
    await installHarness(claude, project.options);
    await uninstallHarness(claude, project.options);
    expect(isUninstalled(box.options.agentbusHome, 'claude')).toBe(false);
    expect(existsSync(box.path(LAUNCHER))).toBe(true);
  });
});

test("a sandbox's home is a place of its own", async () => {
  const box = sandbox();
  mkdirSync(box.path('jail'));
  const jail = { ...box.options, home: box.path('jail'), sandbox: true };
  await installHarness(claude, jail);
  expect(box.read('jail/.claude/settings.json')).toContain(box.path(LAUNCHER));
  expect(existsSync(box.path('.claude'))).toBe(false);
  await installHarness(claude, box.options);
  await uninstallHarness(claude, jail);
  expect(existsSync(box.path('jail/.claude'))).toBe(false);
  expect(await inspectHarness(claude, box.options)).toMatchObject({ missing: [] });
  expect(isUninstalled(box.options.agentbusHome, 'claude')).toBe(false);
});
