import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { isAlive } from '../../src/core/alive.ts';
import type { Check, Level } from '../../src/install/checks.ts';
import { findNc } from '../../src/install/install.ts';
import { installed, until, type Installed, type Ran } from '../support/installed.ts';

const BIN = new URL('../../bin/agentbus.mjs', import.meta.url).pathname;

let world: Installed;
let path: string;
let nc: boolean;

interface Diagnosis {
  verdict: Level;
  checks: Check[];
}

interface Settings {
  hooks: Record<string, { hooks: { command: string }[] }[]>;
}

function file(name: string): string {
  return join(world.home, name);
}

function edit(name: string, change: (text: string) => string): void {
  writeFileSync(file(name), change(readFileSync(file(name), 'utf8')));
}

function doctor(...words: string[]): Ran {
  return world.agentbus(['doctor', ...words], { PATH: path });
}

function diagnose(...words: string[]): Diagnosis & { faults: string[]; code: number | null } {
  const ran = doctor('--json', ...words);
  const seen = JSON.parse(ran.out) as Diagnosis;
  return {
    ...seen,
    code: ran.code,
    faults: seen.checks.filter(({ level }) => level !== 'ok').map(({ level, what }) => `${level} ${what}`),
  };
}

beforeAll(async () => {
  world = installed();
  nc = (await findNc(process.env)) !== null;
  path = `${file('programs')}:${world.env['PATH']}`;
  mkdirSync(file('programs'));
  for (const [name, version] of [
    ['claude', '2.1.332'],
    ['codex', '0.171.0'],
  ] as const)
    writeFileSync(file(`programs/${name}`), `#!/bin/sh\necho ${version}\n`, { mode: 0o755 });
});
afterAll(() => world.close());
// Each test breaks something. Files come back as the first install left them; the rest is repaired as doctor says.
const CONFIGS = ['.claude/settings.json', '.claude.json', '.codex/hooks.json', '.codex/config.toml'];
let pristine: string[] = [];
beforeEach(() => {
  for (const [at, text] of pristine.entries()) {
    mkdirSync(dirname(file(CONFIGS[at]!)), { recursive: true });
    writeFileSync(file(CONFIGS[at]!), text);
  }
  const ran = world.agentbus(['install', '--harness', 'claude,codex', '--trust-codex-hooks'], { PATH: path });
  if (ran.code !== 0) throw new Error(ran.err);
  pristine = CONFIGS.map((name) => readFileSync(file(name), 'utf8'));
});

describe('all is well', () => {
  it('each hook is proven by its own command, by nc and by the relay, and nothing is recorded', () => {
    const before = world.json<{ records: unknown[] }>(['records']).records.length;
    const { verdict, code, checks } = diagnose();
    expect([verdict, code, checks.filter(({ level }) => level !== 'ok')]).toEqual([nc ? 'ok' : 'warn', 0, nc ? [] : [expect.anything()]]);
    for (const [about, count] of [
      ['claude', 10],
      ['codex', 10],
    ] as const) {
      const proven = checks.filter((check) => check.about === about && check.event !== undefined);
      expect(proven).toHaveLength(count);
      for (const { event, via, ms } of proven) {
        expect(via).toBe(nc && event !== 'SessionStart' ? 'nc' : 'relay');
        expect(ms).toBeGreaterThan(0);
      }
    }
    expect(world.json<{ records: unknown[] }>(['records']).records).toHaveLength(before);
    expect(world.json<{ agents: { kind: string }[] }>(['agents']).agents.filter(({ kind }) => kind !== 'person')).toEqual([]);
  });

  it('reads well: one line for each check, and the verdict last', () => {
    const { out, code } = doctor('--harness', 'codex');
    const lines = out.trimEnd().split('\n');
    expect(code).toBe(0);
    expect(lines.pop()).toBe(nc ? 'All is well.' : 'It works, with 1 warning.');
    for (const line of lines) expect(line).toMatch(/^(?:ok  |warn|fail) {2}\S/);
    expect(lines.some((line) => /^ok {4}Codex Stop: answered in \d+ ms by (?:nc|the relay), trusted$/.test(line))).toBe(true);
    expect(out).not.toContain('Claude Code');
  });

  it('an entry that was written by hand is known by its words', () => {
    renameSync(file('.agentbus/receipts'), file('.agentbus/lost'));
    const bare = JSON.parse(readFileSync(file('.claude/settings.json'), 'utf8')) as Settings;
    for (const [event, groups] of Object.entries(bare.hooks))
      for (const { hooks } of groups) for (const hook of hooks) hook.command = `${file('.agentbus/bin/agentbus-hook')} claude ${event}`;
    writeFileSync(file('.claude/settings.json'), JSON.stringify(bare));
    const { verdict, checks, faults } = diagnose('--harness', 'claude');
    renameSync(file('.agentbus/lost'), file('.agentbus/receipts'));
    expect(checks.map(({ what }) => what)).toContainEqual(expect.stringMatching(/10 hooks in .*settings\.json, put there by hand$/));
    expect(faults).toContainEqual(expect.stringContaining('not as this version writes it: SessionStart'));
    expect(verdict).toBe('warn');
  });
});

describe('what is broken is named', () => {
  it('a launcher that is gone', () => {
    rmSync(file('.agentbus/bin/agentbus-hook'));
    const { code, faults, checks } = diagnose('--harness', 'claude');
    expect(code).toBe(1);
    expect(faults).toContainEqual(`fail the hook launcher ${file('.agentbus/bin/agentbus-hook')} is gone`);
    expect(checks.filter(({ event, level }) => event !== undefined && level === 'fail')).toHaveLength(10);
    expect(doctor('--harness', 'claude').out).toMatch(/Not all works: 11 failures, \d warnings?\.\n$/);
  });

  it('a Node that is gone: the relay is dead, what nc carries still works', () => {
    edit('.agentbus/bin/agentbus-hook', (text) => text.replaceAll(`'${process.execPath}'`, "'/gone/node'"));
    const { faults, code } = diagnose('--harness', 'claude');
    expect(code).toBe(1);
    expect(faults).toContain('fail node is gone from /gone/node, which the launchers point at');
    expect(faults).toContain('fail Claude Code SessionStart: no answer');
    expect(faults.includes('fail Claude Code Stop: no answer')).toBe(!nc);
  });

  it('hooks that are switched off', () => {
    edit('.claude/settings.json', (text) => text.replace('{', '{ "disableAllHooks": true,'));
    edit('.codex/config.toml', (text) => `${text}\n[features]\nhooks = false\n`);
    const { faults, code } = diagnose();
    expect(code).toBe(1);
    expect(faults).toEqual(
      expect.arrayContaining([expect.stringContaining('disableAllHooks'), expect.stringContaining('[features] hooks = false')]),
    );
  });

  it('hooks that Codex does not trust, with what to do', () => {
    edit('.codex/config.toml', (text) =>
      text.replace(/(:stop:0:0"\]\ntrusted_hash = "sha256:)../, '$100').replace(/\n\[hooks\.state\.[^\n]*:interrupt:0:0"\]\n[^\n]*\n/, ''),
    );
    const { faults, code } = diagnose('--harness', 'codex');
    const { out } = doctor('--harness', 'codex');
    expect(code).toBe(1);
    expect(faults).toEqual([
      ...(nc ? [] : [expect.stringContaining('nc')]),
      expect.stringMatching(/^fail Codex Stop: answered .* but changed since it was trusted/),
      expect.stringMatching(/^fail Codex Interrupt: answered .* but not trusted/),
      'fail Codex trusts 8 of 10 hooks; it skips the others without a word',
    ]);
    expect(out).toContain('`agentbus install --harness codex --trust-codex-hooks`');
  });

  it('an MCP server that does not answer as it should', () => {
    const server = file('.agentbus/bin/agentbus-mcp');
    const mcp = (script: string): string[] => {
      writeFileSync(server, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
      return diagnose().faults.filter((fault) => fault.includes('the MCP server'));
    };
    const start = readFileSync(server, 'utf8').split('\n').at(-2)!;
    expect(mcp(`echo hello; ${start}`)).toEqual([
      'fail Claude Code: the MCP server: "hello" stands among the answers',
      'fail Codex: the MCP server: "hello" stands among the answers',
    ]);
    // What Codex does not pass on is missing there alone.
    expect(mcp(`[ -n "$AGENTBUS_NO_AUTO_JOIN" ] || exit 7\n${start}`)).toEqual([
      `fail Codex: the MCP server: ${server} ended with status 7 without an answer`,
    ]);
    edit('.codex/config.toml', (text) => text.replace('[mcp_servers.agentbus]', '[mcp_servers.agentbus]\nenabled = false'));
    expect(mcp(start)).toEqual([`warn Codex: the MCP server is turned off in ${file('.codex/config.toml')}`]);
    rmSync(server);
    expect(diagnose().faults).toContainEqual(
      expect.stringMatching(/^fail Claude Code: the MCP server: .* ended with status 127 without an answer \(.*not found\)$/),
    );
  });

  it('an MCP server that never answers, and it ends with a doctor that is killed', async () => {
    const pids = file('hanging');
    writeFileSync(file('.agentbus/bin/agentbus-mcp'), `#!/bin/sh\necho $$ > ${pids}\nsleep 600 &\necho $! >> ${pids}\nwait\n`, {
      mode: 0o755,
    });
    const child = spawn(process.execPath, [BIN, 'doctor', '--harness', 'claude'], { env: { ...world.env, PATH: path }, stdio: 'ignore' });
    const started = await until('it hangs', () => {
      const lines = existsSync(pids) ? readFileSync(pids, 'utf8').trim().split('\n') : [];
      return lines.length === 2 && lines.map(Number);
    });
    child.kill('SIGKILL');
    await until('it has ended', () => !started.some(isAlive));
  });

  it('something that prints around the answer', () => {
    const real = `${file('.agentbus/bin/agentbus-hook')}.real`;
    renameSync(file('.agentbus/bin/agentbus-hook'), real);
    writeFileSync(file('.agentbus/bin/agentbus-hook'), `#!/bin/sh\necho Shell ready\nexec '${real}' "$@"\n`, { mode: 0o755 });
    const { faults, code } = diagnose('--harness', 'codex');
    rmSync(real);
    expect(code).toBe(1);
    expect(faults).toContain('fail Codex Stop: "Shell ready" stands around the answer, which the harness then cannot read');
  });

  it('waking that is switched on, and what it lacks', () => {
    const config = file('.agentbus/config.toml');
    writeFileSync(config, '[claude]\npush = "wake"\n[codex]\npush = "steer"\n');
    const before = diagnose();
    expect(before.faults).toContain('warn Claude Code: no hook for SessionStart (waiter), Stop (waiter)');
    expect(before.faults).toContainEqual(expect.stringMatching(/^warn Codex: its own daemon does not answer at .*control\.sock/));
    world.agentbus(['install', '--harness', 'claude'], { PATH: path });
    const after = diagnose('--harness', 'claude');
    expect(after.faults).toEqual(nc ? [] : [expect.stringContaining('nc'), expect.stringContaining('without nc nothing waits')]);
    rmSync(file('.agentbus/bin/agentbus-wait'));
    expect(diagnose('--harness', 'claude').faults).toContain(`fail Claude Code: the waiter ${file('.agentbus/bin/agentbus-wait')} is gone`);
    writeFileSync(config, '[codex]\npush = "queue"\n');
    const off = diagnose();
    expect(off.faults).toContain('warn Claude Code: not as this version writes it: SessionStart, Stop');
    expect(off.checks.map(({ what }) => what)).toContain(`Codex: \`codex queue\` is that of ${file('programs/codex')}`);
    rmSync(config);
  });

  it('a broken config, and an entry of another that takes the file with it', () => {
    writeFileSync(file('.claude.json'), '{ oops');
    edit('.claude/settings.json', (text) => text.replace('"hooks": {', '"hooks": { "PreToolUse": [{ "matcher": {}, "hooks": [] }],'));
    const { faults } = diagnose('--harness', 'claude');
    expect(faults).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^fail .*\.claude\.json: line 1/),
        expect.stringMatching(/^fail .*PreToolUse\[0\]\.matcher is not a string, for which the whole of .* is dropped/),
      ]),
    );
  });

  it('a CLI that AgentBus is not in, as a failure only when it was named', () => {
    world.agentbus(['uninstall', '--harness', 'codex']);
    expect(diagnose()).toMatchObject({
      code: 0,
      verdict: 'warn',
      faults: expect.arrayContaining(["warn Codex: AgentBus's entries were taken out of it"]) as string[],
    });
    expect(diagnose('--harness', 'codex')).toMatchObject({ code: 1, verdict: 'fail' });
  });

  it('that the plugin is still to be added, after install --plugin', () => {
    world.agentbus(['install', '--harness', 'claude', '--plugin']);
    const { checks } = diagnose('--harness', 'claude');
    expect(checks.find(({ what }) => what.includes('entries were taken out'))).toMatchObject({
      fix: expect.stringContaining('`claude plugin install` is still to be run') as string,
    });
  });

  it('a folder that Codex does not trust, and hooks that stand there as well', () => {
    world.agentbus(['install', '--harness', 'claude,codex', '--scope', 'project', '--trust-codex-hooks'], { PATH: path });
    const { faults, checks } = diagnose();
    expect(faults).toEqual([
      ...(nc ? [] : [expect.stringContaining('nc')]),
      `fail Codex does not trust the folder ${world.project}, so it reads no ${world.project}/.codex`,
      expect.stringMatching(/^warn Codex: AgentBus's hooks stand in .* and in the project, and both run$/),
    ]);
    expect(checks.filter(({ event }) => event !== undefined)).toHaveLength(40);
    edit('.codex/config.toml', (text) => `${text}\n[projects."${world.project}"]\ntrust_level = "trusted"\n`);
    expect(diagnose().verdict).toBe('warn');
    world.agentbus(['uninstall', '--scope', 'project']);
    expect(existsSync(join(world.project, '.codex'))).toBe(false);
  });
});

describe('the daemon', () => {
  it('that was killed is started, and the hooks are proven with it', () => {
    world.agentbus(['daemon', 'start']);
    process.kill(world.daemonPid()!, 'SIGKILL');
    const { code, checks } = diagnose('--harness', 'claude');
    expect(code).toBe(0);
    expect(checks.map(({ what }) => what)).toContainEqual(expect.stringMatching(/^the daemon answers: .*\(it was not running\)$/));
  });

  it('that cannot start is a failure, with its reason', () => {
    world.agentbus(['daemon', 'stop']);
    const store = file('.agentbus/agentbus.db');
    renameSync(store, `${store}.kept`);
    mkdirSync(store);
    try {
      const { code, faults } = diagnose('--harness', 'claude');
      expect(code).toBe(1);
      expect(faults).toContainEqual(expect.stringMatching(/^fail the daemon did not start: cannot open .*database/));
      expect(faults).toContainEqual('fail Claude Code Stop: no answer');
    } finally {
      rmSync(store, { recursive: true });
      renameSync(`${store}.kept`, store);
      chmodSync(dirname(store), 0o700);
    }
  });
});
