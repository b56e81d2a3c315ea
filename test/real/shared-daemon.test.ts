import { afterEach, expect, test } from 'vitest';
import { addressOf, install, joined, send } from './bus.ts';
import { CODEX } from './cli.ts';
import { findInRequest } from '../lab/find.ts';
import { idsIn } from './frames.ts';
import { openTui } from './tui.ts';
import { createWorld, type World } from './world.ts';

let world: World;
afterEach(() => world.close());

// Codex's TUIs share one daemon, whose hooks carry the environment of the first TUI.
test('two Codex sessions with different environments keep their own addresses', async () => {
  world = await createWorld();
  await install(world);
  const model = world.models.codex;
  const names = ['alpha', 'beta'];
  const tuis = [];
  for (const name of names) {
    const tui = await openTui(world, CODEX, { env: { AGENTBUS_AGENT: name } });
    model.play([{ text: `Here is ${name}.` }]);
    await tui.prompt(`hello ${name}`);
    await tui.see(`Here is ${name}.`);
    tuis.push(tui);
  }
  await joined(world, [addressOf(CODEX), addressOf(CODEX, 2)]);
  const ids = [await send(world, addressOf(CODEX), 'for the first'), await send(world, addressOf(CODEX, 2), 'for the second')];
  for (const [at, tui] of tuis.entries()) {
    model.clear();
    model.play([{ text: `Read by ${names[at]}.` }]);
    await tui.prompt('anything new?');
    await tui.see(`Read by ${names[at]}.`);
    expect(findInRequest(model.mainRequests()[0]!.body, `hello ${names[at]}`).count).toBe(1);
    expect(idsIn(model.mainRequests())).toEqual([[ids[at]]]);
  }
});
