import Database from 'better-sqlite3';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { install } from './bus.ts';
import { type Cli, CLIS, waitFor } from './cli.ts';
import { type Shim, wrapLauncher } from './shim.ts';
import { isAlive } from '../../src/core/alive.ts';
import { until } from './wait.ts';
import { createWorld, type World } from './world.ts';

let world: World;
let undo: () => void = () => {};
afterEach(async () => {
  undo();
  undo = () => {};
  await world.close();
});

const FAULTS: Record<string, (world: World) => void> = {
  'the daemon is killed': (at) => process.kill(at.daemonPid()!, 'SIGKILL'),
  'the daemon is stopped': (at) => process.kill(at.daemonPid()!, 'SIGSTOP'),
  'the launcher is deleted': (at) => rmSync(join(at.busHome, 'bin'), { recursive: true }),
  'the store is locked by another process': (at) => {
    const store = new Database(join(at.busHome, 'agentbus.db'));
    store.exec('BEGIN EXCLUSIVE');
    undo = () => store.close();
  },
};

/** One session with a tool call in the middle, during which `meanwhile` happens. */
async function session(cli: Cli, meanwhile: () => void): Promise<unknown> {
  const model = world.model(cli);
  const released = join(world.root, 'released');
  rmSync(released, { force: true });
  model.clear();
  model.play([{ tools: [cli.shell(waitFor(released))] }, { text: 'The session is done.' }]);
  const ending = world.headless(cli, 'hello there', { env: { AGENTBUS_AGENT: 'builder' } });
  await model.until(() => model.mainRequests()[0]?.done, 'the tool call to be sent');
  meanwhile();
  writeFileSync(released, '');
  const { code, signal, stdout } = await ending;
  return { code, signal, stdout };
}

describe.each(CLIS)('$name', (cli) => {
  test.each(Object.keys(FAULTS))('%s: the session ends as without AgentBus, and no hook takes long', async (fault) => {
    world = await createWorld(cli);
    const without = await session(cli, () => {});
    expect(without).toMatchObject({ code: 0, stdout: expect.stringContaining('The session is done.') });
    await install(world, ['--no-mcp']);
    const shim: Shim = wrapLauncher(world);
    await world.agentbus(['daemon', 'start']);
    // Once in the middle of a session, and once as things stand when a session starts.
    expect(await session(cli, () => FAULTS[fault]!(world))).toEqual(without);
    expect(await session(cli, () => {})).toEqual(without);
    expect(shim.times().length).toBeGreaterThan(1);
    expect(shim.times().filter(({ ms }) => ms > 2_500)).toEqual([]);
  });

  test('a daemon killed in mid-session is started again by the hooks that follow', async () => {
    world = await createWorld(cli);
    await install(world, ['--no-mcp']);
    await world.agentbus(['daemon', 'start']);
    const killed = world.daemonPid()!;
    await session(cli, () => process.kill(killed, 'SIGKILL'));
    const now = await until(
      () => {
        const pid = world.daemonPid();
        return pid !== null && pid !== killed && isAlive(pid) && pid;
      },
      'another daemon',
      5_000,
    );
    expect(now).not.toBe(killed);
  });
});
