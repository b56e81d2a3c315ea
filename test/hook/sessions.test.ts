import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installed, type Installed } from '../support/installed.ts';
import { contextOf, fakeClaude, type FakeClaude } from '../support/sessions.ts';

let world: Installed;
beforeAll(() => {
  world = installed();
});
afterAll(() => world.close());

async function started(env: Record<string, string> = {}): Promise<{ session: FakeClaude; address: string }> {
  const session = fakeClaude(world, env);
  const line = contextOf((await session.start()).out);
  return { session, address: /agent:\/\/\S+[a-z0-9]/.exec(line)?.[0] ?? '' };
}

const send = (to: string, ...rest: string[]): string => world.json<{ id: string }>(['send', to, ...rest]).id;

function batch(session: FakeClaude): Record<string, unknown> {
  return session.payload('PostToolUse', { tool_name: 'Bash', tool_input: { command: 'npm test' }, tool_use_id: `toolu_${Math.random()}` });
}

describe('what reaches a session in the middle of a turn', () => {
  it('is a high message, one at a time, and never a normal one', async () => {
    const { session, address } = await started();
    await session.prompt('work');
    send(address, 'can wait');
    expect((await world.hook('claude', 'PostToolUse', batch(session))).out).toBe('');
    const high = send(address, 'now', '--priority', 'high');
    const ran = await world.hook('claude', 'PostToolUse', batch(session));
    expect(contextOf(ran.out)).toContain(high);
    expect(contextOf(ran.out)).not.toContain('can wait');
  });

  it('never goes into a subagent', async () => {
    const { session, address } = await started();
    await session.prompt('work');
    send(address, 'for the main one', '--priority', 'urgent');
    const inside = await world.hook('claude', 'PostToolUse', { ...batch(session), agent_id: 'a1', agent_type: 'x' });
    expect(inside.out).toBe('');
    expect((await world.hook('claude', 'PostToolUse', batch(session))).out).toContain('for the main one');
  });
});

describe('a stop', () => {
  it('is extended once, by one high message, and not while an extension runs', async () => {
    const { session, address } = await started();
    await session.prompt('work');
    const id = send(address, 'before you go', '--priority', 'high');
    send(address, 'me too', '--priority', 'high');
    const ran = await world.hook('claude', 'Stop', session.payload('Stop', { stop_hook_active: false }));
    expect(JSON.parse(ran.out)).toMatchObject({ hookSpecificOutput: { hookEventName: 'Stop' } });
    expect(contextOf(ran.out)).toContain(id);
    expect(contextOf(ran.out)).not.toContain('me too');
    expect((await world.hook('claude', 'Stop', session.payload('Stop', { stop_hook_active: true }))).out).toBe('');
  });

  it('is left alone when the user says so', async () => {
    const { writeFileSync } = await import('node:fs');
    const { session, address } = await started();
    await session.prompt('work');
    send(address, 'before you go', '--priority', 'high');
    writeFileSync(`${world.bus}/config.toml`, '[claude]\nstop_inject = false\n');
    try {
      expect((await world.hook('claude', 'Stop', session.payload('Stop', { stop_hook_active: false }))).out).toBe('');
    } finally {
      writeFileSync(`${world.bus}/config.toml`, '');
    }
  });
});

describe('a run without a person', () => {
  it('neither announces itself nor takes mail of the project', async () => {
    const { session: person, address } = await started();
    await world.hook('claude', 'SessionEnd', person.payload('SessionEnd', { reason: 'other' }));
    send(address, 'for the person’s session', '--priority', 'urgent');
    const headless = fakeClaude(world, { CLAUDE_CODE_SESSION_ATTENDED: '0', CLAUDE_CODE_ENTRYPOINT: 'sdk-cli' });
    expect((await headless.start()).out).toBe('');
    expect((await headless.prompt('nightly job')).out).toBe('');
    expect((await world.hook('claude', 'PostToolUse', batch(headless))).out).toBe('');
    expect((await world.hook('claude', 'Stop', headless.payload('Stop', { stop_hook_active: false }))).out).toBe('');
  });

  it('takes mail under a name of its own', async () => {
    const named = fakeClaude(world, { CLAUDE_CODE_SESSION_ATTENDED: '0', AGENTBUS_AGENT: 'nightly' });
    expect(contextOf((await named.start()).out)).toContain('agent://local/shop/nightly');
    const id = send('nightly', 'hello');
    expect((await named.prompt('job')).out).toContain(id);
  });

  it('is not taken for a person’s while nobody has said what it is', async () => {
    // Its SessionStart never reached the daemon, and there is no record yet.
    const unknown = fakeClaude(world);
    expect((await unknown.prompt('hello')).out).toBe('');
  });
});

describe('addresses', () => {
  it('are slots: the second session gets the next, and the first slot is free again after its session ended', async () => {
    const own = installed();
    try {
      const sessions = [fakeClaude(own, { CLAUDE_PID: '1' }), fakeClaude(own, { CLAUDE_PID: '1' })];
      for (const session of sessions) await session.start();
      const names = own.json<{ agents: { address: string; kind: string }[] }>(['agents']).agents.filter((agent) => agent.kind === 'slot');
      expect(names.map((agent) => agent.address)).toEqual(['agent://local/shop/claude', 'agent://local/shop/claude-2']);
      await own.hook('claude', 'SessionEnd', sessions[0]!.payload('SessionEnd', { reason: 'other' }));
      const id = own.json<{ id: string }>(['send', 'agent://local/shop/claude', 'kept in the slot']).id;
      const third = fakeClaude(own);
      expect(contextOf((await third.start()).out)).toContain('agent://local/shop/claude. 1 unread');
      expect((await third.prompt('hi')).out).toContain(id);
    } finally {
      own.close();
    }
  });

  it('keeps one owner per explicit name; the second stands by, is shown nothing and can’t send as it', async () => {
    const first = fakeClaude(world, { AGENTBUS_AGENT: 'reviewer' });
    const second = fakeClaude(world, { AGENTBUS_AGENT: 'reviewer' });
    await first.start();
    expect((await second.start()).out).toBe('');
    const id = send('reviewer', 'for the owner');
    expect((await second.prompt('anything?')).out).toBe('');
    const refused = world.agentbus(['send', 'people/root', 'x'], second.env);
    expect(refused.code).toBe(5);
    expect(refused.err).toContain('AB-4004');
    expect((await first.prompt('anything?')).out).toContain(id);
    await world.hook('claude', 'SessionEnd', first.payload('SessionEnd', { reason: 'other' }));
    const next = send('reviewer', 'for the heir');
    expect((await second.prompt('and now?')).out).toContain(next);
  });

  it('are announced once when two configurations fire the same start', async () => {
    const session = fakeClaude(world);
    const both = await Promise.all([session.start(), session.start()]);
    expect(both.filter(({ out }) => out !== '')).toHaveLength(1);
  });

  it('says the same line only once over a resume', async () => {
    const { session } = await started();
    await world.hook('claude', 'SessionEnd', session.payload('SessionEnd', { reason: 'other' }));
    expect((await session.start('resume')).out).toBe('');
  });
});
