import { randomBytes } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { LIMITS } from '../../src/core/limits.ts';
import { callDaemon } from '../../src/daemon/client.ts';
import { codeOfAsync } from '../core/codes.ts';
import { installed, until, type Installed } from '../support/installed.ts';
import { mcpClient, type McpClient } from '../support/mcp-client.ts';
import { program, type Program } from '../support/programs.ts';
import { contextOf, fakeClaude, type FakeClaude } from '../support/sessions.ts';

const BIN = new URL('../../bin/agentbus.mjs', import.meta.url).pathname;
let world: Installed;
let agent: FakeClaude;
let agentAddress: string;
let works: McpClient;
let boss: Program;
const clients: McpClient[] = [];

beforeAll(async () => {
  world = installed();
  agent = fakeClaude(world);
  agentAddress = /agent:\/\/\S+[a-z0-9]/.exec(contextOf((await agent.start()).out))![0];
  works = mcpClient(world, 'claude', agent.env);
  clients.push(works);
  boss = await program(world, 'boss');
});
afterAll(() => {
  for (const client of clients) client.child.kill('SIGKILL');
  world.close();
});
afterEach(async () => {
  for (let more = true; more;) more = (await prompt()) !== '';
});

async function prompt(): Promise<string> {
  const ran = await agent.prompt('go on');
  agent.accept('UserPromptSubmit', 'go on', ran.out);
  await world.hook('claude', 'Stop', agent.payload('Stop', { stop_hook_active: true }));
  return contextOf(ran.out);
}

async function give(fields: Record<string, unknown> = {}): Promise<string> {
  return (await boss.call<{ id: string }>('/task/send', { to: agentAddress, instructions: 'review', ...fields })).id;
}

/** What the program is shown at a prompt; it says that it was seen. */
async function bossSees(): Promise<string> {
  const { text, offers } = await boss.unread('prompt', true);
  await boss.call('/inject-ack', { presented: offers.map(({ offer }) => offer) });
  return text;
}

const stateOf = (id: string): string => world.json<{ state: string }>(['task', 'show', id]).state;
const messageIn = (id: string, what: string): string =>
  world.json<{ timeline: { what: string; message: string }[] }>(['task', 'show', id]).timeline.findLast((step) => step.what === what)!
    .message;

describe('nothing unseen is closed', () => {
  it('an answer that was not shown yet outlives a note of its agent', async () => {
    const id = await give();
    await prompt();
    await works.tool('task_progress', { task_id: id, question: 'which?' });
    await boss.call('/task/answer', { task: id, answer: 'the main branch' });
    await works.tool('task_progress', { task_id: id, note: 'still reading' });
    expect(await prompt()).toContain('the main branch');
  });

  it('a request that nobody was shown outlives a person’s word on its progress', async () => {
    const id = await give();
    world.json(['task', 'progress', id, 'begun']);
    expect(await prompt()).toContain(`id="${id}"`);
  });

  it('of two questions the answer to the first is refused, and the second is still to be seen', async () => {
    const id = await give();
    await works.tool('task_progress', { task_id: id, question: 'first?' });
    const first = messageIn(id, 'question');
    await works.tool('task_progress', { task_id: id, question: 'second?' });
    expect(await codeOfAsync(boss.call('/reply', { id: first, data: 'yes' }))).toBe('AB-6003');
    expect(await bossSees()).toContain('second?');
    await boss.call('/reply', { id: messageIn(id, 'question'), data: 'yes' });
    expect(stateOf(id)).toBe('working');
  });

  it('a note, the bus’s own on the budget included, leaves an open question open', async () => {
    const id = await give({ budget: { tokens: 10 } });
    await works.tool('task_progress', { task_id: id, question: 'go on?' });
    await callDaemon(world.bus, '/usage', { caller: { harness: 'claude', session: agent.id }, output: 50 });
    await until('the note', () => world.agentbus(['task', 'show', id]).out.includes('budget is used up'));
    expect(stateOf(id)).toBe('input-required');
    await boss.call('/reply', { id: messageIn(id, 'question'), data: 'yes' });
    expect(stateOf(id)).toBe('working');
  });
});

it('any message of a task names it', async () => {
  const id = await give();
  await works.tool('task_progress', { task_id: id, question: 'which?' });
  await boss.call('/task/answer', { task: id, answer: 'this' });
  const answer = messageIn(id, 'answer');
  const { timeline } = world.json<{ timeline: { what: string }[] }>(['task', 'show', answer], agent.env);
  expect(timeline.map(({ what }) => what)).toEqual(['requested', 'accepted', 'question', 'answer']);
  expect((await works.tool('diagnose', { id: answer })).text).toContain(' question: input-required');
  expect(await prompt()).toContain(`{"task":"${id}","answer":"this"}`);
  expect((await works.tool('task_result', { task_id: answer, result: 'done' })).text).toContain(`Task ${id} is completed.`);
});

it('talk does not keep a task from its end', async () => {
  const talker = await program(world, 'talker');
  const { id } = await talker.call<{ id: string }>('/task/send', { to: agentAddress, instructions: 'talk' });
  for (let note = 0; note < LIMITS.pairPerMinute; note++) await works.tool('task_progress', { task_id: id, note: `note ${note}` });
  expect((await works.tool('task_progress', { task_id: id, note: 'one more' })).text).toContain('AB-5006');
  expect((await works.tool('task_result', { task_id: id, result: 'done' })).text).toContain('is completed');
});

it('a task expires when its time is over, with nothing else going on, and both parties’ next prompt says so', async () => {
  const id = await give({ expiresIn: 1_500 });
  await prompt();
  world.json(['task', 'progress', id]);
  await until('it has expired', () => stateOf(id) === 'failed');
  const line = `AgentBus tasks that expired: ${id} (failed, `;
  expect(await prompt()).toContain(`${line}from ${boss.address}).`);
  expect(await bossSees()).toContain(`${line}given to ${agentAddress}).`);
  expect(await prompt()).not.toContain(line);
  expect((await works.tool('task_result', { task_id: id, result: 'late' })).text).toContain('(expired)');
});

describe('attachments', () => {
  it('may be as large as promised, and no larger', async () => {
    const attach = (size: number) =>
      boss.call<{ ref: string; size: number }>('/attach', {
        name: 'x.bin',
        mediaType: 'application/octet-stream',
        base64: randomBytes(size).toString('base64'),
      });
    expect(await attach(LIMITS.attachmentBytes)).toMatchObject({ size: LIMITS.attachmentBytes });
    expect(await codeOfAsync(attach(LIMITS.attachmentBytes + 1))).toBe('AB-7005');
  });

  it('are at most ten in a message of any kind', async () => {
    const file = await boss.call<{ ref: string }>('/attach', { name: 'x', mediaType: 'text/plain', base64: 'eA==' });
    const data = { text: 'x', attachments: Array.from({ length: LIMITS.attachments + 1 }, () => file) };
    expect(await codeOfAsync(boss.call('/send', { to: agentAddress, data }))).toBe('AB-7005');
  });

  it('end where their text ends, whatever that is', async () => {
    for (const text of ['abc\uFFFD', '\uFFFD'.repeat(30_000), 'é'.repeat(20_001), '<'.repeat(25_000)]) {
      const { ref } = await boss.call<{ ref: string }>('/attach', {
        name: 'x',
        mediaType: 'text/plain',
        base64: Buffer.from(text).toString('base64'),
      });
      let [got, offset]: [string, number | null] = ['', 0];
      for (let parts = 0; offset !== null; parts++) {
        const part: { text: string; nextOffset: number | null } = await boss.call('/blob/part', { ref, offset });
        [got, offset] = [got + (JSON.parse(part.text) as string), part.nextOffset];
        expect(parts).toBeLessThan(100);
      }
      expect(got).toBe(text);
    }
  });

  it('are regular files, and what was fetched is whole or not there', async () => {
    const file = (name: string): string => join(world.project, name);
    spawnSync('mkfifo', [file('pipe')]);
    mkdirSync(file('directory'));
    writeFileSync(file('empty'), '');
    for (const name of ['pipe', 'directory', 'not-there', '/dev/zero'])
      expect(world.agentbus(['task', 'send', agentAddress, 'x', '--attach', name]).err).toMatch(/^agentbus: AB-1001 can't attach/);
    const id = world.json<{ id: string }>(['task', 'send', agentAddress, 'x', '--attach', 'empty']).id;
    const [empty] = world.json<{ timeline: { attachments: { ref: string; size: number }[] }[] }>(['task', 'show', id]).timeline[0]!
      .attachments;
    expect(world.json(['task', 'fetch', empty!.ref], agent.env)).toEqual({ size: 0, base64: '' });
    const fetched = (to: string): string => world.agentbus(['task', 'fetch', empty!.ref, '--output', to], agent.env).err;
    expect(fetched('fetched')).toBe('');
    expect(fetched('fetched')).toContain('EEXIST');
    expect(fetched('not-there/x')).toContain('ENOENT');
  });

  it('and notes come from standard input too, and go with a result alone', async () => {
    const id = await give();
    const ran = spawnSync(process.execPath, [BIN, 'task', 'progress', id, '--stdin'], {
      env: { ...world.env, ...agent.env },
      input: 'half of it\n',
      encoding: 'utf8',
    });
    expect(ran.stderr).toBe('');
    expect(world.json<{ timeline: { text: string }[] }>(['task', 'show', id]).timeline.at(-1)!.text).toBe('half of it');
    const refused = await works.tool('task_result', {
      task_id: id,
      result: 'no',
      outcome: 'failed',
      attachments: [{ name: 'x', text: 'y' }],
    });
    expect(refused.text).toContain('AB-7001 attachments go with a result alone');
    expect(stateOf(id)).toBe('working');
  });

  it('go where a person asks for them, but text behind -- is text', async () => {
    writeFileSync(join(world.project, 's.txt'), 'x');
    const { id } = world.json<{ id: string }>(['task', 'send', agentAddress, '--', 'explain', '--attach', 's.txt']);
    expect(world.json<{ timeline: { attachments: unknown[] }[] }>(['task', 'show', id]).timeline[0]!.attachments).toEqual([]);
    const other = await give();
    world.json(['task', 'finish', other, 'done', '--attach', join(world.project, 's.txt')], agent.env);
    expect(world.json<{ timeline: { attachments: unknown[] }[] }>(['task', 'show', other]).timeline.at(-1)!.attachments).toHaveLength(1);
    const ref = /blob:\/\/[0-9a-f]{64}/.exec(world.agentbus(['task', 'show', other]).out)![0];
    const copy = join(world.project, 'copy.txt');
    expect(world.agentbus(['task', 'fetch', ref, '--output', copy]).code).toBe(0);
    expect(existsSync(copy)).toBe(true);
  });
});

describe('what a model or a program may not do', () => {
  it('end a task by a word that is none', async () => {
    const id = await give();
    for (const outcome of ['cancelled', 'error', 7])
      expect((await works.tool('task_result', { task_id: id, result: 'x', outcome })).text).toContain('AB-7001');
    expect(stateOf(id)).toBe('submitted');
    expect((await works.tool('send', { to: boss.address, text: 'x', priority: 'HIGH' })).text).toContain('Sent');
    expect((await works.tool('send', { to: boss.address, text: 'x', priority: 'soon' })).text).toContain('AB-7001');
    expect((await works.tool('send', { to: boss.address, text: 'x', task: 'yes' })).text).toContain('AB-7001');
  });

  it('become the person', async () => {
    const person = world.json<{ address: string }>(['whoami']).address;
    const thief = fakeClaude(world, { CLAUDE_PID: '1', AGENTBUS_AGENT: person });
    expect(contextOf((await thief.start()).out)).not.toContain(person);
    const connected = await callDaemon<{ address: string }>(world.bus, '/connect', {
      program: 'thief',
      session: 't',
      cwd: '/',
      name: person,
    });
    expect(connected.address).not.toBe(person);
    expect(await codeOfAsync(callDaemon(world.bus, '/connect', { program: 'thief', session: 't', cwd: '/', name: 'Bad Name!' }))).toBe(
      'AB-7002',
    );
  });

  it('lift its own brake', async () => {
    expect(
      await codeOfAsync(
        callDaemon(world.bus, '/turn', { caller: { harness: 'claude', session: agent.id }, state: 'started', human: true }),
      ),
    ).toBe('AB-1002');
  });

  it('report what no sum can hold', async () => {
    for (const bad of [{ output: 1.5 }, { output: 1e308 }, { input: -1 }, { usd: 1e308 }])
      expect(await codeOfAsync(boss.call('/usage', bad))).toBe('AB-7001');
  });

  it('give work to a run that has ended', async () => {
    const run = fakeClaude(world, { CLAUDE_CODE_SESSION_ATTENDED: '0', CLAUDE_CODE_ENTRYPOINT: 'sdk-cli', CLAUDE_PID: '1' });
    await run.start();
    const address = world.json<{ address: string }>(['whoami'], run.env).address;
    await world.hook('claude', 'SessionEnd', run.payload('SessionEnd', { reason: 'other' }));
    expect(await codeOfAsync(boss.call('/task/send', { to: address, instructions: 'x' }))).toBe('AB-5001');
  });
});

it('a stand-by program takes over when its owner has gone', async () => {
  const connect = (session: string) =>
    callDaemon<{ standby: boolean }>(world.bus, '/connect', { program: 'pair', session, cwd: '/', name: 'pair' });
  await connect('one');
  expect(await connect('two')).toMatchObject({ standby: true });
  const [one, two] = ['one', 'two'].map((session) => ({ caller: { harness: 'pair', session } }));
  expect(await codeOfAsync(callDaemon(world.bus, '/send', { ...two, to: boss.address, data: 'x' }))).toBe('AB-4004');
  await callDaemon(world.bus, '/disconnect', one);
  expect(await callDaemon(world.bus, '/send', { ...two, to: boss.address, data: 'x' })).toMatchObject({
    from: expect.stringMatching(/\/pair$/) as unknown,
  });
});

it('what another agent wrote can’t command a terminal', async () => {
  await boss.call('/send', { to: world.json<{ address: string }>(['whoami']).address, data: 'a\u009b31mred\u001b[2J' });
  const { out } = world.agentbus(['inbox']);
  expect(out).toContain('a\\u009b31mred');
  // oxlint-disable-next-line no-control-regex
  expect(out).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
});
