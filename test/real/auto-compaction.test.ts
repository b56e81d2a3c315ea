import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { findInRequest } from '../lab/find.ts';
import { install, reached, send } from './bus.ts';
import { CODEX } from './cli.ts';
import { framesIn } from './frames.ts';
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
