import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { findInRequest } from '../lab/find.ts';
import type { ModelRequest } from '../lab/model.ts';
import { addressOf, install, reached, send } from './bus.ts';
import { CLIS, CODEX } from './cli.ts';
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

// More than any model's context holds. 2.1.332 summarises before its next request, 2.1.197 when that is refused.
const TOO_MANY = 990_000;
const REFUSED = { status: 400, error: 'prompt is too long: 1010000 tokens > 1000000 maximum' };
const isSummary = ({ body }: ModelRequest): boolean => findInRequest(body, 'Respond with TEXT ONLY').count > 0;

test.each(CLIS.filter((cli) => cli.harness === 'claude'))(
  'what a turn was shown is shown again after $name compacted in the middle of it, and then no more',
  async (cli) => {
    world = await createWorld(cli);
    await install(world);
    const model = world.model(cli);
    const tui = await openTui(world, cli);
    const say = async (prompt: string, answer: string): Promise<ModelRequest[]> => {
      await tui.prompt(prompt);
      await tui.see(answer);
      await tui.idle();
      return model.mainRequests();
    };
    model.play([{ text: 'Good morning.' }]);
    await say('hello there', 'Good morning.');
    const id = await send(world, addressOf(cli), 'remember this through the summary');

    const refusals = [REFUSED];
    const steps = [{ tools: [cli.shell('echo from the tool')], tokens: TOO_MANY }, { text: 'All done.' }];
    model.clear();
    model.play((request) => {
      if (isSummary(request)) return { text: '<summary>Some work.</summary>' };
      const full = findInRequest(request.body, 'from the tool').count > 0;
      return (full && refusals.shift()) || steps.shift();
    });
    const requests = await say('long work', 'All done.');
    expect(requests.filter(isSummary).length, 'Claude Code summarised').toBeGreaterThan(0);
    expect(framesIn(requests[0]!.body).map((frame) => [frame.id, frame.redelivery])).toEqual([[id, false]]);
    const last = requests.at(-1)!;
    // 2.1.197 keeps the last tool call beside its summary.
    if (cli.version !== '2.1.197') expect(findInRequest(last.body, 'from the tool').count, 'the tool call was summarised away').toBe(0);
    expect(framesIn(last.body).map((frame) => [frame.id, frame.redelivery])).toEqual([[id, true]]);
    await reached(world, id, 'presented');

    model.clear();
    model.play([{ text: 'Still here.' }]);
    const [next] = await say('and on', 'Still here.');
    expect(framesIn(next!.body).map((frame) => frame.offer)).toEqual(framesIn(last.body).map((frame) => frame.offer));
  },
);
