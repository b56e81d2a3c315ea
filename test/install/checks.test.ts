// What doctor looks at, piece by piece, where the built command would need another machine.
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { claude } from '../../src/harness/claude/harness.ts';
import { codex } from '../../src/harness/codex/harness.ts';
import { renderHookLauncher } from '../../src/hook/launcher.ts';
import { probeText } from '../../src/hook/probe.ts';
import { parseLauncher } from '../../src/install/baked.ts';
import { checkBus } from '../../src/install/check-bus.ts';
import { inspectHarness, installHarness } from '../../src/install/install.ts';
import { invalidEntries } from '../../src/install/invalid.ts';
import { bareEnv, mannersOf, proveHook, type HookRun, type Proof } from '../../src/install/prove.ts';
import { sandbox, type Sandbox } from './sandbox.ts';

const HOMES = (
  JSON.parse(readFileSync(join(import.meta.dirname, '../../fixtures/config/editor/17-homes.json'), 'utf8')) as string[]
).filter((home) => !home.includes('\n'));

describe('the baked paths are read back', () => {
  test.each(HOMES.flatMap((home) => [home, null].map((nc) => [home, nc] as const)))('from %j with nc %j', (home, nc) => {
    const paths = { home, sockets: `${home}/run`, node: `${home}/node`, dist: `${home}/dist`, nc: nc && `${nc}/nc` };
    expect(parseLauncher(renderHookLauncher(paths))).toEqual({ ...paths, sockets: nc && paths.sockets });
  });

  test.each(['', '#!/bin/sh\nexec /nix/store/x/agentbus-hook "$@"\n', 'AGENTBUS_HOME=/x exec'])('and none from %j', (script) => {
    expect(parseLauncher(script)).toBeNull();
  });
});

describe('a command is judged by what comes back', () => {
  /** A program that gets the probe on stdin and, first, its answer as an argument. */
  const prove = (box: Sandbox, script: string, more: Partial<HookRun> = {}): Promise<Proof> => {
    const answer = probeText('N', 'claude', 'nc').replace('N', '$nonce');
    const prelude = `payload=$(cat); nonce=\${payload#*'"agentbus_probe":"'}; nonce=\${nonce%%'"'*}\nanswer=$(cat <<END\n${answer}\nEND\n)\n`;
    const command = box.write(`commands/${more.event ?? 'hook'}`, `#!/bin/sh\n${prelude}${script}\n`, 0o755);
    const manners = { shell: '/bin/sh', stdin: 'socket' as const, env: bareEnv(box.options.env), cwd: box.home, timeout: 20_000 };
    return proveHook({ harness: 'claude', event: 'Stop', command, ...manners, ...more });
  };

  test.each(['socket', 'pipe'] as const)('the answer alone, over a %s', async (stdin) => {
    const proof = await prove(sandbox(), 'printf %s "$answer"', { stdin });
    expect(proof).toMatchObject({ outcome: 'answered', via: 'nc', status: 0, extra: '' });
  });

  test.each([
    ['noise', 'echo Shell ready; printf %s "$answer"', 'Shell ready'],
    ['noise', 'printf "%s\\n" "$answer"', ''],
    ['wrong', 'echo only noise', 'only noise'],
    ['silent', ':', ''],
  ])('%s from %j', async (outcome, script, extra) => {
    expect(await prove(sandbox(), script)).toMatchObject({ outcome, extra, status: 0 });
  });

  test('a shell whose start-up file prints is found out, with what it said', async () => {
    const box = sandbox();
    const shell = box.write('noisy-shell', '#!/bin/sh\necho zshenv speaking\nexec /bin/sh "$@"\n', 0o755);
    expect(await prove(box, 'printf %s "$answer"', { shell, stdin: 'pipe' })).toMatchObject({ outcome: 'noise', extra: 'zshenv speaking' });
  });

  test('a status, a hang and a missing shell are told apart', async () => {
    const box = sandbox();
    expect(await prove(box, 'printf %s "$answer"; exit 2')).toMatchObject({ outcome: 'answered', status: 2 });
    expect(await prove(box, 'exec sleep 60', { timeout: 300 })).toMatchObject({ outcome: 'late' });
    expect(await prove(box, ':', { shell: box.path('gone') })).toMatchObject({ outcome: 'not-run' });
  });

  test('stdin is what the harness gives: a socket for Claude Code, a pipe for Codex', async () => {
    const box = sandbox();
    const kind = '[ -p /dev/stdin ] && echo pipe || echo no pipe';
    for (const [harness, extra] of [
      [claude, 'no pipe'],
      [codex, 'pipe'],
    ] as const) {
      const { stdin } = mannersOf(harness);
      expect(await prove(box, '', { stdin, command: kind })).toMatchObject({ outcome: 'wrong', extra });
    }
  });
});

describe('the machine', () => {
  const withDist = async (better: string): Promise<Sandbox> => {
    const box = sandbox();
    for (const file of ['hook.cjs', 'daemon.mjs', 'mcp.mjs']) box.write(`dist/${file}`, '');
    box.write('node_modules/better-sqlite3/index.js', better);
    box.options.dist = box.path('dist');
    await installHarness(claude, box.options);
    return box;
  };
  const faults = async (box: Sandbox): Promise<string[]> =>
    (await checkBus(box.options)).checks.filter(({ level }) => level !== 'ok').map(({ level, what }) => `${level} ${what}`);
  const noNc = 'warn no nc here carries Unix sockets, so each hook starts Node';

  test('a native module of another Node is named as that', async () => {
    const box = await withDist('throw new Error("compiled against NODE_MODULE_VERSION 115")');
    expect(await faults(box)).toEqual([noNc, expect.stringMatching(/^fail better-sqlite3 was built for another Node .*115/)]);
    const good = await withDist('module.exports = class { close() {} }');
    expect(await faults(good)).toEqual([noNc]);
  });

  test('what is gone behind the launcher is named, and a launcher of another make is left alone', async () => {
    const box = await withDist('module.exports = class { close() {} }');
    const launcher = box.path('.agentbus/bin/agentbus-hook');
    const script = readFileSync(launcher, 'utf8');
    const { home: _home, ...paths } = { ...box.options, home: box.options.agentbusHome, sockets: box.path('.agentbus/run') };
    writeFileSync(launcher, renderHookLauncher({ ...paths, home: box.options.agentbusHome, node: '/gone/node', nc: '/gone/nc' }));
    expect(await faults(box)).toEqual([
      'fail node is gone from /gone/node, which the launchers point at',
      'warn nc is gone from /gone/nc, so each hook starts Node',
    ]);
    writeFileSync(launcher, script.replace('exec', ': && exec'));
    expect(await faults(box)).toEqual([expect.stringContaining('not one that install wrote')]);
    chmodSync(launcher, 0o644);
    expect(await faults(box)).toEqual([expect.stringContaining('is not executable')]);
  });

  test('a home that others can read is named', async () => {
    const box = await withDist('module.exports = class { close() {} }');
    chmodSync(box.options.agentbusHome, 0o755);
    expect(await faults(box)).toContainEqual(expect.stringMatching(/^warn the home .* is open to others \(mode 755\)$/));
    expect(await checkBus({ ...box.options, agentbusHome: box.path('none') })).toMatchObject({
      usable: false,
      checks: [{ level: 'fail' }],
    });
  });
});

describe('entries and settings of others', () => {
  const hooks = (event: string): Record<string, unknown> => ({ hooks: { [event]: [{ matcher: {}, hooks: [] }] } });

  test.each([
    ['2.0.37', 'Stop', true],
    ['2.1.197', 'Stop', true],
    [null, 'Stop', true],
    ['2.1.332', 'Stop', false],
    ['2.1.332', 'PreToolUse', true],
  ])('Claude Code %s drops the file for a bad entry under %s: %s', (version, event, disables) => {
    expect(invalidEntries('claude-settings', hooks(event), version)).toEqual([
      { what: `hooks.${event}[0].matcher is not a string`, disables },
    ]);
  });

  test('Codex drops hooks.json for an unknown type, a fraction as timeout and a strange key', () => {
    const entry = (handler: object): object => ({ hooks: { Stop: [{ hooks: [handler] }] }, x: 1 });
    const found = (handler: object): string[] => invalidEntries('codex-hooks', entry(handler) as never, null).map(({ what }) => what);
    expect(found({ type: 'hologram' })).toEqual(['"x" is a key that Codex does not know', expect.stringContaining('hologram')]);
    expect(found({ type: 'command', command: 'x', timeout: 1.5 })[1]).toContain('no whole number');
    expect(found({ type: 'command', command: 'x', timeout: 2 })).toHaveLength(1);
  });

  test('a local setting of the project and a profile of Codex silence hooks too', async () => {
    const box = sandbox();
    box.write('project/.claude/settings.local.json', '{"disableAllHooks": true}');
    const project = { ...box.options, project: box.path('project') };
    expect((await inspectHarness(claude, project)).silenced).toEqual([
      { path: box.path('project/.claude/settings.local.json'), setting: 'disableAllHooks' },
    ]);
    box.write('.codex/config.toml', 'profile = "p"\n[profiles.p.features]\nhooks = false\n[profiles.q.features]\nhooks = false\n');
    expect((await inspectHarness(codex, project)).silenced.map(({ setting }) => setting)).toEqual(['[profiles.p.features] hooks = false']);
  });

  test('hooks in both of the forms of Codex are seen', async () => {
    const box = sandbox();
    await installHarness(codex, box.options);
    expect((await inspectHarness(codex, box.options)).bothForms).toBe(false);
    box.write('.codex/config.toml', '[[hooks.Stop]]\nhooks = [{ type = "command", command = "mine" }]\n');
    expect((await inspectHarness(codex, box.options)).bothForms).toBe(true);
  });
});
