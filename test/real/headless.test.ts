import { afterEach, describe, expect, test } from 'vitest';
import { addressOf, install, send, statesOf } from './bus.ts';
import { type Cli, CLIS } from './cli.ts';
import { comparable, withoutLine } from './compare.ts';
import { openTui } from './tui.ts';
import { createWorld, type World } from './world.ts';

let world: World;
afterEach(() => world.close());

/** A session with one tool call, and all it sent and printed. */
async function session(cli: Cli, env: Record<string, string> = {}) {
  const model = world.model(cli);
  model.clear();
  model.play([{ tools: [cli.shell('echo one')] }, { text: 'The session is done.' }]);
  const { code, stdout } = await world.headless(cli, 'hello there', { env });
  const { requests, lines } = withoutLine(model.requests);
  return { code, stdout, requests: comparable(requests), lines };
}

describe.each(CLIS)('$name', (cli) => {
  test('an unnamed headless run takes no waiting message and asks its model what it asks without AgentBus', async () => {
    world = await createWorld(cli);
    const without = await session(cli);
    expect(without).toMatchObject({ code: 0, lines: 0, stdout: expect.stringContaining('The session is done.') });
    await install(world, ['--no-mcp']);
    const tui = await openTui(world, cli);
    world.model(cli).play([{ text: 'Good morning.' }]);
    await tui.prompt('hello there');
    await tui.see('Good morning.');
    await tui.close();
    const id = await send(world, addressOf(cli), 'for the person at the terminal', 'urgent');
    expect(await session(cli)).toEqual(without);
    expect(await statesOf(world, id)).not.toContain('presented');
  });

  test('a named session with an empty inbox differs by the line of its start alone', async () => {
    world = await createWorld(cli);
    const without = await session(cli);
    await install(world, ['--no-mcp']);
    const named = await session(cli, { AGENTBUS_AGENT: 'builder' });
    expect(named).toEqual({ ...without, lines: without.requests.length });
  });
});
