import { afterEach, expect, test } from 'vitest';
import { LIMITS } from '../../src/core/limits.ts';
import type { Script, Step } from '../lab/model.ts';
import { addressOf, install } from './bus.ts';
import { CLAUDE, type Cli, CODEX } from './cli.ts';
import { framesIn } from './frames.ts';
import { openTui } from './tui.ts';
import { until } from './wait.ts';
import { createWorld, type World } from './world.ts';

let world: World;
afterEach(() => world.close());

/** A model that answers every message it is shown, for ever. */
function answersAll(cli: Cli): Script {
  const answered = new Set<string>();
  return ({ body }) => {
    const frame = framesIn(body).find(({ id }) => !answered.has(id));
    if (!frame) return { text: 'Answered all.' };
    answered.add(frame.id);
    return { tools: [cli.busTool('reply', { message_id: frame.id, text: `and to that: ${frame.id}` })] };
  };
}

interface Agent {
  address: string;
  presence: string;
  unread: number;
  brake: string | null;
}

async function agents(): Promise<Agent[]> {
  return (await world.ask<{ agents: Agent[] }>(['agents'])).agents;
}

test(
  'two woken models that answer each other for ever are stopped, visibly, and a person’s prompt lets them go on',
  { timeout: 400_000 },
  async () => {
    world = await createWorld();
    await world.agentbus(['config', 'set', 'claude.push', 'wake']);
    await world.agentbus(['config', 'set', 'codex.push', 'queue']);
    await install(world, ['--approve-send']);
    const tuis = { claude: await openTui(world, CLAUDE), codex: await openTui(world, CODEX) };
    const say = async (cli: Cli, prompt: string, steps: Step[]): Promise<void> => {
      world.model(cli).play([...steps, { text: `${prompt}: done.` }]);
      await tuis[cli.harness].prompt(prompt);
      await tuis[cli.harness].see(`${prompt}: done.`);
      await tuis[cli.harness].idle();
      world.model(cli).clear();
    };
    await say(CLAUDE, 'hello', []);
    world.model(CLAUDE).play(answersAll(CLAUDE));
    await say(CODEX, 'begin', [{ tools: [CODEX.busTool('send', { to: addressOf(CLAUDE), text: 'your turn' })] }]);
    world.model(CODEX).play(answersAll(CODEX));

    const braked = await until(
      async () => {
        const all = await agents();
        const stopped = all.find(({ brake, unread }) => brake !== null && unread > 0);
        return stopped && all.every(({ presence }) => presence !== 'busy') && stopped;
      },
      async () => `a brake: ${JSON.stringify(await agents())}`,
      300_000,
    );
    const turns = [CLAUDE, CODEX].map((cli) => world.model(cli).mainRequests().length / 2);
    for (const count of turns) expect(count).toBeLessThanOrEqual(LIMITS.stopExtensionsPerPrompt + 1);
    expect(turns[0]! + turns[1]!).toBeGreaterThanOrEqual(LIMITS.stopExtensionsPerPrompt);
    expect((await world.agentbus(['status'])).stdout).toMatch(/loop brake on for [12]/);

    const stopped = [CLAUDE, CODEX].find((cli) => addressOf(cli) === braked.address)!;
    world.model(stopped).clear();
    await tuis[stopped.harness].prompt('what came meanwhile?');
    await world
      .model(stopped)
      .until((model) => model.mainRequests().some(({ body }) => framesIn(body).length > 0), 'the message that was held');
    await until(async () => (await agents()).find(({ address }) => address === braked.address)?.brake === null, 'the brake to be lifted');
  },
);
