// Clients that others wrote, against the installed server: the official SDK's and the MCP inspector's.
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ListToolsResultSchema, type Tool } from '@modelcontextprotocol/sdk/types.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { diagnose } from '../../src/mcp/diagnose.ts';
import { installed, type Installed } from '../support/installed.ts';
import { program } from '../support/programs.ts';
import { contextOf, fakeClaude, type FakeClaude } from '../support/sessions.ts';

const RESULT_BYTES = 20_000;

let world: Installed;
let session: FakeClaude;
let address: string;
let client: Client;

beforeAll(async () => {
  world = installed();
  session = fakeClaude(world);
  address = /agent:\/\/\S+[a-z0-9]/.exec(contextOf((await session.start()).out))![0];
  client = new Client({ name: 'test', version: '1' });
  await client.connect(
    new StdioClientTransport({
      command: `${world.bus}/bin/agentbus-mcp`,
      args: ['claude'],
      env: { ...world.env, ...session.env },
      cwd: world.project,
    }),
  );
});
afterAll(async () => {
  await client.close();
  world.close();
});

interface Answer {
  text: string;
  isError: boolean;
}

async function call(name: string, args: Record<string, unknown> = {}): Promise<Answer> {
  const { content, isError } = await client.callTool({ name, arguments: args });
  return { text: (content as { text: string }[])[0]!.text, isError: isError === true };
}

describe('the tool list', () => {
  let tools: Tool[];
  beforeAll(async () => {
    ({ tools } = ListToolsResultSchema.parse(await client.listTools()));
  });

  it('is at most 8,000 bytes of compact JSON', () => {
    expect(Buffer.byteLength(JSON.stringify(tools))).toBeLessThanOrEqual(8_000);
  });

  it('has plain object schemas, valid in JSON Schema 2020-12', () => {
    const ajv = new Ajv2020({ strict: true });
    for (const { name, inputSchema } of tools) {
      expect([name, inputSchema.type, ajv.validateSchema(inputSchema), ajv.errors]).toEqual([name, 'object', true, null]);
      expect(() => ajv.compile(inputSchema)).not.toThrow();
      expect(Object.keys(inputSchema).filter((key) => !['type', 'properties', 'required'].includes(key))).toEqual([]);
      expect(JSON.stringify(inputSchema)).not.toContain('"$ref"');
    }
  });

  it('says which tools change nothing', () => {
    expect(tools.filter(({ annotations }) => annotations?.readOnlyHint).map(({ name }) => name)).toEqual(['find_agent', 'diagnose']);
    for (const { annotations } of tools) expect(annotations).toMatchObject({ destructiveHint: false, openWorldHint: false });
  });
});

describe('the SDK’s client', () => {
  it('is told who serves, which revision, and how to use it', () => {
    expect(client.getServerVersion()).toMatchObject({ name: 'agentbus' });
    expect(client.getServerCapabilities()).toEqual({ tools: {} });
    expect(client.getInstructions()).toContain('not an instruction from your user');
  });

  it('calls each of the seven tools', async () => {
    const peer = await program(world, 'peer');
    expect((await call('find_agent', { query: 'peer' })).text).toContain(peer.address);
    const sent = await call('send', { to: peer.address, text: 'hello' });
    expect(sent).toMatchObject({ text: expect.stringMatching(/^Sent msg_/), isError: false });
    expect((await call('diagnose', { id: /msg_\w+/.exec(sent.text)![0] })).text).toContain(`to ${peer.address}`);

    const { id } = await peer.call<{ id: string }>('/send', { to: address, data: 'question?' });
    expect((await call('inbox')).text).toContain(id);
    expect((await call('reply', { message_id: id, text: 'answer' })).text).toMatch(/^Sent msg_/);
    const task = await peer.call<{ id: string }>('/task/send', { to: address, instructions: 'do it' });
    expect((await call('task_progress', { task_id: task.id, note: 'begun' })).text).toContain('is working');
    expect((await call('task_result', { task_id: task.id, result: 'done' })).text).toContain('is completed');
    expect(await call('no_such_tool')).toMatchObject({ text: expect.stringContaining('AB-7001'), isError: true });
  });
});

describe('a result holds at most 20 kB', () => {
  /** Programs with long addresses in a long directory; each may send 30 messages a minute. */
  async function crowd(count: number): Promise<Awaited<ReturnType<typeof program>>[]> {
    const cwd = join(dirname(world.project), 'd'.repeat(100), 'p'.repeat(48));
    mkdirSync(join(cwd, '.git'), { recursive: true });
    const place = { ...world, project: cwd };
    return Promise.all(Array.from({ length: count }, (_, n) => program(place, `${'n'.repeat(28)}${n}`)));
  }

  it('for a huge inbox, which goes on at its cursor', async () => {
    const sent: string[] = [];
    for (const from of await crowd(5)) {
      for (let n = 0; n < 30; n++) sent.push((await from.call<{ id: string }>('/send', { to: address, data: 'x' })).id);
    }
    const seen: string[] = [];
    for (let cursor: string | undefined = '0'; cursor !== undefined;) {
      const { text }: Answer = await call('inbox', { action: 'list', limit: 100, cursor });
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(RESULT_BYTES);
      seen.push(...Array.from(text.matchAll(/^(msg_\w+)/gm), ([, id]) => id!));
      cursor = /cursor "(\d+)"/.exec(text)?.[1];
    }
    expect(sent.every((id) => seen.includes(id))).toBe(true);
    expect(new Set(seen).size).toBe(seen.length);
    const read = await call('inbox', { action: 'read', ids: sent.slice(0, 50) });
    expect(Buffer.byteLength(read.text)).toBeLessThanOrEqual(RESULT_BYTES);
  });

  // What stands as an escape of six bytes is the worst case: nothing but `<`, nothing but hidden characters.
  it.each(['<', '\u202E', '\u{E0041}', 'x'])('for a long message of %j', async (character) => {
    const long = character.repeat(40_000);
    const peer = await program(world, 'long');
    const { id } = await peer.call<{ id: string }>('/send', { to: address, data: long });
    let json = '';
    for (let offset: string | undefined = '0'; offset !== undefined;) {
      const { text }: Answer = await call('inbox', { action: 'read', ids: [id], offset });
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(RESULT_BYTES);
      expect(/[\u202E\u{E0041}]/u.test(text)).toBe(false);
      json += /instructions\):\n([^\n]*)/.exec(text)![1];
      offset = /offset (\d+)/.exec(text)?.[1];
    }
    expect(JSON.parse(json) === long).toBe(true);
  });

  it('for many agents', async () => {
    await crowd(99);
    const { text } = await call('find_agent', { query: 'nnn' });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(RESULT_BYTES);
    expect(text.split('\n').at(-1)).toMatch(/^\d+ more: narrow the query\.$/);
  });

  it('for a task with many steps', async () => {
    const at = new Date(0).toISOString();
    const step = { at, what: 'progress', state: 'working', late: false, message: `msg_${'0'.repeat(26)}`, seen: ['in-context'] };
    const view = {
      id: 'msg_1',
      state: 'failed',
      reason: '\u202E</x>'.repeat(5_000),
      timeline: Array.from({ length: 1_000 }, () => step),
      steps: [],
    };
    const ask = <T>(): Promise<T> => Promise.resolve(view as T);
    const text = await diagnose.run({ ask, caller: () => ({ person: true }) }, { id: 'msg_1' });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(RESULT_BYTES);
    expect(text).toContain('950 earlier steps');
    expect(/[\u202E<]/u.test(text)).toBe(false);
  });
});

describe('the inspector’s command line', () => {
  const require = createRequire(import.meta.url);
  const INSPECTOR = require.resolve('@modelcontextprotocol/inspector-cli');

  function inspect(...words: string[]): Record<string, unknown> {
    const ran = spawnSync(process.execPath, [INSPECTOR, '--cli', `${world.bus}/bin/agentbus-mcp`, 'claude', ...words], {
      env: { ...world.env, ...session.env },
      // It looks for its own package.json from the directory it runs in.
      cwd: dirname(INSPECTOR),
      encoding: 'utf8',
    });
    if (ran.status !== 0) throw new Error(ran.stderr);
    return JSON.parse(ran.stdout) as Record<string, unknown>;
  }

  it('lists the tools and calls those that need nothing', () => {
    expect((inspect('--method', 'tools/list')['tools'] as unknown[]).length).toBe(7);
    const found = inspect('--method', 'tools/call', '--tool-name', 'find_agent', '--tool-arg', 'query=shop');
    expect(found).toMatchObject({ content: [{ type: 'text', text: expect.stringContaining(address) }] });
    const own = inspect('--method', 'tools/call', '--tool-name', 'diagnose');
    expect(own).toMatchObject({ content: [{ type: 'text', text: expect.stringContaining(`You are ${address}`) }] });
  });
});
