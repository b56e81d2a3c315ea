import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { findInRequest } from '../lab/find.ts';
import type { ModelRequest } from '../lab/model.ts';
import { addressOf, install, reached, send } from './bus.ts';
import { CLAUDE, CODEX } from './cli.ts';
import { framesIn } from './frames.ts';
import { openTui } from './tui.ts';
import { createWorld, type World } from './world.ts';

let world: World;
afterEach(() => world.close());

// Codex summarises in the middle of a turn and drops what hooks had put into the context.
test('what a turn was shown is shown again after Codex compacted in the middle of it', async () => {
  world = await createWorld();
  await install(world);
  const config = join(world.codexHome, 'config.toml');
  const env = { AGENTBUS_AGENT: 'builder' };
  const model = world.model(CODEX);
  expect(await world.headless(CODEX, 'hello there', { env })).toMatchObject({ code: 0 });
  const id = await send(world, 'agent://local/shop/builder', 'remember this through the summary');

  // A root key goes before the first table.
  writeFileSync(config, `model_auto_compact_token_limit = 15\n${readFileSync(config, 'utf8')}`);
  appendFileSync(join(world.project, 'notes.txt'), 'a file\n');
  model.clear();
  model.play([{ tools: [CODEX.shell('cat notes.txt')] }, { text: 'All done.' }]);
  expect(await world.headless(CODEX, 'long work', { env, resume: true })).toMatchObject({ code: 0 });
  const [first, last] = model.mainRequests();
  expect(framesIn(first!.body).map((frame) => [frame.id, frame.redelivery])).toEqual([[id, false]]);
  expect(findInRequest(last!.body, 'cat notes.txt').count, 'the tool call was summarised away').toBe(0);
  const again = framesIn(last!.body).filter((frame) => frame.id === id);
  expect(again.map((frame) => frame.redelivery)).toEqual([true]);
  await reached(world, id, 'presented');
});

// More than any model's context holds: Claude Code then summarises before its next request.
const TOO_MANY = 990_000;
const isSummary = ({ body }: ModelRequest): boolean => findInRequest(body, 'Respond with TEXT ONLY').count > 0;

test('what a turn was shown is shown again after Claude Code compacted in the middle of it, and then no more', async () => {
  world = await createWorld();
  await install(world);
  const model = world.model(CLAUDE);
  const tui = await openTui(world, CLAUDE);
  const say = async (prompt: string, answer: string): Promise<ModelRequest[]> => {
    await tui.prompt(prompt);
    await tui.see(answer);
    await tui.idle();
    return model.mainRequests();
  };
  model.play([{ text: 'Good morning.' }]);
  await say('hello there', 'Good morning.');
  const id = await send(world, addressOf(CLAUDE), 'remember this through the summary');

  const steps = [{ tools: [CLAUDE.shell('echo from the tool')], tokens: TOO_MANY }, { text: 'All done.' }];
  model.clear();
  model.play((request) => (isSummary(request) ? { text: '<summary>Some work.</summary>' } : steps.shift()));
  const requests = await say('long work', 'All done.');
  expect(requests.filter(isSummary).length, 'Claude Code summarised').toBeGreaterThan(0);
  expect(framesIn(requests[0]!.body).map((frame) => [frame.id, frame.redelivery])).toEqual([[id, false]]);
  const last = requests.at(-1)!;
  expect(findInRequest(last.body, 'from the tool').count, 'the tool call was summarised away').toBe(0);
  expect(framesIn(last.body).map((frame) => [frame.id, frame.redelivery])).toEqual([[id, true]]);
  await reached(world, id, 'presented');

  model.clear();
  model.play([{ text: 'Still here.' }]);
  const [next] = await say('and on', 'Still here.');
  expect(framesIn(next!.body).map((frame) => frame.offer)).toEqual(framesIn(last.body).map((frame) => frame.offer));
});
