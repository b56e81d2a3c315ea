import { runCommand } from 'citty';
import { existsSync, mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { installCommand } from '../../src/cli/install.ts';
import { uninstallCommand } from '../../src/cli/uninstall.ts';
import { controlSocket } from '../../src/core/paths.ts';
import { VERSION } from '../../src/core/version.ts';
import { sandbox, type Sandbox } from './sandbox.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

/** Runs a command in a sandbox's environment and gives what it printed. */
async function run(
  box: Sandbox,
  command: typeof installCommand | typeof uninstallCommand,
  ...rawArgs: string[]
): Promise<{ out: string; error: unknown }> {
  for (const name of ['CLAUDE_CONFIG_DIR', 'CODEX_HOME']) vi.stubEnv(name, undefined);
  for (const [name, value] of Object.entries({ ...box.options.env, AGENTBUS_HOME: box.options.agentbusHome })) vi.stubEnv(name, value);
  let out = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => ((out += String(chunk)), true));
  vi.spyOn(process.stderr, 'write').mockImplementation((chunk) => ((out += String(chunk)), true));
  const error = await runCommand(command as never, { rawArgs }).then(
    () => null,
    (failure: unknown) => failure,
  );
  vi.restoreAllMocks();
  return { out, error };
}

test('install names each file, explains the trust of Codex and says how to undo it', async () => {
  const box = sandbox();
  const { out, error } = await run(box, installCommand, '--harness', 'claude,codex');
  expect(error).toBeNull();
  expect(out).toContain(`added ${box.path('.claude/settings.json')}`);
  expect(out).toContain('0 of 10 hooks are trusted');
  expect(out).toContain('--trust-codex-hooks');
  expect(out).toContain('agentbus uninstall --harness codex');
  const again = await run(box, installCommand, '--harness', 'claude', '--harness', 'codex');
  expect(again.out.match(/unchanged/g)).toHaveLength(4);
  const undone = await run(box, uninstallCommand);
  expect(undone.out.match(/removed .*(json|toml)/g)).toHaveLength(4);
});

test('one harness that fails does not keep the other from being installed', async () => {
  const box = sandbox();
  box.write('.claude/settings.json', '{');
  const { out, error } = await run(box, installCommand, '--harness=claude', '--harness=codex');
  expect(error).toMatchObject({ code: 'AB-2001', exitCode: 1 });
  expect(out).toContain(`added ${box.path('.codex/hooks.json')}`);
  expect(box.read('.codex/hooks.json')).toContain('agentbus-hook');
});

test('--no-mcp leaves MCP and permissions alone, --approve-send adds one rule, --dry-run writes nothing', async () => {
  const box = sandbox();
  const dry = await run(box, installCommand, '--harness', 'claude', '--dry-run');
  expect(dry.out).toContain('+++ ');
  expect(() => box.read('.claude/settings.json')).toThrow('ENOENT');
  await run(box, installCommand, '--harness', 'claude', '--no-mcp');
  expect(box.read('.claude/settings.json')).not.toContain('permissions');
  expect(() => box.read('.claude.json')).toThrow('ENOENT');
  await run(box, installCommand, '--harness', 'claude', '--approve-send');
  expect(box.read('.claude/settings.json')).toContain('mcp__agentbus__send');
});

test('an unknown harness, and none at all, are usage errors', async () => {
  const box = sandbox();
  expect((await run(box, installCommand, '--harness', 'nope')).error).toMatchObject({ code: 'AB-2004', exitCode: 2 });
  expect((await run(box, installCommand)).error).toMatchObject({ code: 'AB-2004' });
});

test('--home installs into a sandbox, with the launchers of this AGENTBUS_HOME and whatever this shell keeps its configs in', async () => {
  const box = sandbox();
  mkdirSync(box.path('jail'));
  vi.stubEnv('CLAUDE_CONFIG_DIR', box.path('cfg'));
  const { out, error } = await run(box, installCommand, '--harness', 'claude', '--home', box.path('jail'));
  expect(error).toBeNull();
  expect(out).toContain(`Claude Code in ${box.path('jail')}`);
  expect(out).toContain(`agentbus uninstall --harness claude --home ${box.path('jail')}`);
  expect(box.read('jail/.claude/settings.json')).toContain(box.path('.agentbus/bin/agentbus-hook'));
  expect(['.claude', 'cfg', 'jail/.agentbus'].map((name) => existsSync(box.path(name)))).toEqual([false, false, false]);
  for (const words of [
    ['--home', box.path('gone')],
    ['--home', box.path('jail'), '--scope', 'project'],
    ['--scope', 'galaxy'],
  ])
    expect((await run(box, installCommand, '--harness', 'claude', ...words)).error).toMatchObject({ code: 'AB-1001' });
});

test('--scope project goes to the git root, and a plain uninstall takes everything out, wherever it is', async () => {
  const box = sandbox();
  mkdirSync(box.path('repo/.git'), { recursive: true });
  mkdirSync(box.path('repo/deep'));
  mkdirSync(box.path('jail'));
  vi.spyOn(process, 'cwd').mockReturnValue(box.path('repo/deep'));
  const { out } = await run(box, installCommand, '--harness', 'claude,codex', '--scope', 'project');
  expect(out).toContain(`added ${box.path('repo/.mcp.json')}`);
  expect(out).toContain(`added ${box.path('repo/.codex/config.toml')}`);
  expect(out).toMatch(/only in a project that it trusts[^]*asks you once|asks you once[^]*only in a project that it trusts/);
  expect(out).toContain('--scope project --trust-codex-hooks');
  await run(box, installCommand, '--harness', 'claude', '--home', box.path('jail'));
  await run(box, installCommand, '--harness', 'claude');
  vi.spyOn(process, 'cwd').mockReturnValue(box.path('repo'));
  expect((await run(box, uninstallCommand, '--scope', 'user')).out).not.toContain(box.path('repo'));
  await run(box, installCommand, '--harness', 'claude');
  const undone = await run(box, uninstallCommand);
  for (const path of ['repo/.claude/settings.json', 'repo/.codex/hooks.json', 'jail/.claude/settings.json', '.claude/settings.json'])
    expect(undone.out).toContain(`removed ${box.path(path)}`);
  expect(existsSync(box.path('.agentbus/bin/agentbus-hook'))).toBe(false);
});

test.each([
  ['0.0.9', true],
  [VERSION, false],
])('a daemon of version %s is asked to stop: %s', async (version, stopped) => {
  const box = sandbox();
  const calls: string[] = [];
  const daemon = createServer((request, response) => {
    calls.push(request.url ?? '');
    response.end(JSON.stringify({ version, pid: 1 }));
  });
  const socket = controlSocket(box.options.agentbusHome);
  mkdirSync(dirname(socket), { recursive: true });
  await new Promise<void>((listening) => daemon.listen(socket, listening));
  try {
    const dry = await run(box, installCommand, '--harness', 'claude', '--dry-run');
    expect([dry.error, calls]).toEqual([null, []]);
    const { out } = await run(box, installCommand, '--harness', 'claude');
    expect(calls.includes('/stop')).toBe(stopped);
    expect(out.includes(`The running daemon is ${version}`)).toBe(stopped);
    const json = JSON.parse((await run(box, installCommand, '--harness', 'claude', '--json')).out) as { stoppedDaemon?: string };
    expect(json.stoppedDaemon).toBe(stopped ? version : undefined);
  } finally {
    daemon.close();
  }
});
