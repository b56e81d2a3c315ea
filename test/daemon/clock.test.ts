import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { openBus, type Bus } from '../../src/daemon/bus.ts';
import { sendMessage } from '../../src/daemon/messages.ts';
import { claude } from '../../src/harness/claude/harness.ts';
import { handleHook } from '../../src/hook/handle.ts';

// The wall clock is moved while a session lives: set back by a time service, forward by a laptop that slept.
const HOUR = 3_600_000;
let bus: Bus;
let count = 0;
afterEach(() => bus.close());

async function world(): Promise<{
  clock: { now: number };
  hook(event: string, fields?: object): string;
  send(data: string): Promise<string>;
}> {
  const base = join(process.env['HOME']!, `clock-${(count += 1)}`);
  const cwd = join(base, 'shop');
  mkdirSync(join(cwd, '.git'), { recursive: true });
  const home = join(base, 'bus');
  mkdirSync(home);
  const clock = { now: Date.parse('2026-10-10T14:00:00Z') };
  bus = await openBus({ home, userHome: base, now: () => clock.now });
  const hook = (event: string, fields: object = {}): string =>
    handleHook(
      bus,
      claude,
      { session_id: 's', transcript_path: join(base, '.claude/projects/p/s.jsonl'), cwd, hook_event_name: event, ...fields },
      event === 'SessionStart' ? { CLAUDE_CODE_SESSION_ATTENDED: '1' } : null,
    );
  hook('SessionStart', { source: 'startup' });
  const to = bus.store.instance('claude', 's')!.address;
  return { clock, hook, send: async (data) => (await sendMessage(bus, { address: bus.person, instance: null }, { to, data })).id };
}

it('set back: what was sent before and after is shown, in order, and the session keeps its address', async () => {
  const { clock, hook, send } = await world();
  const before = await send('before');
  clock.now -= 2 * HOUR;
  const after = await send('after');
  const shown = hook('UserPromptSubmit', { prompt: 'hi' });
  expect(shown.indexOf(before)).toBeGreaterThan(0);
  expect(shown.indexOf(after)).toBeGreaterThan(shown.indexOf(before));
  expect(bus.store.instance('claude', 's')!.state).toBe('busy');
});

it('set forward by a day of sleep: nothing is lost, and the session is still who it was', async () => {
  const { clock, hook, send } = await world();
  const id = await send('good night');
  const address = bus.store.instance('claude', 's')!.address;
  clock.now += 20 * HOUR;
  expect(hook('UserPromptSubmit', { prompt: 'good morning' })).toContain(id);
  expect(bus.store.instance('claude', 's')!.address).toBe(address);
});

it('set forward past the expiry: the message is not shown any more, and counts as expired', async () => {
  const { clock, hook, send } = await world();
  const id = await send('old news');
  clock.now += 8 * 24 * HOUR;
  expect(hook('UserPromptSubmit', { prompt: 'hi' })).toBe('');
  const row = bus.store.inboxMessage(id)!;
  expect(bus.store.expireInbox(clock.now).map((each) => each.id)).toEqual([row.id]);
  expect(bus.store.inboxMessage(id)!.state).toBe('expired');
});
