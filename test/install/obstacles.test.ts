// What stands in the way where a file, a directory or room on the disk is expected: said in one line that names it,
// with nothing half done.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, symlinkSync, utimesSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { fileError } from '../../src/core/errors.ts';
import { claude } from '../../src/harness/claude/harness.ts';
import { checkBus } from '../../src/install/check-bus.ts';
import { inspectHarness, installHarness, uninstallHarness } from '../../src/install/install.ts';
import { inProject, sandbox, type Sandbox } from './sandbox.ts';

const SETTINGS = '.claude/settings.json';

function named(box: Sandbox, code: string, name: string): object {
  return { code, message: expect.stringContaining(box.path(name)), hint: expect.stringMatching(/\w/) };
}

describe('in the way of a config', () => {
  test('a file where its directory should be', async () => {
    const box = sandbox();
    box.write('.claude', 'mine');
    await expect(installHarness(claude, box.options)).rejects.toMatchObject(named(box, 'AB-2001', SETTINGS));
    expect((await inspectHarness(claude, box.options)).problems).toMatchObject([named(box, 'AB-2001', SETTINGS)]);
    expect(existsSync(box.path('.agentbus/bin'))).toBe(false);
  });

  test('a directory that is a link to nowhere', async () => {
    const box = sandbox();
    symlinkSync(box.path('nowhere'), box.path('.claude'));
    await expect(installHarness(claude, box.options)).rejects.toMatchObject(named(box, 'AB-2001', 'nowhere'));
    await expect(installHarness(claude, box.options)).rejects.toMatchObject({ message: expect.stringContaining('is a link to') });
  });

  test.each(['project/.claude/settings.local.json', SETTINGS])('a pipe, which nobody opens: %s', async (name) => {
    const box = inProject(sandbox());
    box.write(name, '');
    execFileSync('rm', [box.path(name)]);
    execFileSync('mkfifo', [box.path(name)]);
    const options = { ...box.options, scope: 'user' as const };
    const seen = await inspectHarness(claude, options);
    if (name === SETTINGS) expect(seen.problems).toMatchObject([named(box, 'AB-2001', name)]);
    else await expect(installHarness(claude, options)).resolves.toMatchObject({ harness: 'claude' });
  });
});

describe('in the way of what AgentBus keeps', () => {
  const untouched = (box: Sandbox): void => {
    expect([box.read(SETTINGS), existsSync(box.path('.claude.json'))]).toEqual(['{}', false]);
    const left = existsSync(box.path('.agentbus/bin')) ? readdirSync(box.path('.agentbus/bin')) : [];
    expect(left.filter((name) => name !== 'agentbus-hook')).toEqual([]);
  };

  test.each([
    ['a file as its home', '.agentbus'],
    ['a file as the directory of the receipts', '.agentbus/receipts'],
    ['a directory as a launcher', '.agentbus/bin/agentbus-hook/x'],
  ])('%s', async (_name, file) => {
    const box = sandbox();
    box.write(SETTINGS, '{}');
    box.write(file, 'mine');
    const path = file.replace(/\/x$/, '');
    await expect(installHarness(claude, box.options)).rejects.toMatchObject(named(box, 'AB-2002', path));
    untouched(box);
  });

  test('doctor says so, and goes on', async () => {
    const box = sandbox();
    box.write('.agentbus', 'mine');
    const { checks, usable } = await checkBus(box.options);
    expect(usable).toBe(false);
    expect(checks).toMatchObject([{ level: 'fail', what: expect.stringContaining('is not a directory of yours') }]);
  });

  test('a full disk asks for room, not for pasting', () => {
    const full = Object.assign(new Error('write'), { code: 'ENOSPC' });
    expect(fileError(full, '/disk/file')).toMatchObject({
      code: 'AB-2002',
      message: '/disk/file cannot be written (ENOSPC)',
      hint: expect.stringContaining('room'),
    });
    expect(fileError(full)).toBeNull();
    expect(fileError(new TypeError('x'), '/disk/file')).toBeNull();
  });
});

test('an install that was killed after its receipt and before a file can be done again and undone to the byte', async () => {
  const box = sandbox();
  const mine = '{"hooks":\n\n{ },"permissions" : {"allow":[ ]}}';
  box.write(SETTINGS, mine);
  box.write('.claude.json', '{ }');
  await installHarness(claude, box.options);
  box.write(SETTINGS, mine);
  const again = await installHarness(claude, box.options);
  expect(again.files.map(({ change }) => change)).toEqual(['changed', 'unchanged']);
  await uninstallHarness(claude, box.options);
  expect([box.read(SETTINGS), box.read('.claude.json')]).toEqual([mine, '{ }']);
});

test('what a killed install left beside a file goes with the next change to it', async () => {
  const box = sandbox();
  utimesSync(box.write('.claude/.settings.json.agentbus-0a1b2c3d', '{}'), 1, 1);
  box.write('.claude/.settings.json.agentbus-of-today', '{}');
  box.write(SETTINGS, '{}');
  await installHarness(claude, box.options);
  expect(readdirSync(box.path('.claude')).sort()).toEqual(['.settings.json.agentbus-of-today', 'settings.json']);
});
