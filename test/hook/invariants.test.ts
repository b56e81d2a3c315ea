import { spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installed, until, type Installed } from '../support/installed.ts';
import { mcpClient } from '../support/mcp-client.ts';
import { contextOf, fakeClaude, type FakeClaude } from '../support/sessions.ts';

// The seven lifecycle invariants of the project's identity model, one test each, through the installed commands.
let world: Installed;
beforeAll(() => {
  world = installed();
});
afterAll(() => world.close());

const ADDRESS = /agent:\/\/\S+[a-z0-9]/;

async function started(env: Record<string, string> = {}): Promise<{ session: FakeClaude; address: string }> {
  const session = fakeClaude(world, env);
  const line = contextOf((await session.start()).out);
  return { session, address: ADDRESS.exec(line)?.[0] ?? '' };
}
const send = (to: string, text: string, ...more: string[]): string => world.json<{ id: string }>(['send', ...more, to, text]).id;
const trace = (id: string): { state: string; steps: { state: string }[] } => world.json(['trace', id]);

/** A process that stands for a CLI and can die without a word. */
function processOfItsOwn(): { pid: string; die(): Promise<void> } {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' });
  const gone = new Promise<void>((resolve) => child.on('exit', () => resolve()));
  return {
    pid: String(child.pid),
    die: () => {
      child.kill('SIGKILL');
      return gone;
    },
  };
}

describe('lifecycle invariants', () => {
  it('1: an address has one owner', async () => {
    const sessions = await Promise.all(Array.from({ length: 5 }, () => started({ CLAUDE_PID: String(process.pid) })));
    expect(new Set(sessions.map(({ address }) => address)).size).toBe(5);
  });

  it('2: only the owner is shown messages and changes their state', async () => {
    const owner = await started({ AGENTBUS_AGENT: 'owner' });
    const second = await started({ AGENTBUS_AGENT: 'owner' });
    const id = send('owner', 'for the owner alone', '--priority', 'high');
    for (const event of ['UserPromptSubmit', 'PostToolUse', 'Stop']) {
      const fields = { prompt: 'x', tool_name: 'Bash', tool_input: {}, stop_hook_active: false };
      expect((await world.hook('claude', event, second.session.payload(event, fields))).out).toBe('');
    }
    expect(trace(id).steps.map((step) => step.state)).toEqual(['accepted', 'delivered']);
    expect((await owner.session.prompt('mine')).out).toContain(id);
  });

  it('3: a stand-by only reads until it takes over', async () => {
    const owner = await started({ AGENTBUS_AGENT: 'desk' });
    const standby = await started({ AGENTBUS_AGENT: 'desk' });
    const client = mcpClient(world, 'claude', standby.session.env);
    try {
      const id = send('desk', 'hello desk');
      expect((await client.tool('inbox')).text).toContain(id);
      expect((await client.tool('reply', { message_id: id, text: 'me!' })).text).toContain('AB-4004');
      expect((await client.tool('send', { to: 'people/root', text: 'x' })).text).toContain('AB-4004');
      await world.hook('claude', 'SessionEnd', owner.session.payload('SessionEnd', { reason: 'other' }));
      await standby.session.prompt('is it mine now?');
      expect((await client.tool('reply', { message_id: id, text: 'me!' })).text).toContain('Sent');
    } finally {
      client.child.kill('SIGKILL');
    }
  });

  it('4: presence is a hint: a session that died without a word leaves its slot to the next, its mail included', async () => {
    const cli = processOfItsOwn();
    const { address } = await started({ CLAUDE_PID: cli.pid });
    const presence = (): string =>
      world.json<{ agents: { address: string; presence: string }[] }>(['agents']).agents.find((agent) => agent.address === address)!
        .presence;
    expect(presence()).toBe('idle');
    await cli.die();
    await until('it is seen as gone', () => presence() === 'offline');
    const id = send(address, 'to whoever comes');
    const next = await started();
    expect(next.address).toBe(address);
    expect((await next.session.prompt('hi')).out).toContain(id);
  });

  it('5: a session that is resumed is a new instance with the same address, and nothing waiting is lost', async () => {
    const { session, address } = await started();
    const before = world.json<{ instance: string }>(['whoami'], session.env).instance;
    const id = send(address, 'across the restart');
    await world.hook('claude', 'SessionEnd', session.payload('SessionEnd', { reason: 'other' }));
    expect(contextOf((await session.start('resume')).out)).toContain(`${address}. 1 unread`);
    const after = world.json<{ instance: string; address: string }>(['whoami'], session.env);
    expect(after.address).toBe(address);
    expect(after.instance).not.toBe(before);
    expect((await session.prompt('on we go')).out).toContain(id);
  });

  it('6: what was read but not answered survives a reload and a handover until it is closed', async () => {
    const { session, address } = await started();
    const id = send(address, 'a piece of work');
    world.agentbus(['drain'], session.env);
    expect(trace(id).state).toBe('read');
    await world.hook('claude', 'SessionEnd', session.payload('SessionEnd', { reason: 'other' }));
    const heir = await started();
    expect(heir.address).toBe(address);
    const listed = world.json<{ entries: { id: string; state: string }[] }>(['inbox', '--all'], heir.session.env).entries;
    expect(listed).toContainEqual(expect.objectContaining({ id, state: 'read' }));
    world.json(['reply', id, 'done by the heir'], heir.session.env);
    expect(trace(id).state).toBe('replied');
  });

  it('7: reply and resolve name a message and do the same thing once', async () => {
    const { session, address } = await started();
    const id = send(address, 'answer me');
    const [first, second] = [1, 2].map(() => world.json<{ id: string }>(['reply', id, 'the answer'], session.env).id);
    expect(second).toBe(first);
    expect(world.json(['resolve', id], session.env)).toEqual(world.json(['resolve', id], session.env));
    expect(trace(id).steps.filter((step) => step.state === 'resolved')).toHaveLength(1);
  });
});

describe('a session’s turns', () => {
  it('are over with its end: a hook that comes late shows nothing and does not bring it back', async () => {
    const { session, address } = await started({ CLAUDE_PID: '' });
    await session.prompt('work');
    await world.hook('claude', 'SessionEnd', session.payload('SessionEnd', { reason: 'other' }));
    const id = send(address, 'for whoever comes next', '--priority', 'high');
    for (const event of ['PostToolUse', 'Stop']) {
      const fields = { tool_name: 'Bash', tool_input: {}, stop_hook_active: false };
      expect((await world.hook('claude', event, session.payload(event, fields))).out).toBe('');
    }
    const heir = await started();
    expect(heir.address).toBe(address);
    expect((await heir.session.prompt('hello')).out).toContain(id);
  });

  it('keep the address over /clear, with the same process', async () => {
    const { session, address } = await started({ CLAUDE_PID: String(process.ppid) });
    await world.hook('claude', 'SessionEnd', session.payload('SessionEnd', { reason: 'clear' }));
    const cleared = await started({ CLAUDE_PID: String(process.ppid) });
    expect(cleared.address).toBe(address);
  });

  it('do not repeat to a resumed session what it still has in its context, but do to another one', async () => {
    const { session, address } = await started({ CLAUDE_PID: '' });
    const id = send(address, 'accepted, never answered');
    const shown = await session.prompt('and then the API failed');
    session.accept('UserPromptSubmit', 'and then the API failed', shown.out, false);
    await world.hook('claude', 'SessionEnd', session.payload('SessionEnd', { reason: 'other' }));
    await session.start('resume');
    expect((await session.prompt('go on')).out).toBe('');
    await world.hook('claude', 'SessionEnd', session.payload('SessionEnd', { reason: 'other' }));
    const heir = await started();
    expect(heir.address).toBe(address);
    expect(contextOf((await heir.session.prompt('anything?')).out)).toContain(id);
    expect(trace(id).steps.map((step) => step.state)).toEqual(['accepted', 'delivered', 'offered', 'in-context', 'unproven', 'offered']);
  });

  it('repeat after a compaction what the turn was shown and has not read, marked as such', async () => {
    const { session, address } = await started();
    const id = send(address, 'remember this');
    const shown = await session.prompt('long work');
    session.accept('UserPromptSubmit', 'long work', shown.out);
    await world.hook('claude', 'PostToolUse', session.payload('PostToolUse', { tool_name: 'Bash', tool_input: {}, tool_use_id: 't1' }));
    expect(trace(id).state).toBe('presented');
    const again = await world.hook('claude', 'SessionStart', session.payload('SessionStart', { source: 'compact' }), { env: session.env });
    expect(contextOf(again.out)).toContain(`id="${id}"`);
    expect(contextOf(again.out)).toContain('redelivery="true"');
    await world.hook('claude', 'Stop', session.payload('Stop', { stop_hook_active: false }));
    expect(
      (await world.hook('claude', 'SessionStart', session.payload('SessionStart', { source: 'compact' }), { env: session.env })).out,
    ).toBe('');
  });
});

describe('loops', () => {
  it('end: a message that has travelled 25 hops waits for a person’s prompt', async () => {
    const pair = [await started(), await started()] as const;
    let id = send(pair[0].address, 'ping');
    let hops = 0;
    for (; hops < 60; hops++) {
      const [to, other] = hops % 2 === 0 ? pair : [pair[1], pair[0]];
      // A turn that a program began: nobody is watching.
      const prompt = `<task-notification>${hops}`;
      const ran = await to.session.prompt(prompt);
      if (!ran.out.includes(id)) break;
      to.session.accept('UserPromptSubmit', prompt, ran.out);
      id = world.json<{ id: string }>(['send', other.address, `hop ${hops}`], to.session.env).id;
    }
    expect(hops).toBe(25);
    expect(trace(id).steps.map((step) => step.state)).toEqual(['accepted', 'delivered', 'held']);
    const last = hops % 2 === 0 ? pair[0] : pair[1];
    expect((await last.session.prompt('a person asks')).out).toContain(id);
  });
});
