// The written command as the CLIs run it: by a shell, from odd homes, with a bare environment, over a broken launcher.
import { spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse } from 'smol-toml';
import { expect, test } from 'vitest';
import { claude } from '../../src/harness/claude/harness.ts';
import { codex } from '../../src/harness/codex/harness.ts';
import { inspectHarness, installHarness } from '../../src/install/install.ts';
import { sandbox, type Sandbox } from './sandbox.ts';

const ENV = { PATH: '/usr/bin:/bin' };
const HOMES = (JSON.parse(readFileSync(join(import.meta.dirname, '../../fixtures/config/editor/17-homes.json'), 'utf8')) as string[]).map(
  (home) => basename(home),
);
function mcpCommand(box: Sandbox, id: string): string | undefined {
  type Servers = Record<string, { agentbus: { command: string } } | undefined>;
  if (id === 'codex') return (parse(box.read('.codex/config.toml')) as Servers)['mcp_servers']?.agentbus.command;
  return (JSON.parse(box.read('.claude.json')) as Servers)['mcpServers']?.agentbus.command;
}

const isPlain = (name: string): boolean => !name.includes('\n');

function run(
  command: string,
  input = '{"session_id":"s","hook_event_name":"Stop"}',
): { status: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', command], { env: ENV, input, encoding: 'utf8' });
  return { status, stdout, stderr };
}

test.each(HOMES.filter(isPlain).flatMap((name) => [claude, codex].map((harness) => [name, harness] as const)))(
  'from %j the launcher is reached',
  async (name, harness) => {
    const box = sandbox(name);
    await installHarness(harness, box.options);
    const launcher = box.path('.agentbus/bin/agentbus-hook');
    writeFileSync(launcher, '#!/bin/sh\nprintf "%s|" "$0" "$@"; cat\n');
    const { hooks, mcp } = await inspectHarness(harness, box.options);
    for (const { event, command } of hooks)
      expect(run(command, 'in')).toEqual({ status: 0, stdout: `${launcher}|${harness.id}|${event}|in`, stderr: '' });
    expect(mcp?.command).toBe(box.path('.agentbus/bin/agentbus-mcp'));
    expect(mcpCommand(box, harness.id)).toBe(mcp?.command);
  },
);

test.each(HOMES.filter((name) => !isPlain(name)))('%j is refused, with nothing written', async (name) => {
  const box = sandbox(name);
  await expect(installHarness(claude, box.options)).rejects.toMatchObject({ code: 'AB-2006' });
  expect(() => box.read('.claude/settings.json')).toThrow('ENOENT');
});

test("npx's cache is refused", async () => {
  const box = sandbox();
  const dist = '/home/u/.npm/_npx/7cfa/node_modules/@agentbus/cli/dist';
  await expect(installHarness(claude, { ...box.options, dist })).rejects.toMatchObject({ code: 'AB-2005' });
});

test.each([
  ['gone', (path: string) => rmSync(path)],
  ['not executable', (path: string) => chmodSync(path, 0o644)],
  ['failing with 2', (path: string) => writeFileSync(path, '#!/bin/sh\necho broken >&2; exit 2\n')],
  ['crashing', (path: string) => writeFileSync(path, '#!/bin/sh\nkill -SEGV $$\n')],
  ['of a missing interpreter', (path: string) => writeFileSync(path, '#!/nowhere/sh\n')],
])('a launcher that is %s gives status 0 and says nothing', async (_name, breakIt) => {
  const box = sandbox();
  await installHarness(claude, box.options);
  const path = box.path('.agentbus/bin/agentbus-hook');
  breakIt(path);
  const { hooks } = await inspectHarness(claude, box.options);
  for (const { command } of hooks) expect(run(command)).toEqual({ status: 0, stdout: '', stderr: '' });
});

test('the real launcher over a missing dist gives status 0 and says nothing, without node on PATH', async () => {
  const box = sandbox('no dist');
  await installHarness(codex, { ...box.options, dist: box.path('dist') });
  const { hooks } = await inspectHarness(codex, box.options);
  for (const { command } of hooks) expect(run(command)).toEqual({ status: 0, stdout: '', stderr: '' });
  // The wrapper would hide a launcher's own complaint.
  const direct = spawnSync(box.path('.agentbus/bin/agentbus-hook'), ['codex', 'Stop'], { env: ENV, input: '{}', encoding: 'utf8' });
  expect(direct).toMatchObject({ status: 0, stdout: '', stderr: '' });
});

test('the launcher finds its Node by itself', async () => {
  const box = sandbox("O'Brien $HOME");
  box.write('dist/hook.cjs', 'process.stdout.write([process.env.AGENTBUS_HOME, ...process.argv.slice(2)].join("|"))');
  await installHarness(claude, { ...box.options, dist: box.path('dist') });
  const { hooks } = await inspectHarness(claude, box.options);
  const start = hooks.find(({ event }) => event === 'SessionStart');
  expect(run(start?.command ?? '')).toEqual({ status: 0, stdout: `${box.options.agentbusHome}|claude|SessionStart`, stderr: '' });
});
