import { afterEach, describe, expect, test } from 'vitest';
import { findInRequest } from '../lab/find.ts';
import { gate, until } from './wait.ts';
import { addressOf, install, reached, send, sessions, statesOf } from './bus.ts';
import { CLAUDE, type Cli, CLIS } from './cli.ts';
import { framesIn, idsIn } from './frames.ts';
import { openTui, type Tui } from './tui.ts';
import { isAlive } from '../../src/core/alive.ts';
import { createWorld, type World } from './world.ts';

const REVIEWER = 'agent://local/shop/reviewer';

let world: World;
afterEach(() => world.close());

const reviewer = (cli: Cli): Promise<Tui> => openTui(world, cli, { env: { AGENTBUS_AGENT: 'reviewer' } });

/** One turn, and the ids of the messages in each of its requests. */
async function say(tui: Tui, prompt: string, answer: string): Promise<string[][]> {
  const model = world.model(CLAUDE);
  model.clear();
  model.play([{ text: answer }]);
  await tui.prompt(prompt);
  await tui.see(answer);
  await tui.idle();
  return idsIn(model.mainRequests());
}

// A Codex session is named by `agentbus join` alone.
describe.each(CLIS.filter((cli) => cli.harness === 'claude'))('$name', (cli) => {
  test('the second session of a name is shown nothing until the first has ended', async () => {
    world = await createWorld(cli);
    await install(world);
    const first = await reviewer(cli);
    await say(first, 'hello there', 'Here is the first.');
    expect(findInRequest(world.model(cli).mainRequests()[0]!.body, `AgentBus connected as ${REVIEWER}`).count).toBe(1);
    const second = await reviewer(cli);
    await say(second, 'hello to you', 'Here is the second.');
    expect(findInRequest(world.model(cli).mainRequests()[0]!.body, 'AgentBus connected as').count).toBe(0);

    const ours = await send(world, REVIEWER, 'for who holds the name', 'urgent');
    expect(await say(second, 'anything new?', 'Nothing for the second.')).toEqual([[]]);
    expect(await statesOf(world, ours)).not.toContain('offered');
    expect(await say(first, 'anything new?', 'Mail for the first.')).toEqual([[ours]]);
    await reached(world, ours, 'presented');

    await first.exit();
    const next = await send(world, REVIEWER, 'for its heir', 'urgent');
    expect(await say(second, 'and now?', 'Mail for the second.')).toEqual([[next]]);
    await reached(world, next, 'presented');
  });

  test('a session that takes the name over is shown what comes, and the one that had it nothing more', async () => {
    world = await createWorld(cli);
    await install(world);
    const first = await reviewer(cli);
    await say(first, 'hello there', 'Here is the first.');
    const second = await reviewer(cli);
    await say(second, 'hello to you', 'Here is the second.');
    const waiting = await send(world, REVIEWER, 'sent before');

    const model = world.model(cli);
    model.play([{ tools: [cli.shell('agentbus join --as reviewer --take-over')] }, { text: 'The name is mine.' }]);
    await second.prompt('take it over');
    await second.see('The name is mine.');
    await second.idle();
    const after = await send(world, REVIEWER, 'sent afterwards');
    expect(await say(first, 'anything new?', 'Nothing for the first.')).toEqual([[]]);
    expect(await say(second, 'anything new?', 'Mail for the second.')).toEqual([[waiting, after]]);
    await reached(world, after, 'presented');
    await send(world, REVIEWER, 'and more', 'urgent');
    expect(await say(first, 'still nothing?', 'Still nothing.')).toEqual([[]]);
  });
});

test('a session that is killed leaves its place to the next: unread mail, and marked what nobody answered', async () => {
  world = await createWorld();
  await install(world);
  const model = world.model(CLAUDE);
  const first = await openTui(world, CLAUDE);
  await say(first, 'hello there', 'Here is the first.');
  const seen = await send(world, addressOf(CLAUDE), 'seen, never answered');
  const never = gate();
  model.clear();
  model.play([{ text: 'Too late.', before: never.opened }]);
  await first.prompt('read this');
  await model.until(() => model.mainRequests()[0], 'the request that nobody answers');
  expect(idsIn(model.mainRequests())).toEqual([[seen]]);
  const pid = await first.pid();
  process.kill(pid, 'SIGKILL');
  await until(() => !isAlive(pid), 'its death');
  never.open();
  const unread = await send(world, addressOf(CLAUDE), 'sent to the dead');

  const second = await openTui(world, CLAUDE);
  await say(second, 'hello', 'Here is the heir.');
  const frames = framesIn(model.mainRequests()[0]!.body).map(({ id, redelivery }) => `${id} ${redelivery}`);
  expect(frames.toSorted()).toEqual([`${seen} true`, `${unread} false`].toSorted());
  expect(await sessions(world)).toEqual([addressOf(CLAUDE)]);
  await reached(world, seen, 'presented');
  await reached(world, unread, 'presented');
  expect(await say(second, 'anything else?', 'Nothing else.')).toEqual([[seen, unread]]);
});
