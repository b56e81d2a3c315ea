/**
 * Imported first: on this process's stdout nothing but JSON-RPC may appear, and it must not outlive
 * its client. console.* goes to stderr; stdin's end, a broken pipe or a new parent end the process.
 */
for (const method of ['log', 'info', 'debug', 'trace', 'warn', 'error', 'dir'] as const) {
  console[method] = (...words: unknown[]) => void process.stderr.write(`${words.map(String).join(' ')}\n`);
}

function leave(): never {
  process.exit(0);
}

// ms. Whoever closes our input may still read: calls under way are answered first.
const LAST_ANSWERS = 800;
let calls = 0;
let ended = false;

/** A call that the process stays for, for a moment, when its input ends meanwhile. */
export function underWay<T>(call: Promise<T>): Promise<T> {
  calls++;
  return call.finally(() => {
    if (--calls === 0 && ended) setImmediate(leave);
  });
}

function end(): void {
  ended = true;
  if (calls === 0) leave();
  setTimeout(leave, LAST_ANSWERS);
}

process.stdin.on('end', end);
process.stdin.on('close', end);
process.stdout.on('error', leave);
process.stderr.on('error', () => {});
process.on('uncaughtException', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') leave();
  process.stderr.write(`agentbus mcp: ${error.message}\n`);
});

// A client killed behind a wrapper leaves our stdin open in somebody else's hands.
const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) leave();
}, 500).unref();
