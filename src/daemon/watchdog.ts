import { Worker } from 'node:worker_threads';

/**
 * Ends a daemon whose loop has stalled, so that the next hook can start a fresh one. The thread counts
 * its own one-second ticks, and only while something is at work: a sleeping laptop is no stall, and an
 * idle daemon costs nothing.
 */
export interface Watchdog {
  /** Runs `fn` under watch. */
  guard<T>(fn: () => T): T;
}

const TICKS = 10;

const SOURCE = `
const { workerData } = require('node:worker_threads');
const state = new Int32Array(workerData.buffer);
for (;;) {
  Atomics.wait(state, 0, 0);
  const seen = Atomics.load(state, 1);
  let ticks = 0;
  while (Atomics.load(state, 0) === 1 && Atomics.load(state, 1) === seen && ticks < workerData.ticks) {
    Atomics.wait(state, 0, 1, 1000);
    ticks++;
  }
  if (Atomics.load(state, 0) === 1 && Atomics.load(state, 1) === seen && ticks >= workerData.ticks) process.kill(process.pid, 'SIGKILL');
}
`;

export function startWatchdog(): Watchdog {
  const buffer = new SharedArrayBuffer(8);
  const state = new Int32Array(buffer);
  const worker = new Worker(SOURCE, {
    eval: true,
    workerData: { buffer, ticks: TICKS },
    resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1 },
  });
  worker.unref();
  worker.on('error', () => {});

  function guard<T>(fn: () => T): T {
    Atomics.add(state, 1, 1);
    Atomics.store(state, 0, 1);
    Atomics.notify(state, 0);
    try {
      return fn();
    } finally {
      Atomics.store(state, 0, 0);
      Atomics.notify(state, 0);
    }
  }

  return { guard };
}
