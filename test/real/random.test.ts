import Database from 'better-sqlite3';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { install, send, trace } from './bus.ts';
import { CLIS } from './cli.ts';
import { framesIn, idsIn } from './frames.ts';
import { planTurn, seeded, type Turn } from './plan.ts';
import { type Shim, shortenTimeout, wrapLauncher } from './shim.ts';
import { playTurn, type Turns, turnsOf } from './turns.ts';
import { createWorld, type World } from './world.ts';

const SEED = Number(process.env['AGENTBUS_REAL_SEED'] ?? 1);
const TURNS = 30;

let world: World;
let turns: Turns | undefined;
afterEach(async () => {
  await turns?.close().catch(() => {});
  await world.close();
});

interface Offer {
  nonce: string;
  state: string;
  message: string;
}

/** The daemon's verdicts, straight from its store: the trace tells of messages, not of single shows. */
function verdicts(at: World): Offer[] {
  const store = new Database(join(at.busHome, 'agentbus.db'), { readonly: true });
  try {
    return store.prepare('SELECT o.nonce, o.state, i.id AS message FROM offers o JOIN inbox i ON i.seq = o.message').all() as Offer[];
  } finally {
    store.close();
  }
}

describe.each(CLIS)('$name', (cli) => {
  test(`in ${TURNS} random turns no show is wrongly called seen or missed (seed ${SEED})`, { timeout: 240_000 }, async () => {
    world = await createWorld(cli);
    await install(world, ['--no-mcp']);
    const shim: Shim = wrapLauncher(world);
    for (const event of cli.showing) shortenTimeout(world, cli.harness, event);
    const model = world.model(cli);
    const session = turnsOf(world, cli, {
      env: { AGENTBUS_AGENT: 'builder' },
      extra: cli.harness === 'codex' ? ['--dangerously-bypass-hook-trust'] : [],
    });
    turns = session;
    const sent: string[] = [];
    const random = seeded(SEED);

    const play = async (turn: Turn, name: string): Promise<void> => {
      const mail = async (at: number): Promise<void> => {
        for (const { answer, priority } of turn.sends) {
          if (answer === at) sent.push(await send(world, 'agent://local/shop/builder', `${name}, answer ${at}`, priority));
        }
      };
      if (turn.hook) shim.once(turn.hook.event, turn.hook.fault);
      await playTurn(model, session, turn, name, mail);
    };

    const calm = { hook: null, interrupt: null, sends: [] };
    await play({ ...calm, answers: [{ text: 'Good morning.' }] }, 'first turn');
    for (let at = 0; at < TURNS; at += 1) await play(planTurn(random, cli), `turn ${at}`);
    for (const name of ['a calm turn', 'another', 'the last'])
      await play({ ...calm, answers: [{ tools: [cli.shell('echo calm')] }] }, name);
    await session.close();
    turns = undefined;

    const seen = new Set(
      model.mainRequests().flatMap(({ body, blocks }) => (blocks > 0 ? framesIn(body).map((frame) => frame.offer) : [])),
    );
    const offers = verdicts(world);
    const count = (state: string): number => offers.filter((offer) => offer.state === state).length;
    const counts = ['presented', 'miss', 'unproven', 'accepted', 'open'].map((state) => `${count(state)} ${state}`);
    console.info(`${cli.name}, seed ${SEED}: ${sent.length} messages, ${offers.length} shows: ${counts.join(', ')}`);
    expect(
      offers.filter(({ nonce, state }) => state === 'presented' && !seen.has(nonce)),
      'false presented',
    ).toEqual([]);
    expect(
      offers.filter(({ nonce, state }) => state === 'miss' && seen.has(nonce)),
      'false miss',
    ).toEqual([]);
    const lists = idsIn(model.mainRequests());
    const twice = sent.flatMap((id, message) => {
      const request = lists.findIndex((ids) => ids.indexOf(id) !== ids.lastIndexOf(id));
      return request < 0 ? [] : [{ message, request }];
    });
    expect(twice, 'messages that stand twice in one request').toEqual([]);
    for (const id of sent) {
      const { steps } = await trace(world, id);
      const presented = steps.filter((step) => step.state === 'presented');
      const shown = offers.filter(({ message, state }) => message === id && state === 'presented');
      expect(presented.map((step) => step.detail?.['offer'])).toEqual(shown.map((offer) => offer.nonce));
      for (const { at, detail } of presented) {
        const answered = model.mainRequests().flatMap(({ body, startedAt }) => {
          return startedAt !== null && framesIn(body).some((frame) => frame.offer === detail!['offer']) ? [startedAt] : [];
        });
        expect(Date.parse(at), `${id} was called seen before any answer to it`).toBeGreaterThanOrEqual(Math.min(...answered));
      }
    }
    // Or else nothing was tested: faults did lose shows, and messages did arrive.
    expect(count('miss')).toBeGreaterThan(0);
    expect(count('presented')).toBeGreaterThan(5);
  });
});
