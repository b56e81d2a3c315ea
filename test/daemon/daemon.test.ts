import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { socketDir } from '../../src/core/paths.ts';
import { installed, until, type Installed } from '../support/installed.ts';
import { contextOf, fakeClaude } from '../support/sessions.ts';

const BIN = new URL('../../bin/agentbus.mjs', import.meta.url).pathname;
const DAEMON = new URL('../../dist/daemon.mjs', import.meta.url).pathname;

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

let world: Installed;
beforeAll(() => {
  world = installed();
});
afterAll(() => world.close());

describe('one daemon per home', () => {
  it('has one winner of ten that start at once, and the losers exit with 0', async () => {
    const own = installed();
    try {
      const codes = Array.from({ length: 10 }, () => {
        const child = spawn(process.execPath, [DAEMON], { env: own.env, stdio: 'ignore', cwd: '/' });
        return { pid: child.pid!, ended: new Promise<number | null>((resolve) => child.on('exit', resolve)) };
      });
      await until('a daemon answers', () => own.daemonPid() !== null && own.agentbus(['daemon', 'status']).out.startsWith('daemon: 0.'));
      await until('nine have left', () => codes.filter(({ pid }) => alive(pid)).length === 1);
      const winner = codes.find(({ pid }) => alive(pid))!;
      expect(winner.pid).toBe(own.daemonPid());
      for (const { pid, ended } of codes) if (pid !== winner.pid) expect(await ended).toBe(0);
    } finally {
      own.close();
    }
  });

  it('starts over stale sockets of a killed one, and serves on', async () => {
    const session = fakeClaude(world);
    await session.start();
    const pid = world.daemonPid()!;
    process.kill(pid, 'SIGKILL');
    await until('it is dead', () => !alive(pid));
    expect(existsSync(join(world.bus, 'run', 'claude.sock'))).toBe(true);
    expect(world.json<{ pid: number }>(['daemon', 'start']).pid).not.toBe(pid);
  });

  it('ends when its home is deleted', async () => {
    const own = installed();
    const { pid } = own.json<{ pid: number }>(['daemon', 'start']);
    rmSync(own.bus, { recursive: true, force: true });
    await until('it has ended', () => !alive(pid));
    own.close();
  });

  it('ends when its sockets are swept away, and the next one serves', async () => {
    const own = installed({ name: 'w'.repeat(110) });
    const { pid } = own.json<{ pid: number }>(['daemon', 'start']);
    for (const name of readdirSync(socketDir(own.bus))) rmSync(join(socketDir(own.bus), name));
    await until('it has ended', () => !alive(pid));
    expect(own.json<{ pid: number }>(['daemon', 'start']).pid).not.toBe(pid);
    own.close();
    rmSync(socketDir(own.bus), { recursive: true, force: true });
  });

  it('leaves another one alone that has taken its place', async () => {
    const own = installed();
    const { pid } = own.json<{ pid: number }>(['daemon', 'start']);
    rmSync(own.bus, { recursive: true, force: true });
    const next = own.json<{ pid: number }>(['daemon', 'start']).pid;
    await until('it has ended', () => !alive(pid));
    // Moved, it goes on over there.
    renameSync(own.bus, `${own.bus}.moved`);
    const last = own.json<{ pid: number }>(['daemon', 'start']).pid;
    process.kill(next, 'SIGTERM');
    await until('the moved one has ended', () => !alive(next));
    expect(own.json<{ pid: number }>(['daemon', 'status'])).toMatchObject({ pid: last });
    own.close();
  });

  it('keeps everything private: home 0700, sockets, token and keys 0600', () => {
    world.json(['daemon', 'start']);
    const mode = (path: string): number => statSync(join(world.bus, path)).mode & 0o777;
    expect([mode('.'), mode('run'), mode('keys')]).toEqual([0o700, 0o700, 0o700]);
    for (const file of ['run/token', 'run/control.sock', 'run/claude.sock', 'keys/device.json', 'agentbus.db', 'hub.db'])
      expect(mode(file) & 0o077).toBe(0);
  });

  it('refuses a home whose directory for sockets belongs to nobody it trusts', () => {
    const base = realpathSync(mkdtempSync(join(tmpdir(), 'ab-')));
    const home = join(base, 'x'.repeat(120));
    mkdirSync(home);
    const sockets = socketDir(home);
    mkdirSync(join(sockets, '..'), { recursive: true, mode: 0o700 });
    writeFileSync(sockets, 'planted');
    const ran = spawnSync(process.execPath, [DAEMON], { env: { HOME: base, AGENTBUS_HOME: home, PATH: '/usr/bin:/bin' }, timeout: 10_000 });
    expect(ran.status).toBe(1);
    expect(readFileSync(join(home, 'log', 'daemon.log'), 'utf8')).toMatch(/AB-3005|not a directory|EEXIST/);
    rmSync(sockets, { force: true });
    rmSync(base, { recursive: true });
  });

  it('works under a home whose sockets need a shorter place', async () => {
    const own = installed({ name: `längeres-zuhause-${'y'.repeat(110)}` });
    try {
      expect(Buffer.byteLength(socketDir(own.bus))).toBeLessThan(80);
      expect(contextOf((await fakeClaude(own).start()).out)).toContain('AgentBus connected as');
    } finally {
      own.close();
      rmSync(socketDir(own.bus), { recursive: true, force: true });
    }
  });
});

describe('a home', () => {
  it('may lie behind a link of one’s own', async () => {
    const own = installed({
      before({ bus }) {
        mkdirSync(`${bus}.real`);
        symlinkSync(`${bus}.real`, bus);
      },
    });
    try {
      expect(contextOf((await fakeClaude(own).start()).out)).toContain('AgentBus connected as');
      expect(own.agentbus(['agents']).code).toBe(0);
    } finally {
      own.close();
    }
  });

  it('is one home in every spelling, also where its sockets need a shorter place', () => {
    const own = installed({ name: 'z'.repeat(110) });
    try {
      const { pid } = own.json<{ pid: number }>(['daemon', 'start']);
      for (const spelling of [`${own.bus}/`, join(own.home, '.', '.agentbus'), `${own.home}//.agentbus`])
        expect(own.json<{ pid: number }>(['daemon', 'start'], { AGENTBUS_HOME: spelling }).pid).toBe(pid);
    } finally {
      own.close();
      rmSync(socketDir(own.bus), { recursive: true, force: true });
    }
  });

  it('whose key is gone says how to go on, and goes on so', () => {
    const own = installed();
    try {
      const me = own.json<{ address: string }>(['whoami']).address;
      own.json(['send', me, 'before']);
      own.agentbus(['daemon', 'stop']);
      rmSync(join(own.bus, 'keys', 'device.json'));
      expect(own.agentbus(['agents']).err).toMatch(
        /hub\.db is of another device key .*\n {2}put the key back; or move it and hub\.db away/,
      );
      for (const name of readdirSync(own.bus)) if (name.startsWith('hub.db')) rmSync(join(own.bus, name));
      own.json(['send', me, 'after']);
      expect(own.agentbus(['inbox']).out).toMatch(/"before"[^]*"after"/);
    } finally {
      own.close();
    }
  });

  it.each<[string, RegExp, (bus: string) => void]>([
    ['a store that is none', /agentbus\.db: file is not a database/, (bus) => writeFileSync(join(bus, 'agentbus.db'), 'x'.repeat(9_000))],
    ['a hub’s store that is none', /hub\.db: file is not a database/, (bus) => writeFileSync(join(bus, 'hub.db'), 'x'.repeat(9_000))],
    ['a store that is a directory', /cannot open \S+agentbus\.db/, (bus) => mkdirSync(join(bus, 'agentbus.db'))],
    ['a lock that is none', /daemon\.lock: file is not a database/, (bus) => writeFileSync(join(bus, 'run', 'daemon.lock'), '12345\n')],
    [
      'a key that is none',
      /device\.json holds no device key/,
      (bus) => {
        mkdirSync(join(bus, 'keys'));
        writeFileSync(join(bus, 'keys', 'device.json'), '');
      },
    ],
    [
      'a file in its place',
      /EEXIST|ENOTDIR/,
      (bus) => {
        rmSync(bus, { recursive: true });
        writeFileSync(bus, '');
      },
    ],
  ])('with %s: a command says so', (_what, reason, spoil) => {
    const base = realpathSync(mkdtempSync(join(tmpdir(), 'ab-')));
    const bus = join(base, 'bus');
    mkdirSync(join(bus, 'run'), { recursive: true });
    spoil(bus);
    const ran = spawnSync(process.execPath, [BIN, 'agents'], {
      env: { HOME: base, AGENTBUS_HOME: bus, PATH: '/usr/bin:/bin', AGENTBUS_NO_AUTO_JOIN: '1' },
      encoding: 'utf8',
    });
    rmSync(base, { recursive: true });
    expect(ran).toMatchObject({ status: 1, stdout: '' });
    expect(ran.stderr).toMatch(/^agentbus: AB-3003 the daemon did not start: [^\n]+\n {2}[^\n]+\n$/);
    expect(ran.stderr).toMatch(reason);
  });
});

// It takes two users.
it.runIf(process.getuid?.() === 0)('a place of sockets that another user made first is not talked to', async () => {
  const nobody = 65_534;
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'ab-')));
  chmodSync(base, 0o755);
  cpSync(dirname(DAEMON), join(base, 'dist'), { recursive: true });
  const home = join(base, 'v'.repeat(120));
  mkdirSync(home);
  chownSync(home, nobody, nobody);
  const sockets = socketDir(home, nobody);
  mkdirSync(sockets, { recursive: true });
  let heard = 0;
  const servers = ['control', 'relay'].map((name) => {
    const path = join(sockets, `${name}.sock`);
    return createServer((socket) => {
      heard++;
      socket.end('{"planted":true}');
    }).listen(path, () => chmodSync(path, 0o777));
  });
  const run = (...words: string[]): Promise<[number | null, string]> => {
    const child = spawn(process.execPath, words, {
      env: { HOME: home, AGENTBUS_HOME: home, PATH: '/usr/bin:/bin', AGENTBUS_NO_AUTO_JOIN: '1' },
      cwd: '/',
      uid: nobody,
      gid: nobody,
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')));
    child.stdin.end('{"session_id":"x","cwd":"/","hook_event_name":"SessionStart","source":"startup"}');
    return new Promise((resolve) => child.on('close', (code) => resolve([code, said])));
  };
  try {
    await Promise.all(servers.map((server) => new Promise((resolve) => server.once('listening', resolve))));
    expect(await run(join(base, 'dist', 'cli.mjs'), 'agents')).toEqual([1, expect.stringContaining('AB-3005')]);
    expect(await run(join(base, 'dist', 'hook.cjs'), 'claude', 'SessionStart')).toEqual([0, '']);
    expect(heard).toBe(0);
  } finally {
    for (const server of servers) server.close();
    rmSync(dirname(sockets), { recursive: true });
    rmSync(base, { recursive: true });
  }
});

describe('the local surface', () => {
  it('wants the token', () => {
    world.json(['daemon', 'start']);
    const ran = world.agentbus(['agents'], { AGENTBUS_LOCAL_TOKEN: 'wrong' });
    expect(ran.code).toBe(5);
    expect(ran.err).toContain('AB-4003');
  });
});

describe('a stopped daemon (SIGSTOP)', () => {
  it('leaves every hook silent and every exit status 0', async () => {
    const session = fakeClaude(world);
    await session.start();
    const pid = world.daemonPid()!;
    process.kill(pid, 'SIGSTOP');
    try {
      for (const event of ['UserPromptSubmit', 'Stop', 'SessionStart']) {
        expect(await world.hook('claude', event, session.payload(event, { prompt: 'x', source: 'resume' }), { env: session.env })).toEqual({
          code: 0,
          out: '',
          err: '',
        });
      }
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await until('it serves again', () => world.agentbus(['daemon', 'status']).out.startsWith('daemon: 0.'));
  });
});

describe('a locked store', () => {
  it('of the hub makes a message wait, which goes out by itself once it is free', async () => {
    const me = world.json<{ address: string }>(['whoami']).address;
    const { createRequire } = await import('node:module');
    const Database = createRequire(import.meta.url)('better-sqlite3') as new (file: string) => { exec(sql: string): void; close(): void };
    const holder = new Database(join(world.bus, 'hub.db'));
    holder.exec('BEGIN EXCLUSIVE');
    const { id, state } = world.json<{ id: string; state: string }>(['send', me, 'once it is free']);
    expect(state).toBe('queued');
    holder.exec('ROLLBACK');
    holder.close();
    await until('it is delivered', () => world.json<{ state: string }>(['trace', id]).state === 'delivered');
  });

  it('makes hooks silent, and loses nothing', async () => {
    const session = fakeClaude(world);
    const address = /agent:\/\/\S+[a-z0-9]/.exec(contextOf((await session.start()).out))![0];
    const { id } = world.json<{ id: string }>(['send', address, 'under lock']);
    const { createRequire } = await import('node:module');
    const Database = createRequire(import.meta.url)('better-sqlite3') as new (file: string) => { exec(sql: string): void; close(): void };
    const holder = new Database(join(world.bus, 'agentbus.db'));
    holder.exec('BEGIN EXCLUSIVE');
    expect(await session.prompt('one')).toEqual({ code: 0, out: '', err: '' });
    expect(world.agentbus(['send', address, 'too'])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/AB-3002 .*locked\n.*try again/),
    });
    holder.exec('ROLLBACK');
    holder.close();
    expect((await session.prompt('two')).out).toContain(id);
  });
});
