import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { addressOf, install, reached, send } from './bus.ts';
import { CLIS, waitFor } from './cli.ts';
import { expectExact, framesIn, idsIn } from './frames.ts';
import { openTui } from './tui.ts';
import { gate } from './wait.ts';
import { createWorld, type World } from './world.ts';

let world: World;
afterEach(() => world.close());

describe.each(CLIS)('$name', (cli) => {
  test('messages stand in the next request: at a prompt, during a tool call, at a stop', async () => {
    world = await createWorld(cli);
    await install(world);
    const model = world.model(cli);
    const released = join(world.root, 'released');
    const streaming = gate();
    model.play([
      { text: 'Good morning.' },
      { tools: [cli.shell(waitFor(released))] },
      { text: 'The tool is done,\nand so am I.', middle: streaming.opened },
      { text: 'All three read.' },
    ]);
    const tui = await openTui(world, cli);
    await tui.prompt('hello there');
    await tui.see('Good morning.');

    const texts = ['before the prompt', 'during the <tool> call', 'while "the answer" streams'];
    const ids = [await send(world, addressOf(cli), texts[0]!)];
    await tui.prompt('carry on');
    await model.until(() => model.mainRequests()[1]?.done, 'the tool call to be sent');
    ids.push(await send(world, addressOf(cli), texts[1]!, 'high'));
    writeFileSync(released, '');
    await tui.see('The tool is done');
    ids.push(await send(world, addressOf(cli), texts[2]!, 'high'));
    streaming.open();
    await tui.see('All three read.');

    const requests = model.mainRequests();
    expect(idsIn(requests)).toEqual([[], ids.slice(0, 1), ids.slice(0, 2), ids]);
    for (const [at, frame] of framesIn(requests[3]!.body).entries()) expectExact(frame, texts[at]);
    for (const id of ids) expect((await reached(world, id, 'presented')).detail).toMatchObject({ evidence: expect.any(String) });
  });

  test('a headless session with a name of its own takes its messages', async () => {
    world = await createWorld(cli);
    await install(world);
    const model = world.model(cli);
    const env = { AGENTBUS_AGENT: 'builder' };
    expect(await world.headless(cli, 'hello there', { env })).toMatchObject({ code: 0 });
    const id = await send(world, 'agent://local/shop/builder', 'for the builder');
    model.clear();
    expect(await world.headless(cli, 'carry on', { env, resume: true })).toMatchObject({ code: 0 });
    expect(idsIn(model.mainRequests())).toEqual([[id]]);
    expectExact(framesIn(model.mainRequests()[0]!.body)[0]!, 'for the builder');
    await reached(world, id, 'presented');
  });
});
