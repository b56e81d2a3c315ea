import { spawn } from 'node:child_process';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { wellFormed } from '../../src/core/unicode.ts';
import { installed, until, type Installed } from '../support/installed.ts';
import { mcpClient, type McpClient } from '../support/mcp-client.ts';
import { contextOf, fakeClaude, type FakeClaude } from '../support/sessions.ts';

let world: Installed;
let session: FakeClaude;
let address: string;
const clients: McpClient[] = [];

beforeAll(async () => {
  world = installed();
  session = fakeClaude(world);
  address = /agent:\/\/\S+[a-z0-9]/.exec(contextOf((await session.start()).out))![0];
});
afterAll(() => world.close());
afterEach(() => {
  for (const client of clients.splice(0)) client.child.kill('SIGKILL');
});

function connect(harness = 'claude', env: Record<string, string> = session.env): McpClient {
  const client = mcpClient(world, harness, env);
  clients.push(client);
  return client;
}

const send = (text: string): string => world.json<{ id: string }>(['send', address, text]).id;

describe('the tools', () => {
  it('are listed without a daemon', async () => {
    const own = installed();
    try {
      const client = mcpClient(own, 'codex');
      clients.push(client);
      await client.call('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } });
      const { tools } = (await client.call('tools/list'))['result'] as { tools: { name: string }[] };
      expect(tools.map((tool) => tool.name)).toEqual(['send', 'inbox', 'reply', 'find_agent', 'diagnose', 'task_progress', 'task_result']);
      expect(own.daemonPid()).toBeNull();
    } finally {
      own.close();
    }
  });

  it('find an agent, send to it, and say when it will be seen', async () => {
    const client = connect();
    expect((await client.tool('find_agent', { query: 'shop/claude' })).text).toContain(address);
    expect((await client.tool('send', { to: 'people/root', text: 'hello person' })).text).toMatch(
      /^Sent msg_\w+ to agent:\/\/local\/people\/root \(delivered\)\. It will be seen: person/,
    );
    expect((await client.tool('send', { to: 'nobody-here', text: 'x' })).text).toContain('AB-5001');
  });

  it('list without marking, read whole frames, and count as read once the session goes on', async () => {
    const client = connect();
    const id = send('read me');
    expect((await client.tool('inbox')).text).toContain(id);
    expect((await client.tool('inbox', { action: 'list', limit: '1000000000' })).text).toContain(id);
    const read = await client.tool('inbox', { action: 'read', ids: [id] });
    expect(read.text).toContain(`<agentbus-message id="${id}"`);
    const states = (): string[] => world.json<{ steps: { state: string }[] }>(['trace', id]).steps.map((step) => step.state);
    expect(states()).not.toContain('read');
    await client.tool('inbox');
    expect(states()).toContain('read');
    expect((await session.prompt('next')).out).toBe('');
  });

  it('answer in the message’s conversation, and the same answer twice is one answer', async () => {
    const client = connect();
    const id = send('question?');
    const first = await client.tool('reply', { message_id: id, text: 'answer.' });
    const second = await client.tool('reply', { message_id: id, text: 'answer.' });
    expect(/msg_\w+/.exec(second.text)![0]).toBe(/msg_\w+/.exec(first.text)![0]);
    const inbox = world.agentbus(['inbox']);
    expect(inbox.out.split('"answer."')).toHaveLength(2);
    expect((await client.tool('reply', { message_id: 'msg_nonsense', text: 'x' })).text).toContain('AB-5003');
  });

  it('refuse what they can’t take as it was meant, and touch nothing', async () => {
    const { id } = world.json<{ id: string }>(['send', address, 'not to be read by accident']);
    const client = connect();
    for (const [args, why] of [
      [{ action: 'read', ids: ['msg_nonsense'] }, 'AB-5003'],
      [{ action: 'read', ids: [id, 7] }, 'AB-5003'],
      [{ action: 'reed', ids: [id] }, 'AB-7001 action'],
      [{ action: 'list', cursor: id }, 'AB-7001 cursor'],
    ] as const) {
      const { text, isError } = await client.tool('inbox', args);
      expect(text).toContain(why);
      expect(isError).toBe(true);
    }
    await client.tool('inbox');
    expect(world.json(['pending'], session.env)).toMatchObject({ unread: 1 });
    expect((await client.tool('inbox', { action: 'READ', ids: id })).text).toContain('by accident');
    await client.tool('inbox');
  });

  it('say what to do next by tools, not by commands, and in whole characters', async () => {
    const client = connect();
    const emoji = `${'a'.repeat(39)}😀`;
    for (const [name, args, next] of [
      ['reply', { message_id: emoji, text: 'x' }, 'the inbox tool'],
      ['send', { to: 'nobody', text: 'x' }, 'the find_agent tool'],
      ['task_result', { task_id: emoji, result: 'x' }, 'the inbox tool'],
      ['diagnose', { id: emoji }, 'the send tool'],
    ] as const) {
      const { text, isError } = await client.tool(name, args);
      expect(isError).toBe(true);
      expect(text).toContain(next);
      expect(text).not.toContain('`agentbus');
      expect(wellFormed(text)).toBe(text);
    }
  });

  it('give one message that is too large in parts, and never more than a result may hold', async () => {
    const client = connect();
    const big = 'ü'.repeat(30_000);
    const id = world.json<{ id: string }>(['send', address, big]).id;
    let text = '';
    for (let offset = 0, rounds = 0; rounds < 10; rounds++) {
      const part = await client.tool('inbox', { action: 'read', ids: [id], offset: String(offset) });
      expect(Buffer.byteLength(part.text)).toBeLessThanOrEqual(20_000);
      text += /instructions\):\n([^\n]*)/.exec(part.text)![1];
      const next = /offset (\d+)/.exec(part.text);
      if (!next) break;
      offset = Number(next[1]);
    }
    expect(text === JSON.stringify(big)).toBe(true);
    // Offsets that nobody was given: inside a character, and behind the end.
    const odd = await client.tool('inbox', { action: 'read', ids: [id], offset: 2 });
    expect(odd.text).toContain('bytes 1 to');
    expect(odd.text).not.toContain('\uFFFD');
    expect(await client.tool('inbox', { action: 'read', ids: [id], offset: 1e6 })).toMatchObject({
      isError: true,
      text: expect.stringContaining('AB-7001 offset'),
    });
    await session.prompt('clear');
  });
});

describe('identity', () => {
  it('is Codex’s thread of each call, never the environment', async () => {
    const rollout = `${world.home}/.codex/sessions/rollout-x.jsonl`;
    const { mkdirSync, writeFileSync } = await import('node:fs');
    mkdirSync(`${world.home}/.codex/sessions`, { recursive: true });
    writeFileSync(
      rollout,
      `${JSON.stringify({ type: 'event_msg', payload: { type: 'task_started', turn_attribution: { turn_trigger: 'user' } } })}\n`,
    );
    await world.hook('codex', 'SessionStart', {
      session_id: 'thread-1',
      transcript_path: rollout,
      cwd: world.project,
      hook_event_name: 'SessionStart',
      source: 'startup',
      permission_mode: 'default',
    });
    const client = connect('codex', { CODEX_THREAD_ID: 'another' });
    expect((await client.tool('send', { to: address, text: 'from codex' }, { threadId: 'thread-1' })).text).toContain('Sent msg_');
    expect((await session.prompt('who?')).out).toContain('agent://local/shop/codex');
    for (const meta of [undefined, { threadId: 'unknown-thread' }]) {
      const refused = await client.tool('send', { to: address, text: 'x' }, meta);
      expect(refused).toMatchObject({ isError: true });
      expect(refused.text).toContain('AB-1002');
    }
  });
});

describe('the process', () => {
  it('writes nothing but JSON-RPC on stdout, whatever else it has to say', async () => {
    const client = connect('claude', { ...session.env, DEBUG: '*', NODE_DEBUG: 'net,http' });
    for (let n = 0; n < 20; n++) await client.tool(n % 2 === 0 ? 'find_agent' : 'no_such_tool', { query: `${n}` });
    expect(client.lines.length).toBeGreaterThanOrEqual(21);
    for (const line of client.lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' });
  });

  it('ends with its client: at the end of stdin, and when the client is killed behind a wrapper', async () => {
    const client = connect();
    await client.tool('find_agent');
    // What was asked before is answered still.
    const last = client.call('tools/call', { name: 'find_agent', arguments: {} });
    client.child.stdin!.end();
    expect(await client.exited).toBe(0);
    expect(JSON.stringify(await last)).toContain(address);

    const wrapper = spawn('/bin/sh', ['-c', `'${world.bus}/bin/agentbus-mcp' claude & echo $!; sleep 60 <&0 & wait`], {
      env: world.env,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    let out = '';
    wrapper.stdout.on('data', (chunk: Buffer) => (out += chunk.toString('utf8')));
    const pid = Number(await until('the pid', () => /\d+/.exec(out)?.[0]));
    wrapper.kill('SIGKILL');
    await until('the server has ended', () => {
      try {
        process.kill(pid, 0);
        return false;
      } catch {
        return true;
      }
    });
  });

  it('goes on through a restart of the daemon', async () => {
    const client = connect();
    await client.tool('find_agent');
    const pid = world.daemonPid()!;
    process.kill(pid, 'SIGKILL');
    expect((await client.tool('find_agent', { query: 'shop' })).text).toContain(address);
  });
});
