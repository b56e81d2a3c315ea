import { afterEach, describe, expect, test } from 'vitest';
import { install, reached, send, statesOf } from './bus.ts';
import { CLIS } from './cli.ts';
import { framesIn, idsIn } from './frames.ts';
import { shortenTimeout, wrapLauncher } from './shim.ts';
import { createWorld, type World } from './world.ts';

let world: World;
afterEach(() => world.close());

describe.each(CLIS)('$name', (cli) => {
  test('a hook that the harness timed out after it printed counts as a miss, and its message is shown again', async () => {
    world = await createWorld(cli);
    await install(world);
    const model = world.model(cli);
    const shim = wrapLauncher(world);
    shortenTimeout(world, cli.harness, 'UserPromptSubmit');
    // A changed timeout voids Codex's trust.
    const extra = cli.harness === 'codex' ? ['--dangerously-bypass-hook-trust'] : [];
    const run = (prompt: string, resume: boolean) => world.headless(cli, prompt, { env: { AGENTBUS_AGENT: 'builder' }, resume, extra });
    await run('hello there', false);
    const id = await send(world, 'agent://local/shop/builder', 'hard to show');

    model.clear();
    shim.once('UserPromptSubmit', 'hang');
    expect(await run('carry on', true)).toMatchObject({ code: 0 });
    expect(shim.spent()).toBe(true);
    expect(idsIn(model.mainRequests())).toEqual([[]]);
    expect(await statesOf(world, id)).not.toContain('presented');

    model.clear();
    expect(await run('and on', true)).toMatchObject({ code: 0 });
    expect(idsIn(model.mainRequests())).toEqual([[id]]);
    expect(framesIn(model.mainRequests()[0]!.body)[0]).toMatchObject({ redelivery: true });
    await reached(world, id, 'presented');
  });
});
