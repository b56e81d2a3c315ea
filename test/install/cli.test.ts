import { runCommand } from 'citty';
import { afterEach, expect, test, vi } from 'vitest';
import { installCommand } from '../../src/cli/install.ts';
import { uninstallCommand } from '../../src/cli/uninstall.ts';
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
  const { out, error } = await run(box, installCommand, '--harness=claude', '--harness=codex', '--json');
  expect(error).toMatchObject({ code: 'AB-2001', exitCode: 1 });
  expect(JSON.parse(out)).toMatchObject({ harnesses: [{ harness: 'codex' }], errors: [{ code: 'AB-2001' }] });
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
