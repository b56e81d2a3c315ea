import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { installed, type Installed } from '../support/installed.ts';
import { contextOf, fakeClaude } from '../support/sessions.ts';

/** AGENTBUS_HOME on a small file system that is then filled to the last byte. Needs the right to mount. */
let world: Installed;
beforeAll(() => {
  world = installed({
    before: ({ bus }) => {
      mkdirSync(bus, { recursive: true, mode: 0o700 });
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=6m,mode=700', 'tmpfs', bus]);
    },
  });
});
afterAll(() => {
  world.agentbus(['daemon', 'stop']);
  execFileSync('umount', ['-l', world.bus]);
  world.close();
});

it('says so to who sends, stays silent in hooks, outlives it, and has lost nothing', async () => {
  const session = fakeClaude(world);
  const address = /agent:\/\/\S+[a-z0-9]/.exec(contextOf((await session.start()).out))![0];
  const { id } = world.json<{ id: string }>(['send', address, 'from before']);
  const pid = world.daemonPid();

  const filler = join(world.bus, 'filler');
  for (let size = 64 * 1024; size >= 1; size = Math.floor(size / 2)) {
    try {
      for (;;) writeFileSync(filler, Buffer.alloc(size), { flag: 'a' });
    } catch {
      // Full for this size; the rest with smaller pieces.
    }
  }
  for (let n = 0; n < 30; n++) expect(await session.prompt(`prompt ${n}`)).toEqual({ code: 0, out: '', err: '' });
  const refused = world.agentbus(['send', address, 'into the full disk']);
  expect(refused.code).not.toBe(0);
  expect(refused.err).toMatch(/^agentbus: AB-\d{4} [^\n]+\n {2}[^\n]+\n$/);
  expect(world.daemonPid()).toBe(pid);

  rmSync(filler);
  expect((await session.prompt('room again')).out).toContain(id);
  expect(world.json<{ state: string }>(['send', address, 'after']).state).toBe('delivered');
  expect(world.json<{ pid: number }>(['daemon', 'status']).pid).toBe(pid);
});
