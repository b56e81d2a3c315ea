import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { waitCommand } from '../../src/hook/launcher.ts';
import { installed, until, writtenCommands, type Installed, type Ran } from '../support/installed.ts';
import { contextOf, fakeClaude, type FakeClaude } from '../support/sessions.ts';

// The installed waiter, run as Claude Code runs it: by sh, in a session of its own, with nobody waiting for it.
let world: Installed;
let command: string;
beforeAll(() => {
  world = installed({ name: "o'dd home" });
  const programs = join(world.home, 'programs');
  mkdirSync(programs);
  writeFileSync(join(programs, 'claude'), '#!/bin/sh\necho 2.1.332\n', { mode: 0o755 });
  world.json(['config', 'set', 'claude.push', 'wake']);
  world.agentbus(['install', '--harness', 'claude'], { PATH: `${programs}:${world.env['PATH']}` });
  command = writtenCommands(world.home, 'claude', 'agentbus-wait')['Stop']!;
});
afterAll(() => world.close());

interface Waiter {
  child: ChildProcess;
  ended: Promise<Ran>;
  running(): boolean;
}

const children = new Set<ChildProcess>();
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  children.clear();
});

function wait(env: Record<string, string>): Waiter {
  const child = spawn('/bin/sh', ['-c', command], { env: { ...world.env, ...env }, cwd: world.project, detached: true });
  children.add(child);
  child.stdin.on('error', () => {});
  child.stdin.write('{"hook_event_name":"Stop"}');
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString('utf8')));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString('utf8')));
  const ended = new Promise<Ran>((resolve) => child.on('close', (code) => resolve({ code, out, err })));
  return { child, ended, running: () => child.exitCode === null && child.signalCode === null };
}

/** Something to have the pid of. */
function standIn(): { pid: number; end(): void } {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' });
  children.add(child);
  return { pid: child.pid!, end: () => void child.kill('SIGKILL') };
}

interface Session {
  session: FakeClaude;
  address: string;
  env: Record<string, string>;
  end(): void;
}

async function started(): Promise<Session> {
  const { pid, end } = standIn();
  // A name of its own, so that no test meets the mail of another.
  const session = fakeClaude(world, { CLAUDE_PID: String(pid), AGENTBUS_AGENT: `session-${pid}` });
  const address = /agent:\/\/\S+[a-z0-9]/.exec(contextOf((await session.start()).out))![0];
  return { session, address, env: session.env, end };
}

const send = (to: string, ...rest: string[]): { id: string; seen: string } => world.json(['send', to, ...rest]);
const states = (id: string): string[] => world.json<{ steps: { state: string }[] }>(['trace', id]).steps.map((step) => step.state);
const badges = (address: string): string[] =>
  world.json<{ agents: { address: string; badges: string[] }[] }>(['agents']).agents.find((agent) => agent.address === address)!.badges;
const connected = (address: string): Promise<unknown> => until('the waiter is there', () => badges(address).includes('wake'));
/** Programs of this world's that still run. */
const left = (): string[] =>
  spawnSync('ps', ['-eo', 'args'], { encoding: 'utf8' })
    .stdout.split('\n')
    .filter((line) => line.includes(world.bus) && /agentbus-wait|wake\.sock/.test(line));

describe('a waiter', () => {
  it('wakes its session by one line that names the message and its sender, and no more', async () => {
    const { session, address, env } = await started();
    expect(badges(address)).not.toContain('wake');
    const waiter = wait(env);
    await connected(address);
    const { id, seen } = send(address, 'a secret');
    expect(seen).toBe('idle: it is woken for it');
    const person = world.json<{ address: string }>(['whoami']).address;
    expect(await waiter.ended).toEqual({ code: 2, out: `AgentBus: unread message ${id} from ${person}.\n`, err: '' });
    expect(states(id)).toEqual(['accepted', 'delivered', 'woke']);
    expect(badges(address)).not.toContain('wake');
    const woken = await session.prompt(`<task-notification>\nAutomatic notice. AgentBus: unread message ${id} from ${person}.`);
    expect(contextOf(woken.out)).toContain(`<agentbus-message id="${id}"`);
  });

  it('wakes once until the woken turn has begun, and for what came meanwhile after it', async () => {
    const { session, address, env } = await started();
    const first = wait(env);
    await connected(address);
    send(address, 'one');
    expect((await first.ended).code).toBe(2);
    const second = wait(env);
    await connected(address);
    const later = send(address, 'two');
    expect(later.seen).toBe('idle: at the next prompt');
    const prompt = '<task-notification>';
    session.accept('UserPromptSubmit', prompt, (await session.prompt(prompt)).out);
    const during = send(address, 'three').id;
    expect(second.running()).toBe(true);
    await world.hook('claude', 'Stop', session.payload('Stop', { stop_hook_active: false }));
    expect((await second.ended).out).toContain(during);
    expect(states(later.id)).not.toContain('woke');
  });

  it('leaves a low message, a busy session and a paused one alone', async () => {
    const { session, address, env } = await started();
    const waiter = wait(env);
    await connected(address);
    const low = send(address, 'can wait', '--priority', 'low');
    expect(low.seen).toBe('idle: at the next prompt');
    // As with an open permission dialog: the turn has not stopped.
    await session.prompt('work');
    const busy = send(address, 'now', '--priority', 'urgent').id;
    world.json(['pause', address]);
    await world.hook('claude', 'Stop', session.payload('Stop', { stop_hook_active: false }));
    const paused = send(address, 'and now').id;
    await world.hook('claude', 'Stop', session.payload('Stop', { stop_hook_active: true }));
    for (const id of [low.id, busy, paused]) expect(states(id)).not.toContain('woke');
    expect(waiter.running()).toBe(true);
    world.json(['resume', address]);
    const { code, out } = await waiter.ended;
    expect([code, out.includes(busy), out.includes(paused), out.includes(low.id)]).toEqual([2, true, true, false]);
  });

  it('stops waking after ten times without a person, and a human prompt renews that', async () => {
    const { session, address, env } = await started();
    for (let count = 0; count < 10; count++) {
      const waiter = wait(env);
      await connected(address);
      send(address, `number ${count}`);
      expect((await waiter.ended).code).toBe(2);
      const prompt = `<task-notification> ${count}`;
      session.accept('UserPromptSubmit', prompt, (await session.prompt(prompt)).out);
      await world.hook('claude', 'Stop', session.payload('Stop', { stop_hook_active: false }));
    }
    const waiter = wait(env);
    await connected(address);
    const { id, seen } = send(address, 'one too many');
    expect(seen).toBe('idle, budget of turns without a person used up: at the next prompt of its person');
    const prompt = 'what is new?';
    const shown = await session.prompt(prompt);
    expect(contextOf(shown.out)).toContain(id);
    expect(states(id)).not.toContain('woke');
    session.accept('UserPromptSubmit', prompt, shown.out);
    await world.hook('claude', 'Stop', session.payload('Stop', { stop_hook_active: false }));
    const again = send(address, 'again').id;
    expect((await waiter.ended).out).toContain(again);
  }, 60_000);

  it('gives way to the next one of its process, quietly', async () => {
    const { address, env } = await started();
    const first = wait(env);
    await connected(address);
    const second = wait(env);
    expect(await first.ended).toEqual({ code: 0, out: '', err: '' });
    const { id } = send(address, 'for the second');
    expect((await second.ended).out).toContain(id);
  });

  it('wakes the session that its process runs by now', async () => {
    const { address, env } = await started();
    const waiter = wait(env);
    await connected(address);
    const cleared = fakeClaude(world, { CLAUDE_PID: env['CLAUDE_PID']!, AGENTBUS_AGENT: env['AGENTBUS_AGENT']! });
    expect(contextOf((await cleared.start('clear')).out)).toContain(address);
    const { id } = send(address, 'after the clear');
    expect((await waiter.ended).out).toContain(id);
    expect(contextOf((await cleared.prompt('<task-notification>')).out)).toContain(id);
  });

  it('outlives the daemon, and hears the next one', async () => {
    const { address, env } = await started();
    const waiter = wait(env);
    await connected(address);
    world.json(['daemon', 'stop']);
    await until('the daemon is gone', () => !world.agentbus(['daemon', 'status']).out.startsWith('daemon: 0.'));
    expect(waiter.running()).toBe(true);
    world.agentbus(['daemon', 'start']);
    await connected(address);
    const { id } = send(address, 'still there?');
    expect((await waiter.ended).out).toContain(id);
  });

  it.each(['TERM', 'HUP', 'INT'])('takes its nc with it at SIG%s', async (signal) => {
    const { address, env } = await started();
    const waiter = wait(env);
    await connected(address);
    process.kill(-waiter.child.pid!, `SIG${signal}`);
    await waiter.ended;
    await until('all of it is gone', () => left().length === 0);
    expect(badges(address)).not.toContain('wake');
  });

  it('ends when its session is killed', async () => {
    const { address, env, end } = await started();
    const waiter = wait(env);
    await connected(address);
    end();
    expect(await waiter.ended).toEqual({ code: 0, out: '', err: '' });
    expect(left()).toEqual([]);
  });

  it('ends when the shell that would carry its status is killed', async () => {
    const { address, env } = await started();
    const waiter = wait(env);
    await connected(address);
    process.kill(waiter.child.pid!, 'SIGKILL');
    await until('all of it is gone', () => left().length === 0);
    expect(badges(address)).not.toContain('wake');
  });

  it('ends when its session is killed while no daemon is there', async () => {
    const { address, env, end } = await started();
    const waiter = wait(env);
    await connected(address);
    world.json(['daemon', 'stop']);
    end();
    expect((await waiter.ended).code).toBe(0);
    expect(left()).toEqual([]);
  });
});

describe('a waiter goes home', () => {
  it('when waking is switched off', async () => {
    const { address, env } = await started();
    const waiter = wait(env);
    await connected(address);
    world.json(['config', 'set', 'claude.push', 'off']);
    expect(await waiter.ended).toEqual({ code: 0, out: '', err: '' });
    expect(await wait(env).ended).toEqual({ code: 0, out: '', err: '' });
    expect(send(address, 'nobody hears').seen).toBe('idle: at the next prompt');
    world.json(['config', 'set', 'claude.push', 'wake']);
  });

  it('when AgentBus is taken out', async () => {
    const { address, env } = await started();
    const waiter = wait(env);
    await connected(address);
    const launcher = join(world.bus, 'bin', 'agentbus-wait');
    renameSync(launcher, `${launcher}.away`);
    expect(await waiter.ended).toEqual({ code: 0, out: '', err: '' });
    renameSync(`${launcher}.away`, launcher);
  });
});

describe('nobody waits', () => {
  const good = { CLAUDE_CODE_SESSION_ATTENDED: '1', CLAUDE_CODE_ENTRYPOINT: 'cli', CLAUDE_PID: String(process.pid) };
  it.each<[string, Record<string, string | undefined>]>([
    ['without a person', { CLAUDE_CODE_SESSION_ATTENDED: '0' }],
    ['in a version that does not say', { CLAUDE_CODE_SESSION_ATTENDED: undefined }],
    ['in another program', { CLAUDE_CODE_ENTRYPOINT: 'sdk-cli' }],
    ['without a pid', { CLAUDE_PID: undefined }],
    ['with a pid that is none', { CLAUDE_PID: '1; id' }],
    ['for a process that is gone', { CLAUDE_PID: '999999999' }],
  ])('%s', async (_what, changes) => {
    const env = Object.fromEntries(Object.entries({ ...good, ...changes }).filter((entry): entry is [string, string] => !!entry[1]));
    expect(await wait(env).ended).toEqual({ code: 0, out: '', err: '' });
  });

  it.each([
    ['broken', '#!/bin/sh\nif ('],
    ['of no interpreter', '#!/nowhere/sh\n'],
    ['one that ends with 2', '#!/bin/sh\nexit 2\n'],
    ['gone', null],
  ])('when the launcher is %s', async (_what, script) => {
    const other = join(world.home, 'agentbus-wait');
    if (script !== null) writeFileSync(other, script, { mode: 0o755 });
    const kept = command;
    command = waitCommand(script === null ? '/nowhere/agentbus-wait' : other, 'claude');
    const ran = await wait(good).ended;
    command = kept;
    expect(ran).toEqual({ code: 0, out: '', err: '' });
  });
});
