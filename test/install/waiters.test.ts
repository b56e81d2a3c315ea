// The entries that wake idle sessions: there while the setting asks for them, and only where waking was seen to work.
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { claude } from '../../src/harness/claude/harness.ts';
import { codex } from '../../src/harness/codex/harness.ts';
import { inspectHarness, installHarness, uninstallHarness } from '../../src/install/install.ts';
import { inProject, sandbox, type Sandbox } from './sandbox.ts';

const WAKE = '[claude]\npush = "wake"\n[codex]\npush = "queue"\n';
const FILE = '.claude/settings.json';

interface Entry {
  command: string;
  [key: string]: unknown;
}

function waking(version: string | null, config = WAKE): Sandbox {
  const box = sandbox();
  box.write('.agentbus/config.toml', config);
  if (version !== null) box.program('claude', version);
  return box;
}

function waiters(box: Sandbox, file = FILE): [string, Entry][] {
  const { hooks } = JSON.parse(box.read(file)) as { hooks: Record<string, { hooks: Entry[] }[]> };
  return Object.entries(hooks).flatMap(([event, groups]) =>
    groups.flatMap((group) => group.hooks.flatMap((entry): [string, Entry][] => (entry['asyncRewake'] ? [[event, entry]] : []))),
  );
}

test('Claude Code gets two of them, beside its hooks', async () => {
  const box = waking('2.1.332');
  await installHarness(claude, box.options);
  const command = `'${box.path('.agentbus/bin/agentbus-wait')}' claude 2>/dev/null; [ $? -eq 86 ] && exit 2; exit 0`;
  const entry = {
    type: 'command',
    command,
    timeout: 86_400,
    asyncRewake: true,
    rewakeMessage: 'Automatic notice.',
    rewakeSummary: 'A message arrived on AgentBus.',
  };
  expect(waiters(box)).toEqual([
    ['SessionStart', entry],
    ['Stop', entry],
  ]);
  const seen = await inspectHarness(claude, box.options);
  expect(seen.missing).toEqual([]);
  expect(seen.hooks.filter(({ kind }) => kind === 'waiter').map(({ event, current }) => [event, current])).toEqual([
    ['SessionStart', true],
    ['Stop', true],
  ]);
  expect(seen.hooks.filter(({ kind }) => kind === 'hook')).toHaveLength(claude.install.registrations('2.1.332').length);
});

test.each([
  ['off', '2.1.332', '[claude]\npush = "off"\n'],
  ['not set', '2.1.332', ''],
  ['spelled otherwise', '2.1.332', '[claude]\npush = "Wake"\n'],
  ['in a file that does not parse', '2.1.332', 'push = ['],
  ['on, in a version that was not seen to wake', '2.1.331', WAKE],
  ['on, in an unknown version', null, WAKE],
])('none while the setting is %s', async (_what, version, config) => {
  const box = waking(version, config);
  await installHarness(claude, box.options);
  expect(waiters(box)).toEqual([]);
  expect((await inspectHarness(claude, box.options)).missing).toEqual([]);
});

test('Codex needs none', async () => {
  const box = waking('2.1.332');
  await installHarness(codex, box.options);
  expect(box.read('.codex/hooks.json')).not.toContain('agentbus-wait');
});

test('switched on they are missing until install runs again; switched off they are not as they should be', async () => {
  const box = waking('2.1.332', '');
  await installHarness(claude, box.options);
  box.write('.agentbus/config.toml', WAKE);
  expect((await inspectHarness(claude, box.options)).missing).toEqual(['SessionStart (waiter)', 'Stop (waiter)']);
  await installHarness(claude, box.options);
  box.write('.agentbus/config.toml', '');
  const seen = await inspectHarness(claude, box.options);
  expect(seen.hooks.filter(({ current }) => !current).map(({ event, kind }) => `${event} ${kind}`)).toEqual([
    'SessionStart waiter',
    'Stop waiter',
  ]);
  await installHarness(claude, box.options);
  expect(waiters(box)).toEqual([]);
});

test('an entry that a person has put into a group of theirs is brought up to date there', async () => {
  const box = waking('2.1.332');
  const mine = { type: 'command', command: 'mine' };
  const old = { type: 'command', command: '/old/bin/agentbus-wait claude', asyncRewake: true, timeout: 60 };
  box.write(FILE, JSON.stringify({ hooks: { Stop: [{ hooks: [mine, old] }] } }, null, 2));
  await installHarness(claude, box.options);
  const { hooks } = JSON.parse(box.read(FILE)) as { hooks: { Stop: { hooks: Entry[] }[] } };
  expect(hooks.Stop[0]!.hooks).toEqual([mine, expect.objectContaining({ timeout: 86_400, asyncRewake: true })]);
  await uninstallHarness(claude, box.options);
  expect(JSON.parse(box.read(FILE))).toEqual({ hooks: { Stop: [{ hooks: [mine] }] } });
});

test.each([false, true])(
  'uninstall takes them out, whatever the setting says by then and without a receipt too (lost: %s)',
  async (lost) => {
    const box = waking('2.1.332');
    await installHarness(claude, box.options);
    box.write('.agentbus/config.toml', '');
    if (lost) box.write('.agentbus/receipts/claude.json', '');
    await uninstallHarness(claude, box.options);
    expect((await inspectHarness(claude, box.options)).hooks).toEqual([]);
    expect(existsSync(box.path('.agentbus/bin/agentbus-wait'))).toBe(false);
  },
);

test('they go into a project like its hooks', async () => {
  const box = inProject(waking('2.1.332'));
  await installHarness(claude, box.options);
  expect(waiters(box, 'project/.claude/settings.json')).toHaveLength(2);
});
