import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { Json, ModelRequest } from '../lab/model.ts';
import { addressOf, install, joined, reached, send } from './bus.ts';
import { CLIS, waitFor } from './cli.ts';
import { framesIn, idsIn } from './frames.ts';
import { openTui } from './tui.ts';
import { createWorld, type World } from './world.ts';

let world: World;
afterEach(() => world.close());

const claudes = CLIS.filter((cli) => cli.harness === 'claude');
const TASK = 'SUBTASK: look around';

/** A subagent's conversation begins with its task, the main one has it only inside a tool call. */
function isSubagent(request: ModelRequest): boolean {
  return JSON.stringify((request.body['messages'] as Json[])[0]).includes(TASK);
}

function has(request: ModelRequest, id: string): boolean {
  return framesIn(request.body).some((frame) => frame.id === id);
}

describe.each(claudes)('$name', (cli) => {
  test('a message that comes while a subagent works goes into the main conversation, never into the subagent’s', async () => {
    world = await createWorld(cli);
    await install(world);
    const model = world.model(cli);
    const released = join(world.root, 'released');
    let started = false;
    let inside = 0;
    model.play((request) => {
      if (isSubagent(request)) return inside++ === 0 ? { tools: [cli.shell(waitFor(released))] } : { text: 'Looked around.' };
      if (started) return { text: 'All is done.' };
      started = true;
      const tools = (request.body['tools'] as { name: string }[]).map((tool) => tool.name);
      const name = tools.includes('Task') ? 'Task' : 'Agent';
      return {
        tools: [{ name, input: { description: 'look', prompt: TASK, subagent_type: 'general-purpose', run_in_background: false } }],
      };
    });
    const tui = await openTui(world, cli);
    await tui.prompt('hello there');
    await model.until(() => model.mainRequests().some((request) => isSubagent(request) && request.done), 'the subagent’s tool call');
    const id = await send(world, addressOf(cli), 'not for the subagent', 'urgent');
    writeFileSync(released, '');
    await model.until(
      () => model.mainRequests().some((request) => !isSubagent(request) && request.done && has(request, id)),
      'it in the main conversation',
    );
    await tui.idle();
    expect(model.mainRequests().filter((request) => isSubagent(request)).length).toBeGreaterThan(1);
    expect(model.mainRequests().some((request) => isSubagent(request) && has(request, id))).toBe(false);
    await reached(world, id, 'presented');
  });

  test('a fork beside its living original has an address of its own', async () => {
    world = await createWorld(cli);
    await install(world);
    const model = world.model(cli);
    const original = await openTui(world, cli);
    const say = async (tui: typeof original, prompt: string, answer: string): Promise<void> => {
      model.play([{ text: answer }]);
      await tui.prompt(prompt);
      await tui.see(answer);
      await tui.idle();
    };
    await say(original, 'hello there', 'Good morning.');
    await joined(world, [addressOf(cli)]);
    const fork = await openTui(world, cli, { args: ['--continue', '--fork-session'] });
    await say(fork, 'hello from the fork', 'Hello, fork.');
    await joined(world, [addressOf(cli), addressOf(cli, 2)]);
    const ids = [await send(world, addressOf(cli), 'for the original'), await send(world, addressOf(cli, 2), 'for the fork')];
    for (const [at, tui] of [original, fork].entries()) {
      model.clear();
      await say(tui, 'anything new?', `Mail ${at}.`);
      expect(idsIn(model.mainRequests())).toEqual([[ids[at]]]);
      await reached(world, ids[at]!, 'presented');
    }
  });
});
