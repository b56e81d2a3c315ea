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

// Seconds without progress that end the daemon, and seconds without work after which the thread sleeps
// until there is some: it is not woken at every hook.
const STALLED = 10;
const IDLE = 5;

// state[0]: at work; [1]: how often work began; [2]: the thread sleeps; [3]: never changes.
const SOURCE = `
const { workerData } = require('node:worker_threads');
const state = new Int32Array(workerData.buffer);
let seen = -1, stalled = 0, idle = 0;
for (;;) {
  Atomics.wait(state, 3, 0, 1000);
  const busy = Atomics.load(state, 0) === 1, count = Atomics.load(state, 1);
  stalled = busy && count === seen ? stalled + 1 : 0;
  idle = !busy && count === seen ? idle + 1 : 0;
  seen = count;
  if (stalled >= workerData.stalled) process.kill(process.pid, 'SIGKILL');
  if (idle < workerData.idle) continue;
  Atomics.store(state, 2, 1);
  Atomics.wait(state, 1, seen);
  Atomics.store(state, 2, 0);
  idle = 0;
}
`;

export function startWatchdog(): Watchdog {
  const buffer = new SharedArrayBuffer(16);
  const state = new Int32Array(buffer);
  const worker = new Worker(SOURCE, {
    eval: true,
    workerData: { buffer, stalled: STALLED, idle: IDLE },
    resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1 },
  });
  worker.unref();
  worker.on('error', () => {});

  function guard<T>(fn: () => T): T {
    Atomics.store(state, 0, 1);
    Atomics.add(state, 1, 1);
    if (Atomics.load(state, 2) === 1) Atomics.notify(state, 1);
    try {
      return fn();
    } finally {
      Atomics.store(state, 0, 0);
    }
  }

  return { guard };
}
