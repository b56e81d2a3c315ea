import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installed, until, writtenCommands, type Installed, type Ran } from '../support/installed.ts';
import { contextOf, fakeClaude } from '../support/sessions.ts';

// The installed command, run as the harness runs it: bytes in, bytes out.
let world: Installed;
beforeAll(() => {
  world = installed();
});
afterAll(() => world.close());

function expectWholeOrNothing(ran: Ran): void {
  expect(ran.code).toBe(0);
  expect(ran.err).toBe('');
  if (ran.out !== '') expect(() => JSON.parse(ran.out) as unknown).not.toThrow();
}

describe('the installed hook', () => {
  it('names a program that exists, in every written command', () => {
    for (const harness of ['claude', 'codex']) {
      for (const command of Object.values(writtenCommands(world.home, harness))) {
        const program = /'([^']*agentbus-hook)' (?:claude|codex) /.exec(command)?.[1];
        expect(existsSync(program!)).toBe(true);
      }
    }
  });

  it('says nothing when the inbox is empty, at every event', async () => {
    const session = fakeClaude(world);
    expect(contextOf((await session.start()).out)).toMatch(
      /^AgentBus connected as agent:\/\/local\/shop\/claude(-\d+)?\. 0 unread messages\./,
    );
    for (const event of ['UserPromptSubmit', 'Stop', 'SessionEnd']) {
      const ran = await world.hook('claude', event, session.payload(event, event === 'UserPromptSubmit' ? { prompt: 'hi' } : {}));
      expect(ran).toEqual({ code: 0, out: '', err: '' });
    }
  });

  it('shows a message at the next prompt, once, and proves that it was seen', async () => {
    const session = fakeClaude(world);
    const address = /agent:\/\/\S+[a-z0-9]/.exec(contextOf((await session.start()).out))![0];
    const { id } = world.json<{ id: string }>(['send', address, 'tests are red']);
    const shown = await session.prompt('go on');
    expect(contextOf(shown.out)).toContain(`<agentbus-message id="${id}"`);
    expect((await session.prompt('go on again')).out).toBe('');
    session.accept('UserPromptSubmit', 'go on', shown.out);
    await world.hook('claude', 'Stop', session.payload('Stop', { stop_hook_active: false }));
    const trace = world.json<{ state: string; steps: { state: string; detail: Record<string, unknown> }[] }>(['trace', id]);
    expect(trace.steps.map((step) => step.state)).toEqual(['accepted', 'delivered', 'offered', 'presented']);
    expect(trace.steps.at(-1)!.detail['evidence']).toMatch(/^claude transcript: answer/);
    expect((await session.prompt('third')).out).toBe('');
  });

  it('does not call a message seen whose output the harness refused, and shows it again, marked', async () => {
    const session = fakeClaude(world);
    const address = /agent:\/\/\S+[a-z0-9]/.exec(contextOf((await session.start()).out))![0];
    const { id } = world.json<{ id: string }>(['send', address, 'again please']);
    const first = await session.prompt('one');
    expect(contextOf(first.out)).toContain('redelivery="false"');
    // The harness timed the hook out after it had printed.
    session.refuse('UserPromptSubmit', 'one');
    const second = await session.prompt('two');
    expect(contextOf(second.out)).toContain(`id="${id}"`);
    expect(contextOf(second.out)).toContain('redelivery="true"');
    expect(world.json<{ steps: { state: string }[] }>(['trace', id]).steps.map((step) => step.state)).toEqual([
      'accepted',
      'delivered',
      'offered',
      'missed',
      'offered',
    ]);
  });
});

describe('bad input', () => {
  const good = {
    session_id: 's',
    transcript_path: '/nowhere/x.jsonl',
    cwd: '/',
    hook_event_name: 'UserPromptSubmit',
    prompt: 'hi',
    prompt_id: 'p',
  };
  const deep = `{"session_id":"s","hook_event_name":"UserPromptSubmit","tool_input":${'['.repeat(5000)}${']'.repeat(5000)}}`;
  const inputs: Record<string, Buffer> = {
    nothing: Buffer.alloc(0),
    garbage: Buffer.from('\u0000\u0001 not json'),
    'a BOM alone': Buffer.from([0xef, 0xbb, 0xbf]),
    'a BOM before JSON': Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(JSON.stringify(good))]),
    'UTF-16': Buffer.from(JSON.stringify(good), 'utf16le'),
    'invalid UTF-8': Buffer.concat([
      Buffer.from('{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"'),
      Buffer.from([0xff, 0xfe, 0x80]),
      Buffer.from('"}'),
    ]),
    'a lone surrogate': Buffer.from('{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"\\ud800"}'),
    truncated: Buffer.from(JSON.stringify(good).slice(0, 60)),
    'an array': Buffer.from('[1,2]'),
    'missing fields': Buffer.from('{}'),
    'wrong types': Buffer.from('{"session_id":5,"hook_event_name":["x"],"prompt":{"a":1},"cwd":null}'),
    'an unknown event': Buffer.from(JSON.stringify({ ...good, hook_event_name: 'FutureEvent' })),
    'deep nesting': Buffer.from(deep),
    'prototype keys': Buffer.from('{"__proto__":{"x":1},"constructor":{"prototype":{}},"session_id":"s","hook_event_name":"constructor"}'),
    'five megabytes': Buffer.from(JSON.stringify({ ...good, tool_response: 'x'.repeat(5 * 1024 * 1024) })),
    'over the limit': Buffer.from(JSON.stringify({ ...good, tool_response: 'x'.repeat(17 * 1024 * 1024) })),
  };
  for (const [name, bytes] of Object.entries(inputs)) {
    it(`answers ${name} with exit 0 and a whole document or nothing, by nc and by the relay`, async () => {
      expectWholeOrNothing(await world.hook('claude', 'UserPromptSubmit', bytes));
      expectWholeOrNothing(await world.hook('codex', 'UserPromptSubmit', bytes));
      expectWholeOrNothing(await world.hook('claude', 'SessionStart', bytes));
    });
  }

  it('does not wait for an input that is never closed', async () => {
    const session = fakeClaude(world);
    await session.start();
    const ran = await world.hook('claude', 'UserPromptSubmit', session.payload('UserPromptSubmit', { prompt: 'x' }), { keepOpen: true });
    expectWholeOrNothing(ran);
    expectWholeOrNothing(
      await world.hook('claude', 'SessionStart', session.payload('SessionStart', { source: 'resume' }), {
        keepOpen: true,
        env: session.env,
      }),
    );
  });

  it('takes a slow payload in pieces of three bytes, cut inside characters', async () => {
    const session = fakeClaude(world);
    const address = /agent:\/\/\S+[a-z0-9]/.exec(contextOf((await session.start()).out))![0];
    const { id } = world.json<{ id: string }>(['send', address, 'slowly']);
    const bytes = Buffer.from(JSON.stringify(session.payload('UserPromptSubmit', { prompt: 'grüße 😀' })));
    const chunks = Array.from({ length: Math.ceil(bytes.length / 3) }, (_, at) => ({
      after: 2,
      bytes: bytes.subarray(at * 3, at * 3 + 3),
    }));
    expect((await world.hook('claude', 'UserPromptSubmit', null, { chunks })).out).toContain(id);
  });

  it('leaves the daemon alive and answering', () => {
    expect(world.json<{ pid: number }>(['daemon', 'status']).pid).toBe(world.daemonPid());
  });
});

describe('the launcher', () => {
  it('works with a bare environment', async () => {
    const session = fakeClaude(world);
    const bare = { PATH: '/usr/bin:/bin', HOME: '', AGENTBUS_HOME: '' };
    const ran = await world.hook('claude', 'SessionStart', session.payload('SessionStart', { source: 'startup' }), {
      env: { ...session.env, ...bare },
    });
    expect(contextOf(ran.out)).toContain('AgentBus connected as');
  });

  it('asks nobody when a person runs it in a terminal, who will type no payload', async () => {
    await fakeClaude(world).start();
    const launcher = `${world.bus}/bin/agentbus-hook`;
    const [called, nc] = [`${world.home}/called`, `${world.home}/nc`];
    writeFileSync(nc, `#!/bin/sh\n: >'${called}'\n`, { mode: 0o755 });
    const own = launcher.replace('agentbus-hook', 'own');
    writeFileSync(own, readFileSync(launcher, 'utf8').replace(/'[^']*' -w 2 -U/, `'${nc}' -w 2 -U`), { mode: 0o755 });
    const ran = spawnSync('script', ['-qec', `${own} claude Stop`, '/dev/null'], { env: world.env, encoding: 'utf8' });
    expect(ran).toMatchObject({ status: 0, stdout: '' });
    expect(existsSync(called)).toBe(false);
    spawnSync(own, ['claude', 'Stop'], { env: world.env, input: '{}' });
    expect(existsSync(called)).toBe(true);
  });

  it('is silent when it is gone', async () => {
    const own = installed();
    try {
      rmSync(`${own.bus}/bin/agentbus-hook`);
      for (const event of ['SessionStart', 'UserPromptSubmit', 'Stop'])
        expect(await own.hook('claude', event, {})).toEqual({ code: 0, out: '', err: '' });
    } finally {
      own.close();
    }
  });

  it('restarts a killed daemon at the next prompt, with nothing lost', async () => {
    const session = fakeClaude(world);
    const address = /agent:\/\/\S+[a-z0-9]/.exec(contextOf((await session.start()).out))![0];
    const { id } = world.json<{ id: string }>(['send', address, 'survives']);
    const pid = world.daemonPid()!;
    rmSync(`${world.bus}/run/last-start`, { force: true });
    process.kill(pid, 'SIGKILL');
    await until('the daemon is dead', () => {
      try {
        process.kill(pid, 0);
        return false;
      } catch {
        return true;
      }
    });
    const ran = await session.prompt('still there?');
    expect(contextOf(ran.out)).toContain(`id="${id}"`);
    expect(world.daemonPid()).not.toBe(pid);
  });
});

describe('a payload out of all proportion', () => {
  it('leaves no more behind than any other, and costs the daemon no more', async () => {
    const session = fakeClaude(world);
    const address = /agent:\/\/\S+[a-z0-9]/.exec(contextOf((await session.start()).out))![0];
    world.json(['send', address, 'in the middle', '--priority', 'high']);
    const long = `/${'y/'.repeat(100_000)}`;
    const fields = { cwd: long, transcript_path: long, model: long, reason: long, tool_name: long, tool_use_id: long, prompt_id: long };
    const calls = Array.from({ length: 20_000 }, (_, at) => ({ tool_name: 'Bash', tool_use_id: `t${at}`, tool_input: { file_path: 'x' } }));
    for (const event of ['UserPromptSubmit', 'PostToolUse', 'PostToolBatch'])
      expectWholeOrNothing(
        await world.hook('claude', 'UserPromptSubmit', { ...session.payload(event, { prompt: long, tool_calls: calls }), ...fields }),
      );
    await world.hook('claude', 'SessionEnd', session.payload('SessionEnd'));
    const { records } = world.json<{ records: unknown[] }>(['records', '--limit', '10000', '--agent', address]);
    expect(records.length).toBeLessThan(300);
    const stored = ['agentbus.db', 'agentbus.db-wal', 'hub.db', 'hub.db-wal'].map((file) => `${world.bus}/${file}`);
    for (const file of stored.filter((path) => existsSync(path))) expect(readFileSync(file).includes('y/'.repeat(5_000))).toBe(false);
  });
});
