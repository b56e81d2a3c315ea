import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Ran } from '../support/installed.ts';

// A session's shell command in a home that AgentBus has never seen. `status` needs no daemon.
const ROOT = new URL('../..', import.meta.url).pathname;
const NOBODY = 65_534;
const CLAUDE = { CLAUDECODE: '1', CLAUDE_CODE_SESSION_ID: '11111111-1111-4111-8111-111111111111' };
const CODEX = { CODEX_THREAD_ID: '22222222-2222-4222-8222-222222222222' };

let base: string;
let home: string;
let project: string;

/** The built program in a directory of its own: some tests run it as another user, or from npx's cache. */
function program(directory: string): string {
  for (const name of ['bin', 'dist', 'package.json']) cpSync(join(ROOT, name), join(directory, name), { recursive: true });
  return join(directory, 'bin', 'agentbus.mjs');
}

let own: string;
beforeAll(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'ab-')));
  chmodSync(base, 0o755);
  own = program(join(base, 'agentbus'));
});
afterAll(() => rmSync(base, { recursive: true, force: true, maxRetries: 5 }));

let count = 0;
beforeEach(() => {
  home = join(base, `home-${count}`);
  project = join(base, `project-${count++}`);
  mkdirSync(home);
  mkdirSync(join(project, '.git'), { recursive: true });
});

function run(words: string[], env: Record<string, string> = CLAUDE, options: { bin?: string; uid?: number } = {}): Ran {
  const ran = spawnSync(process.execPath, [options.bin ?? own, ...words], {
    env: { HOME: home, PATH: '/usr/bin:/bin', ...env },
    cwd: project,
    encoding: 'utf8',
    timeout: 20_000,
    ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
  });
  return { code: ran.status, out: ran.stdout, err: ran.stderr };
}

function has(name: string): boolean {
  return existsSync(join(home, name));
}

function put(name: string, content: string): void {
  mkdirSync(join(home, name, '..'), { recursive: true });
  writeFileSync(join(home, name), content);
}

describe('the first command of a session', () => {
  it('joins its harness and no other, says so in one line, and never again', () => {
    const first = run(['status']);
    expect(first.code).toBe(0);
    expect(first.err).toMatch(/^agentbus: Claude Code joined AgentBus \([^\n]+\)\. [^\n]+\. Undo: agentbus uninstall --harness claude\n$/);
    expect(first.err).toContain(join(home, '.claude/settings.json'));
    expect(first.out).toMatch(/Claude Code: 5 hooks/);
    expect([has('.claude.json'), has('.codex'), has('.agentbus/bin/agentbus-mcp')]).toEqual([true, false, true]);
    const settings = readFileSync(join(home, '.claude/settings.json'), 'utf8');
    expect(run(['status'])).toMatchObject({ code: 0, err: '' });
    expect(readFileSync(join(home, '.claude/settings.json'), 'utf8')).toBe(settings);
  });

  it('of Codex tells of the trust that Codex wants, and keeps JSON on stdout whole', () => {
    const ran = run(['status', '--json'], CODEX);
    expect(ran.err).toMatch(/^agentbus: Codex joined AgentBus [^\n]*trust[^\n]*\n$/);
    expect(JSON.parse(ran.out)).toMatchObject({ harnesses: [{ hooks: [] }, { harness: 'codex', missing: [] }] });
    expect(has('.claude.json')).toBe(false);
  });

  it('respects where the session keeps its configs', () => {
    run(['status'], { ...CLAUDE, CLAUDE_CONFIG_DIR: join(home, 'work') });
    expect([has('work/settings.json'), has('.claude')]).toEqual([true, false]);
    // Another profile is another place.
    expect(run(['status']).err).toContain(join(home, '.claude/settings.json'));
  });
});

describe('nobody joins', () => {
  const quiet = (ran: Ran): void => {
    expect(ran.err).toBe('');
    expect([has('.claude'), has('.claude.json'), has('.codex'), has('.agentbus/receipts')]).toEqual([false, false, false, false]);
  };

  it.each([
    ['outside a session', ['status'], {}],
    ['in CI', ['status'], { ...CLAUDE, CI: 'true' }],
    ['when it is switched off', ['status'], { ...CLAUDE, AGENTBUS_NO_AUTO_JOIN: '1' }],
    ['by asking for help', ['status', '--help'], CLAUDE],
    ['by the overview', ['help'], CLAUDE],
    ['by a dry run of install', ['install', '--dry-run', '--harness', 'claude'], CLAUDE],
    ['by looking at the daemon', ['daemon', 'status'], CLAUDE],
    ['by the hook itself', ['hook', 'Stop', '--harness', 'claude'], CLAUDE],
  ] as [string, string[], Record<string, string>][])('%s', (_name, words, env) => quiet(run(words, env)));

  it('by a mistyped command', () => {
    expect(run(['status', '--nonsense']).code).toBe(2);
    expect(has('.claude')).toBe(false);
  });

  it("from npx's cache, which would be gone tomorrow", () => {
    quiet(run(['status'], CLAUDE, { bin: program(join(base, '_npx', '7cfa', 'node_modules', '@agentbus', 'cli')) }));
  });

  it('doctor and uninstall leave it to their reader, and what was taken out stays out', () => {
    expect(run(['doctor', '--harness', 'claude']).err).toBe('');
    expect(has('.claude')).toBe(false);
    run(['status']);
    run(['uninstall', '--harness', 'claude']);
    expect(run(['status'])).toMatchObject({ code: 0, err: '' });
    expect(has('.claude')).toBe(false);
    expect(run(['status'], CODEX).err).toContain('Codex joined');
    run(['install', '--harness', 'claude']);
    expect(has('.claude/settings.json')).toBe(true);
  });

  it('where a person took the entries out by hand, or put them in by hand', () => {
    run(['status']);
    put('.claude/settings.json', '{}');
    expect(run(['status']).err).toBe('');
    put(
      '.codex/hooks.json',
      '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/nix/store/x/bin/agentbus-hook codex Stop"}]}]}}',
    );
    expect(run(['status'], CODEX).err).toBe('');
    expect(has('.codex/config.toml')).toBe(false);
  });

  it('where the project has them already', () => {
    run(['install', '--harness', 'claude', '--scope', 'project']);
    expect(run(['status']).err).toBe('');
    expect(has('.claude')).toBe(false);
  });
});

describe('what goes wrong costs one line', () => {
  const complains = (ran: Ran, why: RegExp): void => {
    expect(ran.code).toBe(0);
    expect(ran.out).toContain('daemon: not running');
    expect(ran.err).toMatch(/^agentbus: Codex could not join by itself: [^\n]+\n$/);
    expect(ran.err).toMatch(why);
  };

  it('in a home that cannot be written, as in the sandbox of Codex', () => {
    mkdirSync(join(home, '.codex'));
    const uid = process.geteuid?.() === 0 ? NOBODY : undefined;
    if (uid !== undefined) for (const path of [home, join(home, '.codex')]) chownSync(path, uid, uid);
    for (const path of [join(home, '.codex'), home]) chmodSync(path, 0o555);
    onTestFinished(() => chmodSync(home, 0o755));
    complains(
      run(['status'], CODEX, uid === undefined ? {} : { uid }),
      /cannot be written \(E\w+\).*Outside the sandbox: agentbus install/,
    );
  });

  it('over a config that cannot be read', () => {
    put('.codex/config.toml', 'model = \n');
    complains(run(['status'], CODEX), /config\.toml: .*agentbus install --harness codex/);
    expect(readFileSync(join(home, '.codex/config.toml'), 'utf8')).toBe('model = \n');
  });
});
