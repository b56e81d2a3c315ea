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

process.stdin.on('end', leave);
process.stdin.on('close', leave);
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
