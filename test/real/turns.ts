import type { FakeModel, Step } from '../lab/model.ts';
import { type Cli, CODEX } from './cli.ts';
import type { Turn } from './plan.ts';
import type { Running } from './process.ts';
import { gate, until } from './wait.ts';
import type { World } from './world.ts';

/** A session without a person, turn by turn. */
export interface Turns {
  begin(prompt: string): void;
  /** What a person does with Esc or Ctrl-C. */
  interrupt(): void;
  /** Resolves when the turn that began last is over, however it ended. */
  over(): Promise<void>;
  close(): Promise<void>;
}

export interface TurnOptions {
  env: Record<string, string>;
  extra?: string[];
}

/** Claude Code takes turns as lines on stdin, in one process. */
function claudeTurns(world: World, cli: Cli, options: TurnOptions): Turns {
  const stream = ['--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose'];
  const args = cli.headless('', { extra: [...stream, ...(options.extra ?? [])] }).filter((word) => word !== '');
  const running = world.start(cli, args, { env: options.env, stdin: null, timeout: 600_000 });
  const say = (line: object): boolean => running.child.stdin!.write(`${JSON.stringify(line)}\n`);
  const results = (): number => running.stdout().split('"type":"result"').length - 1;
  let before = 0;
  let interrupts = 0;
  return {
    begin(prompt) {
      before = results();
      say({ type: 'user', message: { role: 'user', content: prompt } });
    },
    interrupt: () => {
      say({ type: 'control_request', request_id: `stop-${(interrupts += 1)}`, request: { subtype: 'interrupt' } });
    },
    over: async () => {
      await until(
        () => results() > before,
        () => `the turn's result; the last lines:\n${running.stdout().slice(-2_000)}`,
        60_000,
      );
    },
    close: async () => {
      running.child.stdin!.end();
      await running.ended;
    },
  };
}

/** Codex takes one turn a process, and resumes. */
function codexTurns(world: World, options: TurnOptions): Turns {
  let running: Running | undefined;
  return {
    begin(prompt) {
      running = world.startHeadless(CODEX, prompt, { ...options, resume: running !== undefined });
    },
    interrupt: () => {
      running?.child.kill('SIGINT');
    },
    over: async () => {
      await running?.ended;
    },
    close: async () => {},
  };
}

export function turnsOf(world: World, cli: Cli, options: TurnOptions): Turns {
  return cli.harness === 'claude' ? claudeTurns(world, cli, options) : codexTurns(world, options);
}

/** Plays one planned turn to its end. `mail` is called before it (-1) and at each of its requests, and waited for. */
export async function playTurn(
  model: FakeModel,
  session: Turns,
  turn: Turn,
  prompt: string,
  mail: (answer: number) => Promise<void>,
): Promise<void> {
  await mail(-1);
  const over = gate();
  let number = -1;
  model.play((request) => {
    const answer = (number += 1);
    const sent = mail(answer);
    const step: Step = { ...(turn.answers[answer] ?? { text: 'Done.' }), before: sent };
    const place = turn.interrupt?.answer === answer ? turn.interrupt.place : null;
    if (!place) return step;
    step[place] = place === 'before' ? sent.then(() => over.opened) : over.opened;
    const waiting = (): boolean =>
      request.aborted || place === 'before' || (place === 'middle' ? request.startedAt !== null : request.blocks > 0);
    void sent
      .then(() => model.until(waiting, `answer ${answer} of ${prompt}`))
      .then(() => session.interrupt())
      // A turn that ended otherwise meanwhile needs no interrupt.
      .catch(() => {});
    return step;
  });
  session.begin(prompt);
  await session.over();
  over.open();
}
