import { afterEach, expect, test } from 'vitest';
import type { Json, Script } from '../lab/model.ts';
import { addressOf, install, reached } from './bus.ts';
import { CLIS, CODEX, type Cli } from './cli.ts';
import { expectExact, framesIn } from './frames.ts';
import { openTui, type Tui } from './tui.ts';
import { createWorld, type World } from './world.ts';

let world: World;
afterEach(() => world.close());

interface Shown {
  id: string;
  type: string;
}

/** The frames that were not there before, in the request as it went out. */
function newFrames(body: Json, seen: ReadonlySet<string>): Shown[] {
  return framesIn(body)
    .map(({ id, text }) => ({ id, type: / type="([\w.]+)"/.exec(text)![1]! }))
    .filter(({ id }) => !seen.has(id));
}

/** Prompts a session; its model does what `play` makes of the frames that came with the prompt. Answers with these. */
async function turn(
  cli: Cli,
  tui: Tui,
  seen: Set<string>,
  prompt: string,
  play: (frames: Shown[]) => ReturnType<Script>[],
): Promise<Shown[]> {
  const model = world.model(cli);
  model.clear();
  let frames: Shown[] = [];
  let steps: ReturnType<Script>[] | null = null;
  model.play((request) => {
    if (!steps) {
      frames = newFrames(request.body, seen);
      steps = play(frames);
    }
    return steps.shift();
  });
  await tui.prompt(prompt);
  await tui.see(`${prompt} is done.`);
  for (const { id } of frames) seen.add(id);
  return frames;
}

const CLAUDES = CLIS.filter((cli) => cli.harness === 'claude');
const PAIRS: [string, Cli, Cli][] = [
  ...CLAUDES.map((claude): [string, Cli, Cli] => [`${claude.name} gives ${CODEX.name} work`, claude, CODEX]),
  [`${CODEX.name} gives ${CLAUDES.at(-1)!.name} work`, CODEX, CLAUDES.at(-1)!],
];

test.each(PAIRS)('%s: found, asked, accepted, asked back, answered, done', async (_title, giver, worker) => {
  world = await createWorld(giver.harness === 'claude' ? giver : worker);
  await install(world, ['--approve-send']);
  const seen = { giver: new Set<string>(), worker: new Set<string>() };
  const workerTui = await openTui(world, worker);
  await turn(worker, workerTui, seen.worker, 'first', () => [{ text: 'first is done.' }]);

  const giverTui = await openTui(world, giver);
  await turn(giver, giverTui, seen.giver, 'asking', () => [
    { tools: [giver.busTool('find_agent', { query: worker.harness })] },
    { tools: [giver.busTool('send', { to: addressOf(worker), text: 'Review the parser.', task: true })] },
    { text: 'asking is done.' },
  ]);
  const request = world.model(giver).mainRequests().at(-1)!;
  const task = /It is task (msg_\w+);/.exec(JSON.stringify(request.body))![1]!;

  const [asked] = await turn(worker, workerTui, seen.worker, 'working', ([frame]) => [
    { tools: [worker.busTool('task_progress', { task_id: frame!.id, percent: 40, note: 'reading' })] },
    { tools: [worker.busTool('task_progress', { task_id: frame!.id, question: 'Which branch?' })] },
    { text: 'working is done.' },
  ]);
  expect(asked).toEqual({ id: task, type: 'agentbus.task.request.v1' });
  const shown = framesIn(world.model(worker).mainRequests()[0]!.body).find(({ id }) => id === task)!;
  expectExact(shown, { instructions: 'Review the parser.' });

  const questions = await turn(giver, giverTui, seen.giver, 'telling', ([frame]) => [
    { tools: [giver.busTool('reply', { message_id: frame!.id, text: 'main' })] },
    { text: 'telling is done.' },
  ]);
  expect(questions.map(({ type }) => type)).toEqual(['agentbus.task.progress.v1']);

  const answers = await turn(worker, workerTui, seen.worker, 'finishing', () => [
    { tools: [worker.busTool('task_result', { task_id: task, result: 'Two bugs in the parser.' })] },
    { text: 'finishing is done.' },
  ]);
  expect(answers.map(({ type }) => type)).toEqual(['agentbus.task.input.v1']);

  const results = await turn(giver, giverTui, seen.giver, 'reading', () => [{ text: 'reading is done.' }]);
  expect(results.map(({ type }) => type)).toEqual(['agentbus.task.result.v1']);
  const result = framesIn(world.model(giver).mainRequests()[0]!.body).find(({ id }) => id === results[0]!.id)!;
  const payload = JSON.parse(/--- payload .* ---\n(.*)\n--- end payload ---/.exec(result.text)![1]!) as unknown;
  // A harness that tells what its requests used has it counted for the task.
  expect(payload).toEqual({
    task,
    result: 'Two bugs in the parser.',
    ...(worker.harness === 'codex' ? { usage: { tokens: expect.any(Number) as unknown } } : {}),
  });
  expectExact(result, payload);

  await reached(world, results[0]!.id, 'presented');
  const view = await world.ask<{ state: string; timeline: { what: string; text: string; seen: string[] }[] }>(['task', 'show', task]);
  expect(view.state).toBe('completed');
  expect(view.timeline.map(({ what, text }) => [what, text])).toEqual([
    ['requested', 'Review the parser.'],
    ['accepted', ''],
    ['progress', '40 %: reading'],
    ['question', 'Which branch?'],
    ['answer', 'main'],
    ['result', 'Two bugs in the parser.'],
  ]);
  for (const step of view.timeline.filter(({ what }) => what !== 'accepted' && what !== 'progress'))
    expect(step.seen).toContain('presented');
});
