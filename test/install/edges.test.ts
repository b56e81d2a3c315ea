import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse as parseJsonc } from 'jsonc-parser';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Harness } from '../../src/core/harness.ts';
import { claude } from '../../src/harness/claude/harness.ts';
import { codex } from '../../src/harness/codex/harness.ts';
import { readSnapshot, replaceFiles } from '../../src/install/files.ts';
import { detectHarnesses, findNc, inspectHarness, installHarness, uninstallHarness } from '../../src/install/install.ts';
import { readJson, removeJson, setJson } from '../../src/install/json.ts';
import { withoutSpans, splice, type Draft } from '../../src/install/text.ts';
import { sandbox } from './sandbox.ts';

const fixture = (name: string): string => readFileSync(join(import.meta.dirname, '../../fixtures/config', name), 'utf8');

describe('refused, with the file untouched', () => {
  test.each([
    ['a missing comma', '{"a": 1 "b": 2}'],
    ['a truncated file', '{"hooks": {'],
    ['comments, for which Claude Code drops the file', '{"a": 1 // why\n}'],
    ['a trailing comma', '{"a": 1,}'],
    ['a key given twice', '{"hooks": {}, "x": 1, "hooks": {"Stop": []}}'],
    ['a list at the top', '[]'],
    ['hooks that are a list', '{"hooks": []}'],
    ['an event of ours given as a string', '{"hooks": {"Stop": "echo"}}'],
    ['permissions that are a list', '{"permissions": []}'],
    ['a rule that is a string', '{"permissions": {"allow": "Bash"}}'],
    ['bytes that are not UTF-8', Uint8Array.from([0x7b, 0xff, 0x7d])],
  ])('claude: %s', async (_name, content) => {
    const box = sandbox();
    box.write('.claude/settings.json', content);
    await expect(installHarness(claude, box.options)).rejects.toMatchObject({
      code: 'AB-2001',
      message: expect.stringContaining('settings.json'),
    });
    expect(box.bytes('.claude/settings.json')).toEqual(Buffer.from(content));
    expect(existsSync(box.path('.claude.json'))).toBe(false);
  });

  test.each([
    ['a syntax error', 'model = \n'],
    ['a table given twice', '[a]\n[a]\n'],
    ['hooks that are no table', 'hooks = true\n'],
    ['an event that is no list', '[hooks.Stop]\nx = 1\n'],
    ['servers that are no table', 'mcp_servers = 1\n'],
  ])('codex: %s', async (_name, content) => {
    const box = sandbox();
    box.write('.codex/config.toml', content);
    if (content.includes('[hooks.Stop]')) box.write('.codex/hooks.json', '{}');
    await expect(installHarness(codex, box.options)).rejects.toMatchObject({
      code: 'AB-2001',
      message: expect.stringContaining('config.toml'),
    });
    expect(box.read('.codex/config.toml')).toBe(content);
  });
});

describe('versions', () => {
  const eventsFor = async (version: string | null): Promise<string[]> => {
    const box = sandbox();
    if (version) box.program('claude', version);
    await installHarness(claude, box.options);
    return Object.keys((JSON.parse(box.read('.claude/settings.json')) as { hooks: object }).hooks);
  };

  test('an old and an unknown version get the oldest common set, a new one more', async () => {
    const oldest = await eventsFor(null);
    expect(await eventsFor('2.0.37')).toEqual(oldest);
    expect(oldest).not.toContain('PostToolBatch');
    expect(await eventsFor('2.1.332')).toContain('PostToolBatch');
  });

  test('an upgrade of the CLI moves our entry to the event that it now has', async () => {
    const box = sandbox();
    await installHarness(claude, box.options);
    box.program('claude', '2.1.332');
    await installHarness(claude, box.options);
    const { hooks } = JSON.parse(box.read('.claude/settings.json')) as { hooks: Record<string, unknown> };
    expect(Object.keys(hooks)).not.toContain('PostToolUse');
    await uninstallHarness(claude, box.options);
    expect(existsSync(box.path('.claude'))).toBe(false);
  });

  test('only what is on the machine is detected, with a version that a hanging program cannot delay for long', async () => {
    const box = sandbox();
    expect(await detectHarnesses([claude, codex], box.home, box.options.env)).toEqual([]);
    mkdirSync(box.path('.codex'));
    box.program('claude', '2.1.332');
    const found = await detectHarnesses([claude, codex], box.home, box.options.env);
    expect(found.map(({ harness, version, configured }) => [harness.id, version, configured])).toEqual([
      ['claude', '2.1.332', false],
      ['codex', null, true],
    ]);
  });
});

test('asking Codex for its version does not make it a home', async () => {
  const box = sandbox();
  box.write('programs/codex', '#!/bin/sh\nmkdir -p "${CODEX_HOME:-$HOME/.codex}/tmp" 2>/dev/null\necho codex-cli 0.171.0\n', 0o755);
  const { version } = await installHarness(codex, { ...box.options, dryRun: true });
  expect([version, existsSync(box.path('.codex'))]).toEqual(['0.171.0', false]);
});

describe('what keeps hooks from running is named', () => {
  test('claude', async () => {
    const box = sandbox();
    box.write(
      '.claude/settings.json',
      '{"disableAllHooks": true, "hooks": {"PreToolUse": [{"matcher": {}, "hooks": []}], "Stop": [{"type": "command", "command": "x"}]}}',
    );
    const seen = await inspectHarness(claude, box.options);
    expect(seen.silenced).toContainEqual({ path: box.path('.claude/settings.json'), setting: 'disableAllHooks' });
    expect(seen.invalid.map(({ what }) => what)).toEqual([
      'hooks.PreToolUse[0].matcher is not a string',
      'hooks.Stop[0] has no "hooks" list',
    ]);
  });

  test('codex', async () => {
    const box = sandbox();
    box.write('.codex/config.toml', '[features]\nhooks = false\ncodex_hooks = false\n');
    box.write('.codex/hooks.json', '{"Stop": []}');
    const seen = await inspectHarness(codex, box.options);
    expect(seen.silenced.map(({ setting }) => setting)).toEqual(['[features] hooks = false', '[features] codex_hooks = false']);
    expect(seen.invalid).toHaveLength(1);
  });

  test('a config that cannot be read is a problem, not a failure', async () => {
    const box = sandbox();
    box.write('.codex/config.toml', 'hooks = 1\n[');
    expect((await inspectHarness(codex, box.options)).problems).toMatchObject([{ code: 'AB-2001' }]);
    box.write('.codex/config.toml', 'hooks = 1\n');
    expect((await inspectHarness(codex, box.options)).problems).toMatchObject([{ code: 'AB-2001' }]);
  });
});

test('CLAUDE_CONFIG_DIR holds both files, and uninstall finds them without it', async () => {
  const box = sandbox();
  await installHarness(claude, { ...box.options, env: { ...box.options.env, CLAUDE_CONFIG_DIR: box.path('cfg') } });
  expect([
    existsSync(box.path('cfg/settings.json')),
    existsSync(box.path('cfg/.claude.json')),
    existsSync(box.path('.claude.json')),
  ]).toEqual([true, true, false]);
  await uninstallHarness(claude, box.options);
  expect(existsSync(box.path('cfg'))).toBe(false);
});

test.each([claude, codex])('$id: a home behind a link, where its CLI has made nothing yet', async (harness) => {
  const box = sandbox();
  mkdirSync(box.path('real'));
  symlinkSync(box.path('real'), box.path('link'));
  const options = { ...box.options, home: box.path('link'), env: { ...box.options.env, HOME: box.path('link') }, trustCodexHooks: true };
  await installHarness(harness, options);
  expect(await inspectHarness(harness, options)).toMatchObject({ missing: [], mcp: { current: true } });
  await uninstallHarness(harness, options);
  expect(readdirSync(box.path('real'))).toEqual([]);
});

test('a relative directory is that of the working directory, also in the receipt', async () => {
  const box = sandbox();
  vi.spyOn(process, 'cwd').mockReturnValue(box.home);
  onTestFinished(() => void vi.restoreAllMocks());
  for (const [harness, name] of [
    [claude, 'CLAUDE_CONFIG_DIR'],
    [codex, 'CODEX_HOME'],
  ] as const) {
    const { files } = await installHarness(harness, { ...box.options, env: { ...box.options.env, [name]: 'cfg/' } });
    expect(files.every(({ path }) => path.startsWith(box.path('cfg')))).toBe(true);
    await uninstallHarness(harness, box.options);
    expect(existsSync(box.path('cfg'))).toBe(false);
  }
});

test('a rule and keys that the user added to our entries stay, and so does a rule that was there before', async () => {
  const box = sandbox();
  box.write('.claude/settings.json', '{"permissions": {"allow": ["mcp__agentbus__reply"]}}');
  box.write(
    '.claude.json',
    '{"mcpServers": {"agentbus": {"type": "stdio", "command": "/old/agentbus-mcp", "args": ["claude"], "alwaysLoad": true}}}',
  );
  await installHarness(claude, box.options);
  expect(JSON.parse(box.read('.claude.json'))).toEqual({
    mcpServers: { agentbus: { type: 'stdio', command: box.path('.agentbus/bin/agentbus-mcp'), args: ['claude'], alwaysLoad: true } },
  });
  await uninstallHarness(claude, box.options);
  expect(box.read('.claude/settings.json')).toBe('{"permissions": {"allow": ["mcp__agentbus__reply"]}}');
});

test("Codex: ours in the user's inline table of servers is brought up to date there", async () => {
  const box = sandbox();
  box.write('.codex/config.toml', 'mcp_servers = { agentbus = { command = "/old/agentbus-mcp" }, other = { command = "x" } }\n');
  await installHarness(codex, box.options);
  expect(await inspectHarness(codex, box.options)).toMatchObject({ missing: [], mcp: { current: true } });
  await uninstallHarness(codex, box.options);
  expect(box.read('.codex/config.toml')).toBe('mcp_servers = { other = { command = "x" } }\n');
});

test("Codex: the lists that install made in an inline table of hooks go, the user's own stay, whatever was edited since", async () => {
  const box = sandbox();
  const hooks = 'hooks = { Stop = [], SessionEnd = [{ hooks = [{ type = "command", command = "mine" }] }] }\n';
  box.write('.codex/config.toml', hooks);
  await installHarness(codex, box.options);
  writeFileSync(box.path('.codex/config.toml'), `${box.read('.codex/config.toml').replace('"mine"', '"mine too"')}[later]\n`);
  await uninstallHarness(codex, box.options);
  expect(box.read('.codex/config.toml')).toBe(`${hooks.replace('"mine"', '"mine too"')}[later]\n`);
});

test.each([claude, codex])('$id: an install over entries whose receipt is lost can still be undone', async (harness) => {
  const box = sandbox();
  const mine = harness.id === 'claude' ? '{\n  "model": "opus"\n}\n' : 'model = "a"\n';
  const file = harness.id === 'claude' ? '.claude/settings.json' : '.codex/config.toml';
  box.write(file, mine);
  await installHarness(harness, box.options);
  rmSync(box.options.agentbusHome, { recursive: true });
  // The second one only adds to what is there.
  await installHarness(harness, { ...box.options, approveSend: true });
  await uninstallHarness(harness, box.options);
  expect(await inspectHarness(harness, box.options)).toMatchObject({ hooks: [], mcp: null });
  expect(box.read(file)).toBe(mine);
});

test('a server that a person wrote into settings.json, where Claude Code reads none, is theirs', async () => {
  const box = sandbox();
  const mine = '{"mcpServers": {"agentbus": {"command": "x"}}, "hooks": {"Stop": [ ]}}';
  box.write('.claude/settings.json', mine);
  await installHarness(claude, box.options);
  await uninstallHarness(claude, box.options);
  expect(box.read('.claude/settings.json')).toBe(mine);
});

test('a second entry that a person put before ours goes with it', async () => {
  const box = sandbox();
  box.write('.claude/settings.json', '{"hooks":{"Stop":[]}}');
  await installHarness(claude, box.options);
  const again = /"Stop":\[(.*?\]\})/.exec(box.read('.claude/settings.json'))?.[1];
  box.write('.claude/settings.json', box.read('.claude/settings.json').replace('"Stop":[', `"Stop":[${again}, `));
  await installHarness(claude, box.options);
  await uninstallHarness(claude, box.options);
  expect(await inspectHarness(claude, box.options)).toMatchObject({ hooks: [] });
});

test('the launchers stay until the last harness is uninstalled', async () => {
  const box = sandbox();
  await installHarness(claude, box.options);
  await installHarness(codex, box.options);
  await uninstallHarness(claude, box.options);
  expect(existsSync(box.path('.agentbus/bin/agentbus-hook'))).toBe(true);
  await uninstallHarness(codex, box.options);
  expect(existsSync(box.path('.agentbus/bin/agentbus-hook'))).toBe(false);
});

test('a receipt holds none of the file but our own text', async () => {
  const box = sandbox();
  box.write('.claude/settings.json', '{"env": {"MARKER": "must-not-be-copied"}}');
  box.write('.codex/config.toml', 'model = "must-not-be-copied"\n');
  await installHarness(claude, box.options);
  await installHarness(codex, box.options);
  expect(box.read('.agentbus/receipts/claude.json') + box.read('.agentbus/receipts/codex.json')).not.toContain('must-not-be-copied');
});

test('a file that changed since it was read is not replaced, nor are those before it', () => {
  const box = sandbox();
  const snapshots = [box.write('a', 'a'), box.write('b', 'b')].map(readSnapshot);
  const changes = snapshots.map((snapshot) => ({ snapshot, next: Buffer.from('new') }));
  expect(
    replaceFiles(
      changes,
      () => writeFileSync(box.path('b'), 'by the CLI'),
      () => '',
    ),
  ).toBe(false);
  expect([box.read('a'), box.read('b')]).toEqual(['a', 'by the CLI']);
});

test('a failure halfway puts the files before it back', () => {
  const box = sandbox();
  const snapshots = [box.write('one/a', 'a'), box.path('two/new'), box.write('three/b', 'b')].map(readSnapshot);
  const changes = snapshots.map((snapshot) => ({ snapshot, next: Buffer.from('new') }));
  const loseLast = (): void => {
    for (const name of readdirSync(box.path('three'))) if (name.startsWith('.')) rmSync(box.path(`three/${name}`));
  };
  expect(() => replaceFiles(changes, loseLast, () => 'by hand')).toThrow(
    expect.objectContaining({ code: 'AB-2002', hint: 'by hand', message: expect.stringContaining('three/b') }),
  );
  expect([box.read('one/a'), existsSync(box.path('two')), box.read('three/b')]).toEqual(['a', false, 'b']);
});

test('what the CLI writes while install is at work is kept, and an install that never gets through says so', async () => {
  const box = sandbox();
  const file = box.write('.claude/settings.json', '{"n": 0}');
  // The registrations are asked for after the files were read.
  const during = (writes: number): Harness => {
    let left = writes;
    const registrations: Harness['install']['registrations'] = (version) => {
      if (left-- > 0) writeFileSync(file, JSON.stringify({ n: left }));
      return claude.install.registrations(version);
    };
    return { ...claude, install: { ...claude.install, registrations } };
  };
  await expect(installHarness(during(99), box.options)).rejects.toMatchObject({ code: 'AB-2003' });
  expect(JSON.parse(box.read('.claude/settings.json'))).not.toHaveProperty('hooks');
  await installHarness(during(2), box.options);
  expect(JSON.parse(box.read('.claude/settings.json'))).toMatchObject({ n: 0, hooks: { Stop: [{}] } });
});

test('uninstall passes over a broken file that holds nothing of ours, and refuses one that does', async () => {
  const box = sandbox();
  box.write('.claude/settings.json', '{ oops');
  await uninstallHarness(claude, box.options);
  box.write('.claude/settings.json', '{ "x": "agentbus hook Stop", oops');
  await expect(uninstallHarness(claude, box.options)).rejects.toMatchObject({ code: 'AB-2001' });
});

test('a program named nc is taken only if it carries a Unix socket', async () => {
  const box = sandbox();
  box.write('programs/nc', '#!/bin/sh\ncat\n', 0o755);
  box.write('programs/nc.openbsd', '#!/bin/sh\nexit 0\n', 0o755);
  const nc = await findNc({ PATH: box.path('programs') });
  expect(nc === null || nc.startsWith('/usr/') || nc.startsWith('/bin/') || nc.startsWith('/opt/')).toBe(true);
});

test('JSONC: comments, trailing commas and odd strings come through an edit and its undoing', () => {
  const before = fixture('editor/03-jsonc-traps.jsonc');
  const start: Draft = { text: before, spans: [] };
  const added = splice(start, setJson(before, ['mcp', 'agentbus'], { type: 'local', command: ['agentbus-mcp'] }));
  expect(readJson(added.text, 'opencode.jsonc', { comments: true })).toEqual({
    ...(parseJsonc(before) as object),
    mcp: { mine: { type: 'local', command: ['my-server'] }, agentbus: { type: 'local', command: ['agentbus-mcp'] } },
  });
  for (const kept of ['// 27" display, providers: anthropic, openai,', '"*.{ts,}"', '/* a " quote */', '"https://x/y//z"'])
    expect(added.text).toContain(kept);
  expect(withoutSpans(added.text, added.spans ?? [])).toBe(before);
  expect(splice(added, removeJson(added.text, ['mcp', 'agentbus'])).text).toBe(before);
});
