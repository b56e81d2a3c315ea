import { existsSync, readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { locked } from '../../src/install/lock.ts';
import { sandbox } from './sandbox.ts';

test.each([null, '999999999 gone\n', '', 'not a lock'])('one at a time, also over a lock left behind as %j', async (left) => {
  const box = sandbox();
  if (left !== null) box.write('run/install.lock', left);
  let inside = 0;
  const most: number[] = [];
  const work = async (): Promise<void> => {
    most.push(++inside);
    await setImmediate();
    inside--;
  };
  await Promise.all(Array.from({ length: 8 }, () => locked(box.path('run'), work)));
  expect(most).toEqual(Array(8).fill(1));
  expect(existsSync(box.path('run/install.lock'))).toBe(false);
});

test('a failure gives the lock back', async () => {
  const box = sandbox();
  await expect(locked(box.path('run'), () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  await locked(box.path('run'), () => expect(readFileSync(box.path('run/install.lock'), 'utf8')).toContain(`${process.pid} `));
});
