// Preloaded into a process for which no time passes: what ends by a clock alone never ends.
const now = Date.now();
const { setTimeout: real } = globalThis;
Date.now = () => now;
globalThis.setTimeout = (run, ms, ...rest) =>
  ms < 1000 ? real(run, ms, ...rest) : { ref() {}, unref() {}, [Symbol.toPrimitive]: () => 0 };
