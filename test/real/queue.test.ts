import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { findInRequest } from '../lab/find.ts';
import { addressOf, install, reached, send } from './bus.ts';
import { CODEX } from './cli.ts';
import { idsIn } from './frames.ts';
import { openTui } from './tui.ts';
import { createWorld, type World } from './world.ts';

let world: World;
afterEach(() => world.close());

/** The thread of the only session, by the name of its record. */
function threadId(): string {
  const records = readdirSync(join(world.codexHome, 'sessions'), { recursive: true, encoding: 'utf8' });
  return /rollout-.*?([0-9a-f]{8}-[0-9a-f-]{27})\.jsonl$/.exec(records.find((name) => name.endsWith('.jsonl'))!)![1]!;
}

test('text that `codex queue` puts into an idle session is a prompt, which takes a message along, once', async () => {
  world = await createWorld();
  await install(world);
  const model = world.model(CODEX);
  const tui = await openTui(world, CODEX);
  model.play([{ text: 'Good morning.' }]);
  await tui.prompt('hello there');
  await tui.see('Good morning.');
  await tui.idle();
  const id = await send(world, addressOf(CODEX), 'waiting for a prompt');

  const queue = async (text: string, answer: string): Promise<void> => {
    model.clear();
    model.play([{ text: answer }]);
    const ran = await world.start(CODEX, ['queue', '--thread', threadId(), '--message', text]).ended;
    expect(ran).toMatchObject({ code: 0 });
    await tui.see(answer);
    await tui.idle();
    expect(findInRequest(model.mainRequests()[0]!.body, text).count).toBe(1);
  };
  await queue('from outside', 'Taken from the queue.');
  expect(idsIn(model.mainRequests())).toEqual([[id]]);
  await reached(world, id, 'presented');
  await queue('once more from outside', 'And again.');
  expect(idsIn(model.mainRequests())).toEqual([[id]]);
});
