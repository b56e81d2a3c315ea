import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Cli } from './cli.ts';
import { isAlive } from '../../src/core/alive.ts';
import { until } from './wait.ts';
import type { World } from './world.ts';

const exec = promisify(execFile);

/** Screens that a CLI may show before its prompt, with the keys that get past them. */
const DIALOGS: Record<Cli['harness'], { screen: RegExp; keys: string[] }[]> = {
  claude: [],
  codex: [
    { screen: /Hooks need review[\s\S]*Trust all and continue/, keys: ['2'] },
    { screen: /Do you trust the contents of this directory/, keys: ['1', 'Enter'] },
  ],
};

const READY: Record<Cli['harness'], RegExp> = { claude: /^\s*❯\s/m, codex: /^\s*›\s/m };

export interface Tui {
  /** The visible screen. */
  screen(): Promise<string>;
  see(text: RegExp | string, deadline?: number): Promise<string>;
  /** tmux key names: `Enter`, `Escape`, `C-c`, … */
  press(...keys: string[]): Promise<void>;
  /** Types text into the input box, without sending it. */
  type(text: string): Promise<void>;
  /** Types a prompt and sends it. */
  prompt(text: string): Promise<void>;
  /** Types a slash command and sees it taken. */
  command(text: string): Promise<void>;
  /** Waits until no turn runs any more. */
  idle(): Promise<void>;
  /** Empties the input box. */
  clear(): Promise<void>;
  /** The pid of the CLI. */
  pid(): Promise<number>;
  /** Ends Claude Code by its own command, and waits until it is gone. */
  exit(): Promise<void>;
  close(): Promise<void>;
}

export interface TuiOptions {
  env?: Record<string, string>;
  args?: string[];
}

let count = 0;

/**
 * Starts the interactive program in a tmux server of the world's own, on a socket in its folder, and
 * gets it to its prompt. The server ends with the world, like all programs in it.
 */
export async function openTui(world: World, cli: Cli, options: TuiOptions = {}): Promise<Tui> {
  const socket = join(world.root, 'tmux');
  const tmux = async (...args: string[]): Promise<string> => {
    const { stdout } = await exec('tmux', ['-S', socket, '-f', '/dev/null', ...args], { env: world.env() });
    return stdout;
  };
  const session = `s${(count += 1)}`;
  const env = Object.entries(world.env(options.env)).map(([key, value]) => `${key}=${value}`);
  const size = ['-x', '150', '-y', '50'];
  // As separate words tmux starts the program itself, with no shell between.
  const program = ['env', '-i', ...env, 'COLUMNS=', cli.bin, ...cli.interactive, ...(options.args ?? [])];
  await tmux('new-session', '-d', '-s', session, ...size, '-c', world.project, ...program);
  const screen = (): Promise<string> => tmux('capture-pane', '-p', '-t', session);
  const press = async (...keys: string[]): Promise<void> => {
    await tmux('send-keys', '-t', session, ...keys);
  };
  const see = async (text: RegExp | string, deadline?: number): Promise<string> => {
    const there = (shown: string): boolean => (typeof text === 'string' ? shown.includes(text) : text.test(shown));
    return await until(
      async () => {
        const shown = await screen();
        return there(shown) && shown;
      },
      async () => `${text} on the screen:\n${await screen()}`,
      deadline,
    );
  };
  const pid = async (): Promise<number> => Number(await tmux('display-message', '-p', '-t', session, '#{pane_pid}'));
  const type = async (text: string): Promise<void> => {
    await tmux('send-keys', '-t', session, '-l', text);
    await see(text.slice(-30));
  };
  /** The line that is typed into: the transcript above it shows what was sent behind the same sign. */
  const box = (shown: string): string => shown.split('\n').findLast((line) => READY[cli.harness].test(`${line}\n`)) ?? '';
  // An Enter that comes while the menu of commands opens completes the word, or is lost.
  const command = async (text: string, taken: () => boolean | Promise<boolean>): Promise<void> => {
    await type(text);
    await until(
      async () => {
        if (await taken()) return true;
        if (box(await screen().catch(() => '')).includes(text)) await press('Enter').catch(() => {});
        return false;
      },
      async () => `${text} in ${cli.name}:\n${await screen().catch(() => '')}`,
    );
  };
  // Each dialog once: a key pressed again would land in the prompt.
  const dialogs = [...DIALOGS[cli.harness]];
  await until(
    async () => {
      const shown = await screen();
      const at = dialogs.findIndex((dialog) => dialog.screen.test(shown));
      if (at >= 0) await press(...dialogs.splice(at, 1)[0]!.keys);
      return at < 0 && READY[cli.harness].test(shown) && !/^ +loading$/m.test(shown);
    },
    async () => `the prompt of ${cli.name}:\n${await screen()}`,
  );
  return {
    screen,
    see,
    press,
    type,
    async prompt(text) {
      await type(text);
      await press('Enter');
    },
    command: (text) => command(text, async () => !box(await screen()).includes(text)),
    idle: async () => {
      await until(
        async () => !/esc to interrupt/i.test(await screen()),
        async () => `the end of the turn:\n${await screen()}`,
      );
    },
    clear: () => press('C-u'),
    pid,
    async exit() {
      const own = await pid();
      await command('/exit', () => !isAlive(own));
    },
    close: async () => {
      await tmux('kill-session', '-t', session).catch(() => '');
    },
  };
}
