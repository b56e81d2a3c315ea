import { spawn } from 'node:child_process';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { installed, type Installed, type Ran } from '../support/installed.ts';

const BIN = new URL('../../bin/agentbus.mjs', import.meta.url).pathname;
let world: Installed;
beforeAll(() => {
  world = installed();
});
afterAll(() => world.close());

function run(...words: string[]): Promise<Ran> {
  const child = spawn(process.execPath, [BIN, ...words], { env: world.env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString('utf8')));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString('utf8')));
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err })));
}

it('a daemon that does not answer is neither taken for none nor asked twice', async () => {
  const me = world.json<{ address: string }>(['whoami']).address;
  const pid = world.daemonPid()!;
  process.kill(pid, 'SIGSTOP');
  try {
    for (const ran of await Promise.all([
      run('send', me, 'once'),
      run('daemon', 'stop'),
      run('daemon', 'start'),
      run('daemon', 'status'),
    ])) {
      expect(ran).toMatchObject({ code: 1, out: '' });
      expect(ran.err).toContain(`AB-3006 the daemon (pid ${pid}) did not answer within`);
    }
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  // It may have taken the call up after all.
  const { entries } = world.json<{ entries: unknown[] }>(['inbox', '--all']);
  expect(entries.length).toBeLessThanOrEqual(1);
});
