import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isAlive } from '../../src/core/alive.ts';
import { installed, until, type Installed } from '../support/installed.ts';
import { mcpClient, type McpClient } from '../support/mcp-client.ts';
import { contextOf, fakeClaude, type FakeClaude } from '../support/sessions.ts';

let world: Installed;
let [caller, worker]: FakeClaude[] = [];
let workerAddress = '';
const clients: McpClient[] = [];

// A world for each test: one pair may send no more than thirty messages a minute.
beforeEach(async () => {
  world = installed();
  caller = fakeClaude(world);
  worker = fakeClaude(world, { CLAUDE_PID: String(process.ppid) });
  await caller.start();
  workerAddress = /agent:\/\/\S+[a-z0-9]/.exec(contextOf((await worker.start()).out))![0];
});
afterEach(() => {
  for (const client of clients.splice(0)) client.child.kill('SIGKILL');
  world.close();
});

async function connect(session: FakeClaude): Promise<McpClient> {
  const client = mcpClient(world, 'claude', session.env);
  clients.push(client);
  await client.tool('find_agent');
  return client;
}

/** A call, and how often what it does has happened. */
interface Call {
  by: FakeClaude;
  name: string;
  args: Record<string, unknown>;
  count(): number;
}

/** How many messages of this size the session has got: each text of these tests has a length of its own. */
function gotOf(text: string, session: FakeClaude): number {
  const { entries } = world.json<{ entries: { bytes: number }[] }>(['inbox', '--all'], session.env);
  return entries.filter(({ bytes }) => bytes === JSON.stringify(text).length).length;
}

function tasksWith(text: string): number {
  return world
    .json<{ tasks: { instructions: string }[] }>(['task', 'list', '--all'])
    .tasks.filter(({ instructions }) => instructions === text).length;
}

function stepsWith(task: string, text: string): number {
  const { timeline } = world.json<{ timeline: { text: string; late: boolean }[] }>(['task', 'show', task]);
  return timeline.filter((step) => !step.late && step.text === text).length;
}

const newTask = (): string => world.json<{ id: string }>(['task', 'send', workerAddress, 'x'], caller!.env).id;

let lengths = 1_000;
const CALLS: Readonly<Record<string, () => Call>> = {
  send() {
    const text = 'm'.repeat(++lengths);
    return { by: caller!, name: 'send', args: { to: workerAddress, text }, count: () => gotOf(text, worker!) };
  },
  'send a task'() {
    // A list shows the beginning of what is asked for.
    const text = `task ${++lengths}`;
    return { by: caller!, name: 'send', args: { to: workerAddress, text, task: true }, count: () => tasksWith(text) };
  },
  reply() {
    const text = 'a'.repeat(++lengths);
    const { id } = world.json<{ id: string }>(['send', workerAddress, 'question'], caller!.env);
    return { by: worker!, name: 'reply', args: { message_id: id, text }, count: () => gotOf(text, caller!) };
  },
  task_progress() {
    const id = newTask();
    return { by: worker!, name: 'task_progress', args: { task_id: id, note: 'begun' }, count: () => stepsWith(id, 'begun') };
  },
  task_result() {
    const id = newTask();
    return { by: worker!, name: 'task_result', args: { task_id: id, result: 'done' }, count: () => stepsWith(id, 'done') };
  },
};

describe.each(Object.entries(CALLS))('%s', (_name, prepare) => {
  it('gets one answer and happens once though the daemon is killed over it', async () => {
    for (const delay of [0, 1, 3, 6, 10, 15]) {
      const { by, name, args, count } = prepare();
      const answer = (await connect(by)).tool(name, args);
      await new Promise((resolve) => setTimeout(resolve, delay));
      process.kill(world.daemonPid()!, 'SIGKILL');
      expect(await answer).toMatchObject({ isError: false });
      expect(count()).toBe(1);
    }
  });

  it('happens once or not at all when server or client end over it, and nothing is left running', async () => {
    for (const end of ['server', 'client'] as const) {
      for (const delay of [0, 2, 8]) {
        const { by, name, args, count } = prepare();
        const { child, tool } = await connect(by);
        void tool(name, args);
        await new Promise((resolve) => setTimeout(resolve, delay));
        if (end === 'server') child.kill('SIGKILL');
        else child.stdin!.end();
        await until('the server is gone', () => !isAlive(child.pid!));
        expect(count()).toBeLessThanOrEqual(1);
      }
    }
  });
});
