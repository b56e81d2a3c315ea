import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { installed, until, type Installed } from '../support/installed.ts';
import { contextOf, fakeClaude, type FakeClaude } from '../support/sessions.ts';

/**
 * Messages under load while the daemon is killed again and again and the harness refuses some output.
 * The oracle is the harness's side: what it accepted and answered. Every message whose send gave an id
 * must have been accepted, or still be there to be shown; none may be called presented that was not.
 */
const SEED = Number(process.env['CHAOS_SEED'] ?? 7);
const MESSAGES = Number(process.env['CHAOS_MESSAGES'] ?? 60);
const BIN = new URL('../../bin/agentbus.mjs', import.meta.url).pathname;

function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 0x1_0000_0000;
  };
}

let world: Installed;
beforeAll(() => {
  world = installed();
});
afterAll(() => world.close());

function send(to: string, text: string, priority: string): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(process.execPath, [BIN, 'send', '--json', '--priority', priority, to, text], { env: world.env }, (_error, stdout) => {
      try {
        resolve((JSON.parse(stdout) as { id?: string }).id ?? null);
      } catch {
        resolve(null);
      }
    });
  });
}

interface Party {
  session: FakeClaude;
  address: string;
  accepted: Set<string>;
}

function idsIn(output: string): string[] {
  return [...contextOf(output).matchAll(/<agentbus-message id="(msg_[0-9A-Z]{26})"/g)].map((match) => match[1]!);
}

let turn = 0;
/** One turn of a session: prompt, perhaps a tool, stop; each output accepted, or refused as by a time-out. */
async function liveTurn({ session, accepted }: Party, random: () => number, refuses: boolean): Promise<string[]> {
  const prompt = `turn ${++turn}`;
  const events: [string, Record<string, unknown>][] = [['UserPromptSubmit', { prompt, prompt_id: prompt }]];
  if (random() < 0.6) events.push(['PostToolUse', { tool_name: 'Bash', tool_input: { command: 'ls' }, tool_use_id: `toolu_${turn}` }]);
  events.push(['Stop', { stop_hook_active: false }]);
  const shown: string[] = [];
  for (const [event, fields] of events) {
    const ran = await world.hook('claude', event, session.payload(event, fields), { env: session.env });
    expect(ran.code).toBe(0);
    const ids = idsIn(ran.out);
    shown.push(...ids);
    if (ids.length > 0 && refuses && random() < 0.3) session.refuse(event, prompt);
    else {
      session.accept(event, prompt, ran.out);
      for (const id of ids) accepted.add(id);
    }
  }
  return shown;
}

it('loses nothing and claims nothing false while the daemon is killed under load', async () => {
  const random = generator(SEED);
  const parties: Party[] = [];
  for (let n = 0; n < 3; n++) {
    const session = fakeClaude(world, { AGENTBUS_AGENT: `party-${n}` });
    const line = contextOf((await session.start()).out);
    parties.push({ session, address: /agent:\/\/\S+[a-z0-9]/.exec(line)![0], accepted: new Set() });
  }

  const sent = new Map<string, Party>();
  let busy = true;
  let kills = 0;
  async function senders(): Promise<void> {
    for (let n = 0; n < MESSAGES; n++) {
      const to = parties[Math.floor(random() * parties.length)]!;
      const id = await send(to.address, `message ${n}`, random() < 0.4 ? 'high' : 'normal');
      if (id !== null) sent.set(id, to);
    }
  }
  async function killer(): Promise<void> {
    while (busy) {
      const next = Date.now() + 400 + random() * 800;
      while (busy && Date.now() < next) await new Promise((resolve) => setTimeout(resolve, 20));
      rmSync(`${world.bus}/run/last-start`, { force: true });
      const pid = world.daemonPid();
      try {
        if (busy && pid !== null) process.kill(pid, 'SIGKILL');
        kills++;
      } catch {
        // It is dead already.
      }
    }
  }
  async function receiver(party: Party): Promise<void> {
    while (busy) await liveTurn(party, random, true);
  }
  const others = [killer(), ...parties.map(receiver)];
  await senders();
  busy = false;
  await Promise.all(others);
  expect(kills).toBeGreaterThan(5);
  expect(sent.size).toBeGreaterThan(MESSAGES / 2);

  // Quiet now: turns go on until nothing new is shown, and everything has its verdict.
  for (const party of parties) {
    let quiet = 0;
    for (let n = 0; n < 60 && quiet < 3; n++) quiet = (await liveTurn(party, random, false)).length === 0 ? quiet + 1 : 0;
  }
  type Trace = { state: string; steps: { state: string; detail: { reason?: string } }[] };
  const problems: string[] = [];
  for (const [id, party] of sent) {
    const trace = await until(`a verdict for ${id}`, () => {
      const found = world.json<Trace>(['trace', id]);
      return ['presented', 'read', 'replied'].includes(found.state) || found.steps.some((step) => step.state === 'unproven') ? found : null;
    });
    const claimed = trace.steps.some((step) => step.state === 'presented');
    if (claimed && !party.accepted.has(id)) problems.push(`${id} is called presented, and never was`);
    if (!party.accepted.has(id) && trace.state === 'presented') problems.push(`${id} was lost`);
    if (party.accepted.has(id) && !claimed)
      problems.push(
        `${id} was seen, and is ${trace.state}: ${JSON.stringify(trace.steps.map((step) => [step.state, step.detail.reason]))}`,
      );
  }
  for (const party of parties) {
    const missing = [...sent].filter(([id, to]) => to === party && !party.accepted.has(id));
    if (missing.length > 0) problems.push(`never shown: ${missing.map(([id]) => id).join(' ')}`);
  }
  expect(problems).toEqual([]);
});
