import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { installed, until, type Installed } from '../support/installed.ts';
import { contextOf, fakeClaude } from '../support/sessions.ts';

/** Two daemons at the same moment, again and again, over what a stopped and what a killed one left behind. */
const ROUNDS = Number(process.env['CHAOS_ROUNDS'] ?? 50);
const BIN = new URL('../../bin/agentbus.mjs', import.meta.url).pathname;
const DAEMON = new URL('../../dist/daemon.mjs', import.meta.url).pathname;

let world: Installed;
beforeAll(() => {
  world = installed();
});
afterAll(() => world.close());

function processes(has: (pid: string) => boolean): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const found = pids.filter((pid) => {
    try {
      return has(pid);
    } catch {
      return false;
    }
  });
  return found.map(Number);
}

const daemons = (): number[] =>
  processes(
    (pid) =>
      readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('daemon.mjs') &&
      readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`AGENTBUS_HOME=${world.bus}`),
  );
const openers = (file: string): number[] =>
  processes((pid) => readdirSync(`/proc/${pid}/fd`).some((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`) === join(world.bus, file)));
const sockets = (): string[] => readdirSync(join(world.bus, 'run')).filter((name) => name.endsWith('.sock'));

/** As hooks start it: the process itself, whose loser ends well. */
async function startProcesses(): Promise<number> {
  const pair = [1, 2].map(() => spawn(process.execPath, [DAEMON], { env: world.env, cwd: '/', stdio: 'ignore' }));
  const ends = pair.map(async (child) => [child.pid!, (await once(child, 'exit'))[0] as number | null] as const);
  const [loser, code] = await Promise.race(ends);
  expect(code).toBe(0);
  return pair.find(({ pid }) => pid !== loser)!.pid!;
}

/** As people start it: each command says which daemon it got. */
async function startCommands(): Promise<number> {
  const start = async (): Promise<number> => {
    const { stdout } = await promisify(execFile)(process.execPath, [BIN, 'daemon', 'start', '--json'], { env: world.env });
    return (JSON.parse(stdout) as { pid: number }).pid;
  };
  const [one, other] = await Promise.all([start(), start()]);
  expect(one).toBe(other);
  return one;
}

it(`one of two wins and serves, ${ROUNDS} times`, async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const winner = await (round % 2 === 0 ? startProcesses() : startCommands());
    await until('the loser is gone', () => daemons().length === 1).catch((error: unknown) => {
      const log = readFileSync(join(world.bus, 'log', 'daemon.log'), 'utf8')
        .split('\n')
        .slice(-12)
        .join('\n');
      throw new Error(`round ${round}: winner ${winner}, running ${daemons().join(' ')}\n${log}`, { cause: error });
    });
    expect(daemons()).toEqual([winner]);
    const serving = await until('it serves', () => {
      const { out } = world.agentbus(['daemon', 'status', '--json']);
      return (JSON.parse(out) as { pid: number } | null)?.pid;
    });
    expect(serving).toBe(winner);
    for (const file of ['agentbus.db', 'hub.db', 'run/daemon.lock']) expect(openers(file)).toEqual([winner]);
    const session = fakeClaude(world, { AGENTBUS_AGENT: `winner-${round}` });
    await session.start();
    const { id } = world.json<{ id: string }>(['send', `winner-${round}`, 'who won?']);
    expect(contextOf((await session.prompt('hello')).out)).toContain(id);

    if (round % 4 < 2) process.kill(winner, 'SIGKILL');
    else expect(world.agentbus(['daemon', 'stop']).code).toBe(0);
    // Of a process that ends its command line goes first.
    await until('it has ended', () => daemons().length === 0 && openers('agentbus.db').length === 0);
    if (round % 4 >= 2) expect(sockets()).toEqual([]);
    rmSync(join(world.bus, 'run', 'last-start'), { force: true });
  }
});
