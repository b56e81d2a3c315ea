import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { callDaemon } from '../../src/daemon/client.ts';
import { installed, until, type Installed } from '../support/installed.ts';
import { mcpClient, type McpClient } from '../support/mcp-client.ts';
import { contextOf, fakeClaude, type FakeClaude } from '../support/sessions.ts';

interface View {
  id: string;
  state: string;
  reason: string | null;
  cancelRequested: boolean;
  used: { tokens: number };
  timeline: { what: string; state: string; text: string; late: boolean; seen: string[] }[];
}

let world: Installed;
let caller: FakeClaude;
let worker: FakeClaude;
let [callerAddress, workerAddress] = ['', ''];
const clients: McpClient[] = [];

async function joined(session: FakeClaude): Promise<string> {
  return /agent:\/\/\S+[a-z0-9]/.exec(contextOf((await session.start()).out))![0];
}

beforeAll(async () => {
  world = installed();
  caller = fakeClaude(world);
  worker = fakeClaude(world, { CLAUDE_PID: String(process.ppid) });
  callerAddress = await joined(caller);
  workerAddress = await joined(worker);
});
afterAll(() => world.close());
afterEach(() => {
  for (const client of clients.splice(0)) client.child.kill('SIGKILL');
});

function connect(session: FakeClaude): McpClient {
  const client = mcpClient(world, 'claude', session.env);
  clients.push(client);
  return client;
}

async function give(client: McpClient, args: Record<string, unknown> = {}): Promise<string> {
  const answer = await client.tool('send', { to: workerAddress, text: 'review this change', task: true, ...args });
  return /It is task (msg_\w+);/.exec(answer.text)![1]!;
}

const show = (id: string): View => world.json<View>(['task', 'show', id]);
const frameIds = (out: string): string[] =>
  Array.from(contextOf(out).matchAll(/<agentbus-message id="(msg_\w+)" type="([\w.]+)"/g), ([, , type]) => type!);

/** Prompts a session, as its model would see what comes with it. */
async function prompt(session: FakeClaude): Promise<string> {
  const ran = await session.prompt('go on');
  session.accept('UserPromptSubmit', 'go on', ran.out);
  // The end of the turn, at which the record is looked at.
  await world.hook('claude', 'Stop', session.payload('Stop', { stop_hook_active: true }));
  return ran.out;
}

async function drain(session: FakeClaude): Promise<void> {
  while (contextOf(await prompt(session)).includes('<agentbus-message'));
}

describe('a task', () => {
  it('is asked for, accepted, asked back, answered and done, and its timeline shows each step', async () => {
    const [asks, works] = [connect(caller), connect(worker)];
    const id = await give(asks, { priority: 'high' });
    expect(frameIds(await prompt(worker))).toEqual(['agentbus.task.request.v1']);
    expect((await works.tool('task_progress', { task_id: id, percent: '40', note: 'reading' })).text).toBe(`Task ${id} is working.`);
    const asked = await works.tool('task_progress', { task_id: id, question: 'which branch?' });
    expect(asked.text).toContain(`Task ${id} is input-required. The question will be seen:`);
    expect(frameIds(await prompt(caller))).toEqual(['agentbus.task.progress.v1']);
    const { timeline } = show(id);
    const asking = world
      .json<{ id: string; timeline: { message: string; what: string }[] }>(['task', 'show', id])
      .timeline.find(({ what }) => what === 'question')!;
    expect(timeline.at(-1)!.state).toBe('input-required');
    expect((await asks.tool('reply', { message_id: asking.message, text: 'main' })).text).toMatch(/^Sent msg_/);
    expect(show(id).state).toBe('working');
    expect(frameIds(await prompt(worker))).toEqual(['agentbus.task.input.v1']);
    expect((await works.tool('task_result', { task_id: id, result: 'no bugs' })).text).toContain(`Task ${id} is completed.`);
    const seen = await prompt(caller);
    expect(frameIds(seen)).toEqual(['agentbus.task.result.v1']);
    expect(seen).toContain('no bugs');
    await until('the result is proven seen', () => show(id).timeline.at(-1)!.seen.includes('presented'));
    expect(show(id).timeline.map(({ what, text }) => [what, text])).toEqual([
      ['requested', 'review this change'],
      ['accepted', ''],
      ['progress', '40 %: reading'],
      ['question', 'which branch?'],
      ['answer', 'main'],
      ['result', 'no bugs'],
    ]);
    const printed = world.agentbus(['task', 'show', id]).out;
    for (const words of ['completed', 'which branch?', 'no bugs']) expect(printed).toContain(words);
    expect((await asks.tool('diagnose', { id })).text).toContain(`Task ${id} from ${callerAddress} to ${workerAddress}: completed`);
  });

  it('ends once: a second end is refused, the same end again is the first', async () => {
    const [asks, works] = [connect(caller), connect(worker)];
    const id = await give(asks);
    const first = await works.tool('task_result', { task_id: id, result: 'done' });
    expect(first.text).toContain('is completed');
    expect((await works.tool('task_result', { task_id: id, result: 'done' })).text).toBe(first.text);
    expect((await works.tool('task_result', { task_id: id, result: 'other', outcome: 'failed' })).text).toContain('AB-6002');
    expect((await works.tool('task_progress', { task_id: id, note: 'late' })).text).toContain('AB-6002');
    await drain(caller);
  });

  it('asks twice and is answered twice, though the answers are the same', async () => {
    const [asks, works] = [connect(caller), connect(worker)];
    const id = await give(asks);
    for (const question of ['tests too?', 'docs too?']) {
      await works.tool('task_progress', { task_id: id, question });
      for (const _again of [1, 2]) expect(world.agentbus(['task', 'answer', id, 'yes'], caller.env).code).toBe(0);
      expect(show(id).state).toBe('working');
    }
    expect(show(id).timeline.filter(({ what }) => what === 'answer')).toHaveLength(2);
    await works.tool('task_result', { task_id: id, result: 'both' });
    await drain(caller);
    await drain(worker);
  });

  it('is nobody else’s: neither its steps nor its existence', async () => {
    const [asks, works] = [connect(caller), connect(worker)];
    const id = await give(asks);
    expect((await asks.tool('task_progress', { task_id: id, note: 'x' })).text).toContain('AB-4002');
    const other = fakeClaude(world, { CLAUDE_PID: '1' });
    await other.start();
    const stranger = connect(other);
    for (const call of [
      ['task_progress', { task_id: id }],
      ['task_result', { task_id: id, result: 'x' }],
    ] as const)
      expect((await stranger.tool(call[0], call[1])).text).toContain('AB-6001');
    await works.tool('task_result', { task_id: id, result: 'no', outcome: 'rejected' });
    expect(show(id)).toMatchObject({ state: 'rejected', reason: 'no' });
    await drain(caller);
  });

  it('that is called off before it was accepted is over, and is never shown', async () => {
    const id = await give(connect(caller));
    expect((await connect(caller).tool('task_result', { task_id: id, result: 'changed my mind', outcome: 'canceled' })).text).toBe(
      `Task ${id} is canceled.`,
    );
    expect(frameIds(await prompt(worker))).toEqual([]);
    expect(world.agentbus(['trace', id]).out).toContain('resolved');
  });

  it('that is worked on may be finished though it was called off; the worker is told', async () => {
    const [asks, works] = [connect(caller), connect(worker)];
    const id = await give(asks);
    await prompt(worker);
    await works.tool('task_progress', { task_id: id });
    expect((await asks.tool('task_result', { task_id: id, result: 'stop', outcome: 'canceled' })).text).toContain(
      `Asked for the end of task ${id}, which is working`,
    );
    const batch = await world.hook(
      'claude',
      'PostToolUse',
      worker.payload('PostToolUse', { tool_name: 'Read', tool_use_id: 'toolu_1', tool_input: {} }),
    );
    expect(frameIds(batch.out)).toEqual(['agentbus.task.cancel.v1']);
    expect((await works.tool('task_progress', { task_id: id, percent: 90 })).text).toContain('asked to call it off');
    await works.tool('task_result', { task_id: id, result: 'ok', outcome: 'canceled' });
    expect(show(id)).toMatchObject({ state: 'canceled', cancelRequested: true });
    await drain(caller);
    await drain(worker);
  });

  it('stays with the place: a compaction, a resume and the next session there name what is open', async () => {
    const asks = connect(caller);
    const id = await give(asks);
    await prompt(worker);
    await connect(worker).tool('task_progress', { task_id: id, note: 'begun' });
    const line = `Open AgentBus tasks: ${id} (working, from ${callerAddress}).`;
    expect(contextOf((await worker.start('compact')).out)).toContain(line);
    expect(contextOf((await worker.start('resume')).out)).toContain(line);
    await world.hook('claude', 'SessionEnd', worker.payload('SessionEnd', { reason: 'other' }));
    const next = fakeClaude(world, { CLAUDE_PID: String(process.ppid) });
    const started = contextOf((await next.start()).out);
    expect(started).toContain(workerAddress);
    expect(started).toContain(line);
    const works = connect(next);
    expect((await works.tool('inbox')).text).toContain(line);
    expect((await works.tool('diagnose')).text).toContain(line);
    expect((await works.tool('task_result', { task_id: id, result: 'by the next one' })).text).toContain('completed');
    worker = next;
    await drain(caller);
  });

  it('is named at its next prompt to a session that takes the place over', async () => {
    const [owner, heir] = [process.pid, process.ppid].map((pid) => fakeClaude(world, { CLAUDE_PID: String(pid), AGENTBUS_AGENT: 'desk' }));
    await owner!.start();
    await heir!.start();
    const { id } = world.json<{ id: string }>(['task', 'send', 'shop/desk', 'keep the desk'], caller.env);
    await prompt(owner!);
    world.json(['task', 'progress', id], owner!.env);
    expect(await prompt(heir!)).toBe('');
    expect(world.agentbus(['join', '--as', 'desk', '--take-over'], heir!.env).code).toBe(0);
    const line = `Open AgentBus tasks: ${id} (working, from ${callerAddress}).`;
    expect(contextOf(await prompt(heir!))).toContain(line);
    expect(contextOf(await prompt(heir!))).not.toContain(line);
    expect(world.json<{ task: { state: string } }>(['task', 'finish', id, 'kept'], heir!.env).task.state).toBe('completed');
    await drain(caller);
  });

  it('is given up by abandon, from the shell of the session or of its person', async () => {
    const ids = [await give(connect(caller)), await give(connect(caller))];
    expect(world.agentbus(['abandon', ids[0]!], worker.env).out).toContain('failed (abandoned)');
    expect(world.agentbus(['abandon', ids[1]!]).code).toBe(0);
    for (const id of ids) expect(show(id)).toMatchObject({ state: 'failed', reason: 'abandoned' });
    expect(world.agentbus(['abandon', ids[1]!], caller.env).code).toBe(5);
    await drain(caller);
  });

  it('counts what is used for it; a budget that is used up is told to both', async () => {
    const [asks, works] = [connect(caller), connect(worker)];
    const id = await give(asks, { budget_tokens: 100 });
    await works.tool('task_progress', { task_id: id });
    const use = (output: number): Promise<unknown> =>
      callDaemon(world.bus, '/usage', { caller: { harness: 'claude', session: worker.id }, output, usd: 0.5 });
    expect(await use(90)).toMatchObject({ task: id });
    expect((await works.tool('task_progress', { task_id: id })).text).not.toContain('budget');
    await use(20);
    expect((await works.tool('task_progress', { task_id: id })).text).toContain('Its budget is used up: 110 tokens, 1.00 USD.');
    await until('the caller is told', () => show(id).timeline.some(({ text }) => text === 'its budget is used up: 110 tokens, 1.00 USD'));
    await works.tool('task_result', { task_id: id, result: 'x' });
    expect(contextOf(await prompt(caller))).toContain('"usage":{"tokens":110,"usd":1}');
    expect(show(id).used).toMatchObject({ tokens: 110 });
    await drain(caller);
  });
});

describe('attachments', () => {
  it('are files under the working directory, or texts; they come whole, and only when fetched', async () => {
    writeFileSync(join(world.project, 'change.diff'), '--- a\n+++ b\n<agentbus-message>é\n'.repeat(2_000));
    const [asks, works] = [connect(caller), connect(worker)];
    const id = await give(asks, { attachments: [{ path: 'change.diff' }, { name: 'note.txt', text: 'look at line 3' }] });
    const shown = await prompt(worker);
    expect(shown).not.toContain('look at line 3');
    const refs = Array.from(shown.matchAll(/blob:\/\/[0-9a-f]{64}/g), ([ref]) => ref);
    expect(refs).toHaveLength(2);
    expect((await works.tool('inbox', { action: 'fetch_blob', ref: refs[1] })).text).toContain('"look at line 3"');
    let [text, offset]: [string, number | null] = ['', 0];
    while (offset !== null) {
      const part: string = (await works.tool('inbox', { action: 'fetch_blob', ref: refs[0], offset })).text;
      expect(Buffer.byteLength(part)).toBeLessThanOrEqual(20_000);
      text += JSON.parse(part.split('\n')[1]!) as string;
      const more: string | undefined = /offset (\d+)\.$/.exec(part)?.[1];
      offset = more === undefined ? null : Number(more);
    }
    expect(text).toBe('--- a\n+++ b\n<agentbus-message>é\n'.repeat(2_000));
    const saved = world.agentbus(['task', 'fetch', refs[1]!], worker.env);
    expect(saved.out).toBe('look at line 3');
    await works.tool('task_result', { task_id: id, result: 'fine' });
    await drain(caller);
  });

  it('of others are not to be had by their hash', async () => {
    const [asks, works] = [connect(caller), connect(worker)];
    await give(asks, { attachments: [{ name: 'a.txt', text: 'for the worker alone' }] });
    const ref = /blob:\/\/[0-9a-f]{64}/.exec(await prompt(worker))![0];
    const other = fakeClaude(world, { CLAUDE_PID: '1' });
    await other.start();
    const stranger = connect(other);
    expect((await stranger.tool('inbox', { action: 'fetch_blob', ref })).text).toContain('AB-5008');
    expect((await stranger.tool('inbox', { action: 'fetch_blob', ref: 'blob://../../etc/passwd' })).text).toContain('AB-5008');
    expect((await works.tool('inbox', { action: 'fetch_blob', ref })).text).toContain('for the worker alone');
  });

  it('never come from outside the working directory, not even by a link', async () => {
    const asks = connect(caller);
    writeFileSync(join(world.home, 'outside.txt'), 'x');
    symlinkSync(join(world.home, 'outside.txt'), join(world.project, 'link.txt'));
    mkdirSync(join(world.project, 'folder'));
    for (const path of ['../home/outside.txt', join(world.home, 'outside.txt'), 'link.txt', 'folder', 'missing.txt', '.'])
      expect((await asks.tool('send', { to: workerAddress, text: 'x', attachments: [{ path }] })).text).toContain('AB-7001');
  });
});

it('a task goes through the shell just as well', async () => {
  writeFileSync(join(world.project, 'a.bin'), Buffer.from([0, 255, 1]));
  const sent = world.json<{ id: string; task: { state: string } }>(
    ['task', 'send', workerAddress, 'do it', '--attach', 'a.bin', '--budget-tokens', '5'],
    caller.env,
  );
  expect(sent.task.state).toBe('submitted');
  expect(world.agentbus(['task', 'list'], worker.env).out).toContain(sent.id);
  world.json(['task', 'progress', sent.id, 'which one?', '--question'], worker.env);
  expect(world.json<{ task: { state: string } }>(['task', 'answer', sent.id, 'the first'], caller.env).task.state).toBe('working');
  expect(world.agentbus(['task', 'answer', sent.id, 'twice'], caller.env).code).toBe(5);
  const ref = /blob:\/\/[0-9a-f]{64}/.exec(world.agentbus(['task', 'show', sent.id], worker.env).out)![0];
  const out = join(world.project, 'b.bin');
  expect(world.agentbus(['task', 'fetch', ref, '--output', out], worker.env).out).toContain('3 bytes');
  expect(world.agentbus(['task', 'fetch', ref, '--output', out], worker.env).code).toBe(2);
  expect(world.json<{ task: { state: string } }>(['task', 'finish', sent.id, 'done'], worker.env).task.state).toBe('completed');
  expect(world.agentbus(['task', 'list'], caller.env).out).not.toContain(sent.id);
  expect(world.agentbus(['task', 'list', '--all'], caller.env).out).toContain('completed');
  expect(world.agentbus(['task', 'cancel', 'msg_01J9ZK6Q8R2M3N4P5Q6R7S8T9V'], caller.env).code).toBe(3);
  for (const words of [
    ['task', 'send', workerAddress],
    ['task', 'nonsense'],
    ['task', 'send', workerAddress, 'x', '--budget-tokens', 'many'],
  ])
    expect(world.agentbus(words).code).toBe(2);
});
