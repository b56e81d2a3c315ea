import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { addressOf, install, reached, send, statesOf } from './bus.ts';
import { CLAUDE, type Cli, CLIS, CODEX, waitFor } from './cli.ts';
import { framesIn, idsIn } from './frames.ts';
import { isAlive } from '../../src/core/alive.ts';
import { startedWithHome } from './process.ts';
import { openTui, type Tui } from './tui.ts';
import { until } from './wait.ts';
import { createWorld, type World } from './world.ts';

let world: World;
afterEach(() => world.close());

async function wakingWorld(cli: Cli, push: string): Promise<World> {
  world = await createWorld(cli);
  await world.agentbus(['config', 'set', `${cli.harness}.push`, push]);
  await install(world);
  return world;
}

async function say(cli: Cli, tui: Tui, prompt: string, answer: string): Promise<void> {
  world.model(cli).play([{ text: answer }]);
  await tui.prompt(prompt);
  await tui.see(answer);
  await tui.idle();
}

/** Waits until the session can be woken. */
async function wakeable(cli: Cli): Promise<void> {
  const badges = async (): Promise<string[]> => {
    const { agents } = await world.ask<{ agents: { address: string; presence: string; badges: string[] }[] }>(['agents']);
    const agent = agents.find(({ address }) => address === addressOf(cli));
    return agent?.presence === 'idle' ? agent.badges : [];
  };
  await until(async () => (await badges()).includes('wake'), 'the session to be wakeable');
}

/** Programs of ours that a session may have left behind. */
function waiters(): string[] {
  return startedWithHome(world.home)
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      } catch {
        return '';
      }
    })
    .filter((line) => /agentbus-wait|wake\.sock/.test(line));
}

/** A screen without the mark that blinks at a running tool. */
function still(screen: string): string {
  return screen.replaceAll('●', ' ').trim();
}

const WAYS: [string, Cli, string][] = [
  ['claude, wake', CLAUDE, 'wake'],
  ['codex, queue', CODEX, 'queue'],
  ['codex, steer', CODEX, 'steer'],
];

describe.each(WAYS)('%s', (_name, cli, push) => {
  test('an idle session starts a turn by itself, is shown the message once, and keeps what was typed', async () => {
    await wakingWorld(cli, push);
    const model = world.model(cli);
    const tui = await openTui(world, cli);
    await say(cli, tui, 'hello there', 'Good morning.');
    await wakeable(cli);
    model.clear();
    model.play([{ text: 'I was woken.' }]);
    await tui.type('half a thought');
    const id = await send(world, addressOf(cli), 'wake up');
    await tui.see('I was woken.');
    await tui.idle();
    await reached(world, id, 'presented');
    expect((await statesOf(world, id)).slice(0, 4)).toEqual(['accepted', 'delivered', 'woke', 'offered']);
    expect(idsIn(model.mainRequests())).toEqual([[id]]);
    expect(await tui.screen()).toMatch(/^\s*[❯›]\shalf a thought\s*$/m);
    // The prompt goes out as it was typed, and no further turn was waiting behind the woken one.
    model.play([{ text: 'A whole thought.' }]);
    await tui.press('Enter');
    await tui.see('A whole thought.');
    expect(model.mainRequests()).toHaveLength(2);
    expect(idsIn(model.mainRequests()).at(-1)).toEqual([id]);
  });
});

test.each(WAYS)('%s: off, an idle session stays idle', async (_name, cli) => {
  await wakingWorld(cli, 'off');
  const model = world.model(cli);
  const tui = await openTui(world, cli);
  await say(cli, tui, 'hello there', 'Good morning.');
  model.clear();
  const { id, seen } = await world.ask<{ id: string; seen: string }>(['send', addressOf(cli), 'no hurry', '--priority', 'urgent']);
  expect(seen).toBe('idle: at the next prompt');
  await reached(world, id, 'delivered');
  // A second session's whole turn is time enough for a wake.
  await say(cli, await openTui(world, cli), 'hello too', 'Good evening.');
  expect(model.mainRequests()).toHaveLength(1);
  expect(await statesOf(world, id)).toEqual(['accepted', 'delivered']);
});

test('claude: woken before its first prompt, and after /clear under the same address', async () => {
  await wakingWorld(CLAUDE, 'wake');
  const model = world.model(CLAUDE);
  const tui = await openTui(world, CLAUDE);
  await wakeable(CLAUDE);
  model.play([{ text: 'Woken at once.' }]);
  const first = await send(world, addressOf(CLAUDE), 'before anything');
  await tui.see('Woken at once.');
  await reached(world, first, 'presented');
  await tui.idle();
  await tui.command('/clear');
  await until(async () => !(await tui.screen()).includes('Woken at once.'), 'the cleared screen');
  await wakeable(CLAUDE);
  model.clear();
  model.play([{ text: 'Woken after it.' }]);
  const second = await send(world, addressOf(CLAUDE), 'after the clear');
  await tui.see('Woken after it.');
  await reached(world, second, 'presented');
  expect(idsIn(model.mainRequests())).toEqual([[second]]);
});

test('claude: an open permission dialog is left alone, and the message follows when the turn is over', async () => {
  await wakingWorld(CLAUDE, 'wake');
  const model = world.model(CLAUDE);
  const tui = await openTui(world, { ...CLAUDE, interactive: ['--permission-mode', 'default'] });
  await say(CLAUDE, tui, 'hello there', 'Good morning.');
  await wakeable(CLAUDE);
  const touched = join(world.root, 'touched');
  model.play([{ tools: [CLAUDE.shell(`touch '${touched}'`)] }, { text: 'It is touched.' }, { text: 'And read.' }]);
  await tui.prompt('touch it');
  const asked = await tui.see(/Do you want to proceed/);
  const id = await send(world, addressOf(CLAUDE), 'in between');
  // Whoever is at the dialog sees what they saw.
  const other = await openTui(world, CLAUDE);
  await say(CLAUDE, other, 'hello too', 'It is touched.');
  expect(still(await tui.screen())).toBe(still(asked));
  expect(await statesOf(world, id)).toEqual(['accepted', 'delivered']);
  expect(existsSync(touched)).toBe(false);
  model.play([{ text: 'It is touched.' }, { text: 'And read.' }]);
  await tui.press('Enter');
  await tui.see('And read.');
  await reached(world, id, 'presented');
});

test('claude: nothing of ours is left after /exit, nor after a kill', async () => {
  await wakingWorld(CLAUDE, 'wake');
  for (const end of ['exit', 'kill']) {
    const tui = await openTui(world, CLAUDE);
    await say(CLAUDE, tui, 'hello there', `Good ${end}.`);
    await until(
      () => waiters().length === 3,
      () => `one waiter: ${waiters().join('; ')}`,
    );
    const pid = await tui.pid();
    if (end === 'exit') await tui.exit();
    else process.kill(pid, 'SIGKILL');
    await until(() => !isAlive(pid), 'the end of the session');
    await until(
      () => waiters().length === 0,
      () => `no waiter: ${waiters().join('; ')}`,
    );
  }
});

describe.each(CLIS.filter((cli) => cli.harness === 'claude'))('$name', (cli) => {
  test('a run without a person ends by itself with the waiters installed, and leaves none', async () => {
    await wakingWorld(cli, 'wake');
    // Entries that an update of Claude Code found, or that a person put there, are met by older versions too.
    const file = join(world.claudeHome, 'settings.json');
    if (!readFileSync(file, 'utf8').includes('agentbus-wait')) {
      const settings = JSON.parse(readFileSync(file, 'utf8')) as { hooks: Record<string, object[]> };
      const command = `'${world.busHome}/bin/agentbus-wait' claude 2>/dev/null; [ $? -eq 86 ] && exit 2; exit 0`;
      for (const event of ['SessionStart', 'Stop'])
        settings.hooks[event]!.push({ matcher: '', hooks: [{ type: 'command', command, timeout: 86_400, asyncRewake: true }] });
      writeFileSync(file, JSON.stringify(settings));
    }
    world.model(cli).play([{ text: 'All done.' }]);
    const ran = await world.headless(cli, 'do it', { timeout: 30_000 });
    expect([ran.code, ran.stdout.trim()]).toEqual([0, 'All done.']);
    expect(waiters()).toEqual([]);
  });
});

test('codex, steer: a high message enters the running turn, and a normal one waits', async () => {
  await wakingWorld(CODEX, 'steer');
  const model = world.model(CODEX);
  const tui = await openTui(world, CODEX);
  await say(CODEX, tui, 'hello there', 'Good morning.');
  const released = join(world.root, 'released');
  model.clear();
  model.play([{ tools: [CODEX.shell(waitFor(released))] }, { text: 'Read within the turn.' }]);
  await tui.prompt('run it');
  await model.until(() => model.mainRequests()[0]?.done, 'the tool call');
  const normal = await send(world, addressOf(CODEX), 'no hurry');
  const id = await send(world, addressOf(CODEX), 'hurry', 'high');
  await reached(world, id, 'woke');
  writeFileSync(released, '');
  await tui.see('Read within the turn.');
  await reached(world, id, 'presented');
  expect(await statesOf(world, normal)).not.toContain('woke');
  expect(framesIn(model.mainRequests()[1]!.body).filter((frame) => frame.id === id)).toHaveLength(1);
});

test('codex, steer: an open approval is left alone', async () => {
  await wakingWorld(CODEX, 'steer');
  const model = world.model(CODEX);
  const tui = await openTui(world, CODEX);
  await say(CODEX, tui, 'hello there', 'Good morning.');
  const touched = join(world.root, 'touched');
  const input = { cmd: `touch '${touched}'`, sandbox_permissions: 'require_escalated', justification: 'To see whether it can be asked.' };
  model.play([{ tools: [{ name: 'exec_command', input }] }, { text: 'It is touched.' }]);
  await tui.prompt('touch it');
  const asked = await tui.see('To see whether it can be asked.');
  const id = await send(world, addressOf(CODEX), 'in between', 'urgent');
  const { log } = { log: join(world.busHome, 'log/daemon.log') };
  await until(() => readFileSync(log, 'utf8').includes('it was not taken'), 'the refusal');
  expect(await tui.screen()).toBe(asked);
  expect(await statesOf(world, id)).toEqual(['accepted', 'delivered']);
  expect(existsSync(touched)).toBe(false);
  await tui.press('y');
  await tui.see('It is touched.');
  await reached(world, id, 'presented');
});
