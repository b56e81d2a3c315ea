import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { isAlive } from '../../src/core/alive.ts';
import { until } from '../support/installed.ts';

test('this process is alive, and one that has ended is not', () => {
  expect(isAlive(process.pid)).toBe(true);
  expect(isAlive(spawnSync('true').pid)).toBe(false);
});

test.skipIf(!existsSync('/proc/self/stat'))('one that has ended and was never collected is not', async () => {
  // The shell becomes a program that collects no children.
  const parent = spawn('/bin/sh', ['-c', 'exec 3<&0; cat <&3 & echo $!; exec sleep 600'], { stdio: ['pipe', 'pipe', 'ignore'] });
  try {
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(String(line));
    await until('the shell is no shell any more', () => readFileSync(`/proc/${parent.pid}/comm`, 'utf8') === 'sleep\n');
    expect(isAlive(pid)).toBe(true);
    parent.stdin.end();
    await until('it has ended', () => !isAlive(pid));
    expect(existsSync(`/proc/${pid}`)).toBe(true);
  } finally {
    parent.kill('SIGKILL');
  }
});
