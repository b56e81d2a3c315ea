import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { closeSync, constants, openSync, readdirSync, readFileSync, readSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hookSocket, relaySocket } from '../../src/core/paths.ts';
import { between, type Between } from '../support/between.ts';
import { installed, until, writtenCommands, type Installed } from '../support/installed.ts';
import { contextOf, fakeClaude, type FakeClaude } from '../support/sessions.ts';

/**
 * The installed hook, killed at each step of its way with everything it started. Afterwards the message
 * is there to be shown, nothing is called presented that the harness's record does not have, the next
 * prompt shows it once, and the daemon has not noticed.
 */
let world: Installed;
let pid: number;
beforeAll(() => {
  world = installed();
  pid = world.json<{ pid: number }>(['daemon', 'start']).pid;
});
afterAll(() => world.close());

const PAGE = 4_096;

type Way = 'nc' | 'relay';

interface Call {
  way: Way;
  link: Between;
  /** The shell that runs the command; leader of the group of all of it. */
  shell: ChildProcess;
  payload: string;
  out: Output;
}

/** Where the hook prints. */
interface Output {
  fd: number;
  read(): string;
  close(): void;
}

interface Step {
  name: string;
  /** The daemon has stored an offer, so the message may have been seen. */
  offered: boolean;
  printed: 'nothing' | 'a part' | 'the whole';
  reach(call: Call): Promise<unknown>;
  /** What happens once the hook is dead. */
  after?(call: Call): void;
}

const called = ({ link }: Call): Promise<unknown> => until('the hook connects', () => link.called());

async function sent(call: Call): Promise<void> {
  call.shell.stdin!.write(call.payload);
  await until('the payload is through', () => call.link.payload().endsWith(call.payload));
}

async function answered(call: Call): Promise<void> {
  await sent(call);
  call.link.pass();
  await until('the daemon answers', () => call.link.answer());
}

const STEPS: Step[] = [
  { name: 'at its start', offered: false, printed: 'nothing', reach: () => Promise.resolve() },
  { name: 'connected, before anything is read', offered: false, printed: 'nothing', reach: called },
  {
    name: 'in the middle of the payload',
    offered: false,
    printed: 'nothing',
    async reach({ link, shell, payload }) {
      const half = payload.slice(0, payload.length / 2);
      shell.stdin!.write(half);
      await until('half of it is through', () => link.payload().endsWith(half));
    },
    after: ({ link }) => link.pass(true),
  },
  { name: 'with the payload sent, which the daemon never got', offered: false, printed: 'nothing', reach: sent },
  {
    name: 'with the payload sent, before the answer',
    offered: true,
    printed: 'nothing',
    reach: sent,
    after: ({ link }) => link.pass(true),
  },
  { name: 'with the offer stored, before anything is printed', offered: true, printed: 'nothing', reach: answered },
  {
    name: 'in the middle of printing',
    offered: true,
    printed: 'a part',
    async reach(call) {
      await answered(call);
      // nc prints as it reads; the relay prints the whole at once, so there nobody reads it.
      if (call.way === 'nc') {
        call.link.give(100);
        await until('it prints', () => call.out.read() !== '');
      } else {
        const before = writtenBy(call.shell);
        call.link.give();
        call.link.end();
        await until('it prints', () => writtenBy(call.shell) >= before + PAGE);
      }
    },
  },
  {
    name: 'having printed, before its exit',
    offered: true,
    printed: 'the whole',
    async reach(call) {
      await called(call);
      // The shell alone, which then does not see that its command is done.
      process.kill(call.shell.pid!, 'SIGSTOP');
      await answered(call);
      call.link.give();
      if (call.way === 'relay') call.link.end();
      await until('all is printed', () => call.out.read() === call.link.answer());
    },
  },
];

/** The bytes that the command in a shell has written so far, wherever to. */
function writtenBy(shell: ChildProcess): number {
  const command = readFileSync(`/proc/${shell.pid}/task/${shell.pid}/children`, 'utf8').trim();
  return Number(/^wchar: (\d+)$/m.exec(readFileSync(`/proc/${command}/io`, 'utf8'))![1]);
}

/** The nc that talks to a socket. */
function callerOf(socket: string): number {
  const isIt = (process: string): boolean => {
    try {
      const words = readFileSync(`/proc/${process}/cmdline`, 'utf8').split('\0');
      return words.at(-2) === socket && words.includes('-U');
    } catch {
      return false;
    }
  };
  return Number(readdirSync('/proc').find((name) => /^\d+$/.test(name) && isIt(name)));
}

/** A pipe with room for one page. Only a whole document begins with a brace, so what fills it is told apart. */
function narrowPipe(): Output {
  const path = join(world.home, `${randomUUID()}.pipe`);
  execFileSync('mkfifo', [path]);
  const own = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const fd = openSync(path, constants.O_WRONLY);
  writeSync(own, '.'.repeat(15 * PAGE));
  let text = '';
  function read(): string {
    const chunk = Buffer.alloc(64 * 1024);
    try {
      text += chunk.toString('utf8', 0, readSync(own, chunk)).replace(/^\.+/, '');
    } catch {
      // Nothing new.
    }
    return text;
  }
  return { fd, read, close: () => [own, fd].forEach((each) => closeSync(each)) };
}

interface Trace {
  state: string;
  steps: { state: string }[];
}

const statesOf = (id: string): string[] => world.json<Trace>(['trace', id]).steps.map((step) => step.state);

/** The endings that a harness's record can have: it says that it dropped the hook, or says nothing. */
const ENDINGS: Record<string, (session: FakeClaude, prompt: string) => void> = {
  'refused in the record': (session, prompt) => session.refuse('UserPromptSubmit', prompt),
  'absent from the record': (session, prompt) => session.accept('UserPromptSubmit', prompt, ''),
};

async function killed(step: Step, way: Way, session: FakeClaude, prompt: string): Promise<string> {
  const aside = hookSocket(world.bus, 'claude');
  // Without a socket of its own the harness's hook takes the relay.
  if (way === 'relay') renameSync(aside, `${aside}.aside`);
  const link = await between(way === 'nc' ? aside : relaySocket(world.bus));
  const out = narrowPipe();
  const shell = spawn('/bin/sh', ['-c', writtenCommands(world.home, 'claude')['UserPromptSubmit']!], {
    env: { ...world.env, ...session.env },
    cwd: world.project,
    stdio: ['pipe', out.fd, 'ignore'],
    detached: true,
  });
  shell.stdin!.on('error', () => {});
  const dead = new Promise((resolve) => shell.on('exit', resolve));
  const call = { way, link, shell, out, payload: JSON.stringify(session.payload('UserPromptSubmit', { prompt, prompt_id: prompt })) };
  try {
    await step.reach(call);
    process.kill(-shell.pid!, 'SIGKILL');
    await dead;
    if (link.called()) await until('it has hung up', () => link.left());
    if (step.after) {
      step.after(call);
      await until('the daemon is done with it', () => link.answer() !== null);
    }
    return out.read();
  } finally {
    await link.close();
    out.close();
    if (way === 'relay') renameSync(`${aside}.aside`, aside);
  }
}

describe.each(['nc', 'relay'] as const)('by %s, killed', (way) => {
  describe.each(STEPS)('$name', (step) => {
    it.each(Object.keys(ENDINGS))('%s', async (ending) => {
      const name = `agent-${randomUUID().slice(0, 8)}`;
      const session = fakeClaude(world, { AGENTBUS_AGENT: name });
      await session.start();
      // More than a page.
      const { id } = world.json<{ id: string }>(['send', name, 'word '.repeat(1_500)]);

      const printed = await killed(step, way, session, 'first');
      if (step.printed === 'nothing') expect(printed).toBe('');
      else if (step.printed === 'the whole') expect(contextOf(printed)).toContain(id);
      else expect(printed).toMatch(/^\{/);
      if (step.printed === 'a part') expect(() => JSON.parse(printed) as unknown).toThrow(SyntaxError);
      expect(statesOf(id)).toEqual(['accepted', 'delivered', ...(step.offered ? ['offered'] : [])]);

      ENDINGS[ending]!(session, 'first');
      const again = await session.prompt('second');
      expect(again.out.split(`<agentbus-message id=\\"${id}\\"`)).toHaveLength(2);
      expect(contextOf(again.out).includes('redelivery="true"')).toBe(step.offered);
      expect(statesOf(id)).not.toContain('presented');
      session.accept('UserPromptSubmit', 'second', again.out);
      expect((await session.prompt('third')).out).toBe('');
      expect(statesOf(id)).toContain('presented');
      expect(world.json<{ pid: number }>(['daemon', 'status']).pid).toBe(pid);
    });
  });

  it('having printed, and the harness took it: it was seen, and is not shown again', async () => {
    const name = `agent-${randomUUID().slice(0, 8)}`;
    const session = fakeClaude(world, { AGENTBUS_AGENT: name });
    await session.start();
    const { id } = world.json<{ id: string }>(['send', name, 'taken']);
    session.accept('UserPromptSubmit', 'first', await killed(STEPS.at(-1)!, way, session, 'first'));
    expect((await session.prompt('second')).out).toBe('');
    expect(statesOf(id)).toContain('presented');
  });
});

it('nc alone killed, with the payload sent: the command ends well and prints nothing', async () => {
  const name = `agent-${randomUUID().slice(0, 8)}`;
  const session = fakeClaude(world, { AGENTBUS_AGENT: name });
  await session.start();
  const { id } = world.json<{ id: string }>(['send', name, 'still there?']);
  const link = await between(hookSocket(world.bus, 'claude'));
  try {
    const hook = world.hook('claude', 'UserPromptSubmit', session.payload('UserPromptSubmit', { prompt: 'first', prompt_id: 'first' }));
    await until('the payload is through', () => link.payload().endsWith('}'));
    link.pass();
    await until('the daemon answers', () => link.answer());
    process.kill(callerOf(hookSocket(world.bus, 'claude')), 'SIGKILL');
    expect(await hook).toEqual({ code: 0, out: '', err: '' });
  } finally {
    await link.close();
  }
  session.refuse('UserPromptSubmit', 'first');
  expect((await session.prompt('second')).out).toContain(id);
});
