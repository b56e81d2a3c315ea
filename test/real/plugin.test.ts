import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { addressOf, reached, send } from './bus.ts';
import { CLIS } from './cli.ts';
import { expectExact, framesIn } from './frames.ts';
import { openTui } from './tui.ts';
import { createWorld, type World } from './world.ts';

const MARKETPLACE = fileURLToPath(new URL('../../plugins/claude', import.meta.url));

let world: World;
afterEach(() => world.close());

test.each(CLIS.filter((cli) => cli.harness === 'claude').map((cli) => [cli.name, cli] as const))(
  '%s takes AgentBus as a plugin: hooks, tools and the skill',
  async (_name, claude) => {
    world = await createWorld(claude);
    mkdirSync(join(world.home, '.agentbus'), { recursive: true, mode: 0o700 });
    const installed = await world.agentbus(['install', '--harness', 'claude', '--plugin']);
    expect([installed.code, installed.stdout]).toEqual([0, expect.stringContaining(`claude plugin marketplace add ${MARKETPLACE}`)]);
    for (const words of [
      ['plugin', 'marketplace', 'add', MARKETPLACE],
      ['plugin', 'install', 'agentbus@agentbus'],
    ]) {
      const ran = await world.start(claude, words).ended;
      expect([ran.code, ran.stdout + ran.stderr]).toEqual([0, expect.any(String)]);
    }
    const model = world.model(claude);
    model.play([{ text: 'Here.' }]);
    const tui = await openTui(world, claude);
    await tui.prompt('hello');
    await tui.see('Here.');
    expect(JSON.stringify(model.mainRequests()[0]!.body)).toContain('agentbus:agentbus');

    const id = await send(world, addressOf(claude), 'by the plugin');
    model.clear();
    let answered = false;
    model.play(({ body }) => {
      const frame = framesIn(body)[0];
      if (answered || !frame) return { text: 'Told them.' };
      answered = true;
      return { tools: [{ name: 'mcp__plugin_agentbus_agentbus__reply', input: { message_id: frame.id, text: 'seen' } }] };
    });
    await tui.prompt('anything new?');
    await tui.see('Told them.');
    const frames = framesIn(model.mainRequests()[0]!.body);
    expect(frames.map((frame) => frame.id)).toEqual([id]);
    expectExact(frames[0]!, 'by the plugin');
    await reached(world, id, 'replied');

    // Never both: while the plugin is on, its entries are not merged as well.
    const merged = await world.agentbus(['install', '--harness', 'claude']);
    expect([merged.code, merged.stderr]).toEqual([1, expect.stringContaining('AB-2008')]);
    const doctor = await world.agentbus(['doctor', '--harness', 'claude']);
    expect(doctor.stdout).toContain('plugin');
  },
);
