import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { installed, writtenCommands, type Installed } from '../support/installed.ts';
import { fakeClaude } from '../support/sessions.ts';

let world: Installed;
beforeEach(() => {
  world = installed();
});
afterEach(() => world.close());

const RELAY = new URL('../../dist/hook.cjs', import.meta.url).pathname;
const NO_TIME = new URL('../support/no-time.cjs', import.meta.url).pathname;

/** The relay in a process whose clock stands still: it ends because it knows that nothing will come, or not at all. */
function relayed(event: string): { code: number | null; out: string } {
  const session = fakeClaude(world);
  const ran = spawnSync(process.execPath, ['--require', NO_TIME, RELAY, 'claude', event], {
    env: { ...world.env, ...session.env },
    input: JSON.stringify(session.payload(event, { prompt: 'x', source: 'startup' })),
    encoding: 'utf8',
    timeout: 15_000,
  });
  return { code: ran.status, out: ran.stdout };
}

const startedSecondsAgo = (seconds: number): void => {
  const stamp = join(world.bus, 'run', 'last-start');
  mkdirSync(join(world.bus, 'run'), { recursive: true });
  writeFileSync(stamp, '');
  utimesSync(stamp, Date.now() / 1000 - seconds, Date.now() / 1000 - seconds);
};

describe.each(['SessionStart', 'UserPromptSubmit'])('a daemon that can’t start costs no %s its deadline', (event) => {
  it('when the one just started ends', () => {
    mkdirSync(join(world.bus, 'agentbus.db'));
    expect(relayed(event)).toEqual({ code: 0, out: '' });
  });

  it('when it was started a while ago and nobody answers', () => {
    startedSecondsAgo(10);
    expect(relayed(event)).toEqual({ code: 0, out: '' });
  });

  it('when nothing can be written', () => {
    rmSync(join(world.bus, 'run'), { recursive: true, force: true });
    writeFileSync(join(world.bus, 'run'), '');
    expect(relayed(event)).toEqual({ code: 0, out: '' });
  });
});

it('a session start waits for the daemon that it starts', () => {
  expect(relayed('SessionStart').out).toContain('AgentBus connected as');
});

it('leaves a stamp that the next hook can write, whatever the session’s umask', () => {
  const session = fakeClaude(world);
  const command = `umask 277; ${writtenCommands(world.home, 'claude')['SessionStart']!}`;
  const input = JSON.stringify(session.payload('SessionStart', { source: 'startup' }));
  const ran = spawnSync('/bin/sh', ['-c', command], { env: { ...world.env, ...session.env }, input, encoding: 'utf8' });
  expect(ran.stdout).toContain('AgentBus connected as');
  expect(statSync(join(world.bus, 'run', 'last-start')).mode & 0o777).toBe(0o600);
});
