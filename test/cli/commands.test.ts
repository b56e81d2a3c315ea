import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installed, type Installed } from '../support/installed.ts';
import { contextOf, fakeClaude } from '../support/sessions.ts';

const BIN = new URL('../../bin/agentbus.mjs', import.meta.url).pathname;
let world: Installed;
let address: string;
beforeAll(async () => {
  world = installed();
  address = /agent:\/\/\S+[a-z0-9]/.exec(contextOf((await fakeClaude(world).start()).out))![0];
});
afterAll(() => world.close());

describe('wrong use', () => {
  const cases: [words: string[], code: string, exit: number][] = [
    [['nonsense'], 'AB-1001', 2],
    [['send', 'claude', 'x', '--colour'], 'AB-1001', 2],
    [['send', 'claude'], 'AB-1001', 2],
    [['send', 'claude', ''], 'AB-1001', 2],
    [['send', 'claude', 'the words', '-5 degrees'], 'AB-1001', 2],
    [['send', 'claude', '- one\n- two'], 'AB-1001', 2],
    [['send', 'claude', 'x', '-7'], 'AB-1001', 2],
    [['send', 'claude', 'x', '--to', 'codex'], 'AB-1001', 2],
    [['task', 'send', 'claude', 'x', '--attach'], 'AB-1001', 2],
    [['drain', 'claude'], 'AB-1001', 2],
    [['task', 'progress', 'msg_01J9ZK6Q8R2M3N4P5Q6R7S8T9V', 'see the log', '--attach', 'log.txt'], 'AB-1001', 2],
    [['task', 'finish', 'msg_01J9ZK6Q8R2M3N4P5Q6R7S8T9V', 'no', '--outcome=failed', '--attach', 'log.txt'], 'AB-1001', 2],
    [['task', 'progress', 'msg_01J9ZK6Q8R2M3N4P5Q6R7S8T9V', '--question'], 'AB-1001', 2],
    [['task', 'show', 'msg_01J9ZK6Q8R2M3N4P5Q6R7S8T9V', 'again'], 'AB-1001', 2],
    [['trace', 'msg_01J9ZK6Q8R2M3N4P5Q6R7S8T9V', 'msg_01J9ZK6Q8R2M3N4P5Q6R7S8T9W'], 'AB-1001', 2],
    [['send', 'claude', 'x', '--priority', 'now'], 'AB-1001', 2],
    [['send', 'claude', 'x', '--expires', 'soon'], 'AB-1001', 2],
    [['send', 'claude', 'x', '--expires', '31d'], 'AB-7001', 2],
    [['send', 'claude', '--data', '{"a":1,"a":2}'], 'AB-7001', 2],
    [['send', 'Claude!', 'x'], 'AB-7002', 2],
    [['send', 'nobody', 'x'], 'AB-5001', 3],
    [['send', 'agent://local/else/where', 'x'], 'AB-5001', 3],
    [['reply', 'msg_01J9ZK6Q8R2M3N4P5Q6R7S8T9V', 'x'], 'AB-5003', 3],
    [['trace', 'msg_01J9ZK6Q8R2M3N4P5Q6R7S8T9V'], 'AB-5003', 3],
    [['trace'], 'AB-1001', 2],
    [['records', '--limit', 'many'], 'AB-1001', 2],
    [['daemon', 'dance'], 'AB-1001', 2],
    [['install', '--harness', 'emacs'], 'AB-2004', 2],
  ];
  for (const [words, code, exit] of cases) {
    it(`agentbus ${words.join(' ')}: ${code} in one line with a hint, exit ${exit}`, () => {
      const ran = world.agentbus(words);
      expect(ran.code).toBe(exit);
      expect(ran.out).toBe('');
      expect(ran.err).toMatch(new RegExp(`^agentbus: ${code} [^\\n]+\\n  [^\\n]+\\n$`));
      const asJson = world.agentbus([...words, '--json']);
      expect(JSON.parse(asJson.out)).toMatchObject({ error: { code } });
    });
  }

  it('a home that is not absolute is not passed over for another one', () => {
    expect(world.agentbus(['agents'], { AGENTBUS_HOME: 'bus' })).toMatchObject({ code: 2, err: expect.stringContaining('AB-1001') });
  });

  it('leaves nothing behind: no message of a refused send is queued', () => {
    expect(world.json<{ outbox: number; unread: number }>(['daemon', 'status'])).toMatchObject({ outbox: 0, unread: 0 });
  });
});

describe('sending', () => {
  it('says when it will be seen, by priority and state', async () => {
    const session = fakeClaude(world);
    const to = /agent:\/\/\S+[a-z0-9]/.exec(contextOf((await session.start()).out))![0];
    const seen = (...more: string[]): string => world.json<{ seen: string }>(['send', to, 'x', ...more]).seen;
    expect(seen()).toBe('idle: at the next prompt');
    await session.prompt('work');
    expect(seen()).toBe('busy, normal: at the next prompt');
    expect(seen('--priority', 'high')).toBe('busy, high: at the next tool call, or when the turn ends');
    await world.hook('claude', 'SessionEnd', session.payload('SessionEnd', { reason: 'other' }));
    expect(seen()).toMatch(/^offline: queued, \d+ unread, last seen just now$/);
  });

  it('happens once though the answer to it got lost', async () => {
    const me = world.json<{ address: string }>(['whoami']).address;
    const question = world.json<{ id: string }>(['send', me, 'question']).id;
    // A home whose socket leads to the daemon.
    const bus = join(world.home, 'bus');
    mkdirSync(join(bus, 'run'), { recursive: true });
    copyFileSync(join(world.bus, 'run', 'token'), join(bus, 'run', 'token'));
    let lost = 0;
    const server = createServer((client) => {
      const daemon = connect(join(world.bus, 'run', 'control.sock'));
      client.pipe(daemon);
      client.on('error', () => daemon.destroy());
      // Each command's first call is carried out, and its answer is not.
      daemon.on('data', (chunk) => (lost++ % 3 === 0 ? client.destroy() : client.write(chunk)));
      daemon.on('end', () => client.end());
    });
    await new Promise<void>((resolve) => server.listen(join(bus, 'run', 'control.sock'), resolve));
    try {
      for (const words of [
        ['send', me, 'sent once'],
        ['reply', question, 'answered once'],
      ]) {
        lost = 0;
        const child = spawn(process.execPath, [BIN, ...words], { env: { ...world.env, AGENTBUS_HOME: bus }, stdio: 'ignore' });
        expect(await new Promise((resolve) => child.on('close', resolve))).toBe(0);
      }
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
    const printed = world.agentbus(['inbox']).out;
    expect(printed.split('"sent once"')).toHaveLength(2);
    expect(printed.split('"answered once"')).toHaveLength(2);
  });

  it('takes text from words, standard input or JSON, word for word', () => {
    const text = 'a  "quoted" $HOME `x` \\ ünïcode';
    const fromStdin = spawnSync(process.execPath, [BIN, 'send', 'people/root', '--stdin', '--json'], {
      env: world.env,
      input: `${text}\nsecond line\n`,
      encoding: 'utf8',
    });
    expect(fromStdin.status).toBe(0);
    world.json(['send', 'people/root', '--data', '{"n":1.5,"list":[null,true]}']);
    world.json(['send', 'people/root', '--', '--looks', 'like', 'options']);
    const { out } = world.agentbus(['inbox']);
    expect(out).toContain(JSON.stringify(`${text}\nsecond line`));
    expect(out).toContain('{"n":1.5,"list":[null,true]}');
    expect(out).toContain('"--looks like options"');
    expect(world.agentbus(['inbox']).out).toContain('nothing unread');
  });

  it('shows who is there, with badges, and what the sessions did, without their words', async () => {
    const session = fakeClaude(world);
    await session.start();
    await session.prompt('a very private prompt');
    await world.hook(
      'claude',
      'PostToolUse',
      session.payload('PostToolUse', {
        tool_name: 'Bash',
        tool_input: { command: 'git push --token=abc' },
        tool_response: { stdout: 'private' },
      }),
    );
    expect(world.agentbus(['agents']).out).toMatch(/agent:\/\/local\/shop\/claude\S* +Claude Code +busy +prompt mid-turn stop/);
    const { out } = world.agentbus(['records']);
    expect(out).toContain('program=git subcommand=push');
    expect(out).not.toContain('private');
    expect(out).not.toContain('abc');
    expect(world.json<{ address: string }>(['whoami'], session.env).address).toMatch(/shop\/claude/);
    expect(world.json<{ address: string }>(['whoami']).address).toMatch(/people\//);
    expect(address).toMatch(/shop\/claude/);
  });
});

describe('help', () => {
  it('exists for every command, on stdout, with exit 0', () => {
    const overview = world.agentbus(['--help']);
    const commands = [...overview.out.matchAll(/^ {2}([a-z]+) +/gm)].map((match) => match[1]!);
    expect(commands.length).toBeGreaterThan(20);
    for (const command of commands) {
      const ran = command === 'hook' ? { code: 0, out: 'USAGE' } : world.agentbus([command, '--help']);
      expect(ran).toMatchObject({ code: 0, out: expect.stringContaining('USAGE') as string });
    }
  });
});

describe('the demo', () => {
  it('runs, shows what each model would see, and proves that both messages were seen', () => {
    const demo = world.json<{ trace: { state: string; steps: { state: string }[] }; reply: { state: string } }>(['demo']);
    expect(demo.trace.state).toBe('replied');
    expect(demo.trace.steps.map((step) => step.state)).toContain('presented');
    expect(demo.reply.state).toBe('presented');
  });
});
