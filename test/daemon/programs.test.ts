import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callDaemon } from '../../src/daemon/client.ts';
import { LIMITS } from '../../src/core/limits.ts';
import { codeOfAsync } from '../core/codes.ts';
import { installed, until, type Installed } from '../support/installed.ts';
import { framesIn, program, type Program } from '../support/programs.ts';

let world: Installed;

beforeAll(() => {
  world = installed();
  world.agentbus(['daemon', 'start']);
});
afterAll(() => world.close());

const send = (to: string, text: string, ...more: string[]): string => world.json<{ id: string }>(['send', to, text, ...more]).id;
const states = (id: string): string[] => world.json<{ steps: { state: string }[] }>(['trace', id]).steps.map(({ state }) => state);

describe('a program that speaks the local surface', () => {
  it('joins, is shown what waits, says that it was seen, and its sender knows', async () => {
    const bot = await program(world, 'bot');
    expect(bot.address).toBe('agent://local/shop/bot');
    const id = send('shop/bot', 'hello bot');
    expect(await bot.unread(null)).toMatchObject({ unread: 1, text: '', offers: [] });
    const shown = await bot.unread('prompt', true);
    expect(framesIn(shown.text)).toEqual([{ id, redelivery: false }]);
    expect(shown.offers).toEqual([{ id, offer: expect.stringMatching(/^[a-z0-9]{12}$/) as unknown }]);
    // Until it says so, nothing claims that it was seen, and it is not shown twice.
    expect(states(id)).not.toContain('presented');
    expect((await bot.unread('prompt', true)).offers).toEqual([]);
    await bot.call('/inject-ack', { presented: [shown.offers[0]!.offer] });
    await until('presented', () => states(id).includes('presented'));
    await bot.call('/inject-ack', { read: [id] });
    await until('read', () => states(id).includes('read'));
    expect(world.json<{ agents: { address: string; harness: string; presence: string }[] }>(['agents']).agents).toContainEqual(
      expect.objectContaining({ address: bot.address, harness: 'bot', presence: 'idle' }),
    );
  });

  it('is shown again, marked, what it says was missed, and what it was shown before it died', async () => {
    const bot = await program(world, 'twice');
    const id = send('shop/twice', 'again');
    const [first] = (await bot.unread('prompt')).offers;
    await bot.call('/inject-ack', { missed: [first!.offer] });
    expect(framesIn((await bot.unread('prompt')).text)).toEqual([{ id, redelivery: true }]);
    const reborn = await program(world, 'twice');
    expect(reborn.address).toBe(bot.address);
    expect(framesIn((await reborn.unread('prompt')).text)).toEqual([{ id, redelivery: true }]);
    await until('both ends of it', () => states(id).includes('missed') && states(id).includes('unproven'));
  });

  it('is shown between two calls of tools what is urgent, and at a stop one message', async () => {
    const bot = await program(world, 'busy');
    await bot.call('/turn', { state: 'started', human: true });
    send('shop/busy', 'can wait');
    const urgent = send('shop/busy', 'look now', '--priority', 'urgent');
    const high = send('shop/busy', 'before you stop', '--priority', 'high');
    const mid = await bot.unread('post-tool');
    expect(framesIn(mid.text).map(({ id }) => id)).toEqual([urgent]);
    await bot.call('/inject-ack', { presented: [mid.offers[0]!.offer] });
    const atStop = await bot.unread('stop');
    expect(framesIn(atStop.text).map(({ id }) => id)).toEqual([high]);
    await bot.call('/inject-ack', { presented: [atStop.offers[0]!.offer] });
    expect((await bot.unread('stop')).text).toBe('');
    await bot.call('/turn', { state: 'completed' });
    expect((await bot.call('/whoami'))['presence']).toBe('idle');
  });

  it('reports what it used', async () => {
    const bot = await program(world, 'meter');
    await bot.call('/usage', { model: 'some-model', input: 10, output: 5, usd: 0.01 });
    const { records } = world.json<{ records: Record<string, unknown>[] }>(['records']);
    expect(records).toContainEqual(
      expect.objectContaining({
        event: 'usage',
        agent: bot.address,
        'gen_ai.request.model': 'some-model',
        'gen_ai.usage.input_tokens': 10,
        cost_usd: 0.01,
      }),
    );
  });

  it('can neither take a coding CLI’s name nor answer for its hooks, nor for another program', async () => {
    expect(await codeOfAsync(program(world, 'claude'))).toBe('AB-7001');
    expect(await codeOfAsync(callDaemon(world.bus, '/unread', { caller: { person: true } }))).toBe('AB-1002');
    const [one, other] = [await program(world, 'one'), await program(world, 'other')];
    send('shop/one', 'x');
    const [offer] = (await one.unread('prompt')).offers;
    expect(await codeOfAsync(other.call('/inject-ack', { presented: [offer!.offer] }))).toBe('AB-7001');
    await one.call('/disconnect');
    expect(await codeOfAsync(one.unread('prompt'))).toBe('AB-1002');
  });
});

/** A model that answers whatever it is shown, for ever: at the end of a turn, or at prompts. */
async function answerAll(bot: Program, place: 'prompt' | 'stop', next: string, human = false): Promise<number> {
  if (place === 'prompt') await bot.call('/turn', { state: 'started', human });
  const shown = await bot.unread(place, human);
  if (shown.offers.length === 0) return 0;
  await bot.call('/inject-ack', { presented: shown.offers.map(({ offer }) => offer) });
  for (const { id } of shown.offers) {
    await bot.call('/send', { to: next, data: `answer to ${id}`, priority: 'high' });
    await bot.call('/inject-ack', { read: [id] });
  }
  // The turn that was extended ends, and the next begins by itself.
  if (place === 'stop') await bot.call('/turn', { state: 'started' });
  return shown.offers.length;
}

async function runAlone(bots: readonly Program[], place: 'prompt' | 'stop'): Promise<number> {
  for (let [shown, rounds] = [0, 0]; ; rounds++) {
    const before = shown;
    for (const [at, bot] of bots.entries()) shown += await answerAll(bot, place, bots[(at + 1) % bots.length]!.address);
    if (shown === before) return shown;
    if (rounds > 200) throw new Error('they never stop');
  }
}

describe.each([
  ['two', 2],
  ['three', 3],
])('%s models that answer each other for ever', (name, count) => {
  it('are stopped by the budget of extended stops, and the next prompt of a person lifts it', async () => {
    const bots = await Promise.all(Array.from({ length: count }, (_, n) => program(world, `stop-${name}-${n}`)));
    for (const bot of bots) await bot.call('/turn', { state: 'started', human: true });
    send(bots[0]!.address, 'start', '--priority', 'high');
    const shown = await runAlone(bots, 'stop');
    expect(shown).toBeGreaterThanOrEqual(LIMITS.stopExtensionsPerPrompt);
    expect(shown).toBeLessThanOrEqual(count * LIMITS.stopExtensionsPerPrompt);
    const waiting = world.json<{ agents: { address: string; unread: number }[] }>(['agents']).agents;
    expect(waiting.filter(({ address, unread }) => unread > 0 && bots.some((bot) => bot.address === address))).toHaveLength(1);
    let lifted = 0;
    for (const [at, bot] of bots.entries()) lifted += await answerAll(bot, 'prompt', bots[(at + 1) % count]!.address, true);
    expect(lifted).toBeGreaterThan(0);
    expect(await runAlone(bots, 'stop')).toBeGreaterThan(0);
  });

  it('are stopped by the hop limit where no person types, visibly, and a person’s prompt lifts it', async () => {
    const bots = await Promise.all(Array.from({ length: count }, (_, n) => program(world, `hop-${name}-${n}`)));
    send(bots[0]!.address, 'start');
    expect(await runAlone(bots, 'prompt')).toBe(LIMITS.maxHops);
    const [stuck] = (await Promise.all(bots.map(async (bot) => ({ bot, unread: (await bot.unread(null)).unread })))).filter(
      ({ unread }) => unread > 0,
    );
    const { entries } = await stuck!.bot.call<{ entries: { id: string }[] }>('/inbox');
    expect(states(entries[0]!.id)).toContain('held');
    const { notes } = await stuck!.bot.call<{ notes: string[] }>('/diagnose');
    expect(notes.join('\n')).toContain('Loop brake: 1 held');
    expect(world.agentbus(['agents']).out).toMatch(/idle, 1 held|busy, 1 held/);
    expect(world.agentbus(['status']).out).toContain('loop brake on for');
    await stuck!.bot.call('/turn', { state: 'started', human: true });
    expect(framesIn((await stuck!.bot.unread('prompt', true)).text)).toHaveLength(1);
  });
});
