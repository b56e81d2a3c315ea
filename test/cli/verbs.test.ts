import { spawn } from 'node:child_process';
import { readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installed, until, type Installed } from '../support/installed.ts';
import { contextOf, fakeClaude, type FakeClaude } from '../support/sessions.ts';

const BIN = new URL('../../bin/agentbus.mjs', import.meta.url).pathname;
let world: Installed;
beforeAll(() => {
  world = installed();
});
afterAll(() => world.close());

async function started(env: Record<string, string> = {}): Promise<{ session: FakeClaude; address: string }> {
  const session = fakeClaude(world, env);
  const line = contextOf((await session.start()).out);
  return { session, address: /agent:\/\/\S+[a-z0-9]/.exec(line)![0] };
}
const send = (to: string, text: string, ...more: string[]): string => world.json<{ id: string }>(['send', ...more, to, text]).id;
const stateOf = (id: string): string => world.json<{ state: string }>(['trace', id]).state;

describe('what is waiting', () => {
  it('is counted by pending, printed and marked by drain, and not shown again by a hook', async () => {
    const { session, address } = await started();
    const id = send(address, 'drain me', '--priority', 'high');
    expect(world.json(['pending'], session.env)).toMatchObject({ unread: 1, high: 1 });
    expect(stateOf(id)).toBe('delivered');
    expect(world.agentbus(['drain'], session.env).out).toContain(`<agentbus-message id="${id}"`);
    expect(stateOf(id)).toBe('read');
    expect(world.agentbus(['drain'], session.env).out).toBe('');
    expect((await session.prompt('next')).out).toBe('');
  });

  it('ends a wait, which marks nothing; a wait in vain ends with status 4', async () => {
    const { session, address } = await started();
    const waiting = spawn(process.execPath, [BIN, 'wait', '--timeout', '20s', '--json'], {
      env: { ...world.env, ...session.env },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let out = '';
    waiting.stdout.on('data', (chunk: Buffer) => (out += chunk.toString('utf8')));
    const ended = new Promise<number | null>((resolve) => waiting.on('exit', resolve));
    const id = send(address, 'wake up');
    expect(await ended).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ address, unread: 1 });
    expect(stateOf(id)).toBe('delivered');
    const { session: other } = await started();
    const vain = world.agentbus(['wait', '--timeout', '1s'], other.env);
    expect(vain.code).toBe(4);
    expect(vain.err).toContain('AB-1004');
  });

  it('expires when its time is over, and its sender learns of it', async () => {
    const { session, address } = await started();
    const id = send(address, 'only now', '--expires', '2s');
    await until('it has expired', () => stateOf(id) === 'expired');
    expect((await session.prompt('too late')).out).toBe('');
  });

  it('is printed whole, however large, and holds up nothing behind it', async () => {
    const { session, address } = await started();
    const me = world.json<{ address: string }>(['whoami']).address;
    const big = 'é"'.repeat(15_000);
    const whole = (text: string): string => [...text.matchAll(/not instructions\):\n([^\n]*)/g)].map(([, part]) => part).join('');
    for (const [to, words, as] of [
      [address, ['drain'], session.env],
      [me, ['inbox'], {}],
      [me, ['drain'], {}],
    ] as const) {
      const ids = [send(to, big), send(to, 'behind it')];
      const { text, read } = world.json<{ text?: string; read?: { text: string } }>([...words], as);
      expect(whole(text ?? read!.text) === JSON.stringify(big)).toBe(true);
      expect(world.agentbus([...words], as).out).toContain('behind it');
      expect(ids.map(stateOf)).toEqual(['read', 'read']);
    }
  });

  it('is closed by resolve, once and for all', async () => {
    const { session, address } = await started();
    const id = send(address, 'no answer needed');
    expect(world.json(['resolve', id], session.env)).toEqual({ resolved: [id] });
    expect(world.json(['resolve', id], session.env)).toEqual({ resolved: [id] });
    expect(stateOf(id)).toBe('resolved');
    expect((await session.prompt('next')).out).toBe('');
    expect(world.agentbus(['resolve', id]).err).toContain('AB-5003');
  });
});

describe('names', () => {
  it('are taken with join, refused to a second session, and taken over when asked', async () => {
    const first = await started();
    const second = await started();
    expect(world.json(['join', '--as', 'lead'], first.session.env)).toMatchObject({ address: 'agent://local/shop/lead', standby: false });
    expect(world.json(['join', '--as', 'lead'], second.session.env)).toMatchObject({ standby: true });
    expect(world.agentbus(['send', 'people/root', 'x'], second.session.env).err).toContain('AB-4004');
    const id = send('lead', 'to whoever leads');
    expect((await second.session.prompt('mine?')).out).toBe('');
    expect(world.json(['join', '--as', 'lead', '--take-over'], second.session.env)).toMatchObject({ standby: false });
    expect(world.agentbus(['send', 'people/root', 'x'], first.session.env).err).toContain('AB-4004');
    expect((await second.session.prompt('and now?')).out).toContain(id);
    expect((await first.session.prompt('mine?')).out).toBe('');
  });

  it('can be given from outside, and never to two', async () => {
    const { session, address } = await started();
    const other = await started();
    expect(world.json(['rename', address, 'builder'])).toMatchObject({ address: 'agent://local/shop/builder', before: address });
    expect(world.agentbus(['rename', other.address, 'builder']).err).toContain('AB-4004');
    const id = send('builder', 'hello');
    expect((await session.prompt('hm')).out).toContain(id);
    expect(world.agentbus(['join', '--as', 'x']).err).toContain('AB-1002');
  });
});

describe('pausing', () => {
  it('keeps messages waiting while records go on', async () => {
    const { session, address } = await started();
    world.json(['pause', address]);
    const id = send(address, 'later', '--priority', 'urgent');
    expect((await session.prompt('one')).out).toBe('');
    expect(
      world.json<{ records: { agent: string; event: string }[] }>(['records', '--agent', address]).records.map((record) => record.event),
    ).toContain('prompt');
    world.json(['resume', address]);
    expect((await session.prompt('two')).out).toContain(id);
  });
});

it('nobody is paused who is not there', () => {
  const { address } = world.json<{ address: string }>(['whoami']);
  expect(world.agentbus(['pause', 'agent://local/no/body'])).toMatchObject({ code: 3, err: expect.stringContaining('AB-5001') });
  for (const words of [['pause'], ['pause', address]])
    expect(world.agentbus(words)).toMatchObject({ code: 2, err: expect.stringContaining('AB-7001') });
});

describe('settings', () => {
  it('are listed, read and changed without touching the rest of the file', () => {
    const file = `${world.bus}/config.toml`;
    writeFileSync(file, '# mine\n[other]\nkey = "kept" # here\n');
    expect(world.json(['config', 'get', 'claude.stop_inject'])).toEqual({ 'claude.stop_inject': true });
    world.json(['config', 'set', 'claude.stop_inject', 'false']);
    expect(readFileSync(file, 'utf8')).toBe('# mine\n[other]\nkey = "kept" # here\n\n[claude]\nstop_inject = false\n');
    world.json(['config', 'set', 'claude.stop_inject', 'true']);
    expect(readFileSync(file, 'utf8')).toContain('[claude]\nstop_inject = true\n');
    expect(world.json(['config', 'list'])).toEqual({
      'claude.stop_inject': true,
      'claude.push': 'off',
      'codex.stop_inject': true,
      'codex.push': 'off',
    });
    for (const words of [
      ['config', 'set', 'claude.colour', 'red'],
      ['config', 'set', 'claude.stop_inject', 'maybe'],
      ['config', 'set', 'claude.stop_inject', 'off'],
      ['config', 'set', 'claude.push', 'queue'],
      ['config', 'set', 'claude.push', 'true'],
      ['config', 'get', 'nothing'],
    ]) {
      expect(world.agentbus(words)).toMatchObject({ code: 2, err: expect.stringContaining('AB-1003') as string });
    }
    for (const [before, after] of [
      ['[claude] # mine\nstop_inject = true # why\n', '[claude] # mine\nstop_inject = false # why\n'],
      ['\uFEFF[claude]\r\nx = [\r\n  [1],\r\n]\r\n', '\uFEFF[claude]\r\nx = [\r\n  [1],\r\n]\r\nstop_inject = false\r\n'],
      ['claude.push = "off"\n', 'claude.push = "off"\nclaude.stop_inject = false\n'],
      ["claude = { 'stop_inject' = true }", "claude = { 'stop_inject' = false }"],
      ['[claude]\nx = """\nstop_inject = true\n"""', '[claude]\nx = """\nstop_inject = true\n"""\nstop_inject = false'],
    ] as const) {
      writeFileSync(file, before);
      world.json(['config', 'set', 'claude.stop_inject', 'false']);
      expect(readFileSync(file, 'utf8')).toBe(after);
      expect(world.json(['config', 'get', 'claude.stop_inject'])).toEqual({ 'claude.stop_inject': false });
    }
    writeFileSync(file, 'claude = 1\n');
    expect(world.agentbus(['config', 'set', 'claude.stop_inject', 'false']).err).toContain("can't be changed here");
    writeFileSync(`${world.home}/dotfile.toml`, '');
    rmSync(file);
    symlinkSync(`${world.home}/dotfile.toml`, file);
    world.json(['config', 'set', 'claude.stop_inject', 'false']);
    expect(readFileSync(`${world.home}/dotfile.toml`, 'utf8')).toBe('[claude]\nstop_inject = false\n');
    rmSync(file);
    writeFileSync(file, 'not toml [');
    expect(world.agentbus(['config', 'set', 'claude.stop_inject', 'false']).err).toContain('AB-1003');
    expect(readFileSync(file, 'utf8')).toBe('not toml [');
  });
});

describe('waking', () => {
  it('is one word of a list, and says when the entries have to change', () => {
    const file = `${world.bus}/config.toml`;
    writeFileSync(file, '');
    expect(world.agentbus(['config', 'set', 'claude.push', 'steer']).err).toContain('claude.push takes off or wake');
    expect(world.agentbus(['config', 'set', 'codex.push', 'wake']).err).toContain('codex.push takes off, queue or steer');
    expect(world.agentbus(['config', 'set', 'claude.push', 'wake']).out).toBe(
      'claude.push = wake\nIt needs other hook entries: run `agentbus install`.\n',
    );
    expect(world.agentbus(['config', 'set', 'claude.push', 'wake']).out).toBe('claude.push = wake\n');
    expect(world.agentbus(['config', 'set', 'codex.push', 'queue']).out).toBe('codex.push = queue\n');
    expect(readFileSync(file, 'utf8')).toBe('[claude]\npush = "wake"\n\n[codex]\npush = "queue"\n');
    expect(world.json(['config', 'get', 'codex.push'])).toEqual({ 'codex.push': 'queue' });
    expect(world.json(['config', 'set', 'claude.push', 'off'])).toEqual({ 'claude.push': 'off', reinstall: true });
    writeFileSync(file, '[claude]\npush = true\n[codex]\npush = "wake"\n');
    expect(world.json(['config', 'get', 'claude.push'])).toEqual({ 'claude.push': 'off' });
    expect(world.json(['config', 'get', 'codex.push'])).toEqual({ 'codex.push': 'off' });
    writeFileSync(file, '');
  });
});

describe('watching', () => {
  it('tells each step of a message as it happens', async () => {
    const watching = spawn(process.execPath, [BIN, 'watch', '--json'], { env: world.env, stdio: ['ignore', 'pipe', 'ignore'] });
    let out = '';
    watching.stdout.on('data', (chunk: Buffer) => (out += chunk.toString('utf8')));
    const id = send('people/root', 'watch me');
    await until('the step is told', () => out.split('\n').some((line) => line.includes(id) && line.includes('"delivered"')));
    watching.kill('SIGKILL');
  });
});

describe('completion', () => {
  it('is a script that its shell accepts and that completes commands', async () => {
    const { spawnSync } = await import('node:child_process');
    const script = world.agentbus(['completion', 'bash']).out;
    const ran = spawnSync('bash', ['-c', `${script}\nCOMP_WORDS=(agentbus re); COMP_CWORD=1; _agentbus; echo "\${COMPREPLY[@]}"`], {
      encoding: 'utf8',
      env: { PATH: world.env['PATH'] },
    });
    expect(ran.stdout.trim().split(' ')).toEqual(['reply', 'resolve', 'rename', 'resume', 'records']);
    for (const shell of ['zsh', 'fish']) expect(world.agentbus(['completion', shell])).toMatchObject({ code: 0, err: '' });
    expect(world.agentbus(['completion', 'csh']).code).toBe(2);
  });
});
