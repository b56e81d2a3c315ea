// What the MCP server costs: start-up, a tool's round trip and memory, each against a minimal server of the
// same SDK in the same run, alternating; and how many tokens its tools take from a model. Prints tables;
// asserts nothing. `npm run bench:mcp [rounds]`.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';

const rounds = Number(process.argv[2] ?? 250);
const root = new URL('../..', import.meta.url).pathname;
const base = mkdtempSync(join(tmpdir(), 'ab-mcp-'));
const home = join(base, 'home');
const bus = join(home, '.agentbus');
const project = join(base, 'shop');
mkdirSync(home);
mkdirSync(join(project, '.git'), { recursive: true });
const env = { HOME: home, AGENTBUS_HOME: bus, PATH: process.env.PATH, AGENTBUS_NO_AUTO_JOIN: '1' };
const agentbus = (...words) => execFileSync(process.execPath, [join(root, 'bin/agentbus.mjs'), ...words], { env, encoding: 'utf8' });

/** The floor: one tool that answers with what it got, bundled as ours is. */
const MINIMAL = `
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
const server = new Server({ name: 'minimal', version: '1' }, { capabilities: { tools: {} } });
const echo = { name: 'echo', inputSchema: { type: 'object', properties: { text: { type: 'string' } } } };
server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: [echo] }));
server.setRequestHandler(CallToolRequestSchema, async ({ params }) => ({ content: [{ type: 'text', text: String(params.arguments?.text) }] }));
await server.connect(new StdioServerTransport());
`;
const minimal = join(base, 'minimal.mjs');
await build({
  stdin: { contents: MINIMAL, resolveDir: root },
  outfile: minimal,
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  format: 'esm',
  legalComments: 'none',
  mainFields: ['module', 'main'],
  banner: { js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);" },
});

const session = '11111111-2222-4333-8444-555555555555';
const claude = { CLAUDECODE: '1', CLAUDE_CODE_SESSION_ID: session, CLAUDE_CODE_SESSION_ATTENDED: '1', CLAUDE_CODE_ENTRYPOINT: 'cli' };
const SERVERS = { minimal: [process.execPath, minimal], agentbus: [join(bus, 'bin/agentbus-mcp'), 'claude'] };

/** A started server; `ready` once it has answered `initialize`. */
function start(name) {
  const [command, ...args] = SERVERS[name];
  const begun = performance.now();
  const child = spawn(command, args, { env: { ...env, ...claude }, cwd: project, stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting = new Map();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line);
    waiting.get(message.id)?.(message.result);
  });
  let id = 0;
  const call = (method, params = {}) =>
    new Promise((resolve) => {
      waiting.set(++id, resolve);
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    });
  const ready = call('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'bench', version: '1' } });
  return { child, call, ready: ready.then((result) => ({ result, ms: performance.now() - begun })) };
}

function stop({ child }) {
  const gone = new Promise((resolve) => child.on('exit', resolve));
  child.stdin.end();
  setTimeout(() => child.kill(), 2_000).unref();
  return gone;
}

function daemon(path, body) {
  const token = readFileSync(join(bus, 'run/token'), 'utf8').trim();
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath: join(bus, 'run/control.sock'), path, method: 'POST', headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk) => (text += chunk));
      response.on('end', () => (response.statusCode === 200 ? resolve(JSON.parse(text)) : reject(new Error(text))));
    });
    sent.on('error', reject);
    sent.end(JSON.stringify(body));
  });
}

const quantile = (list, q) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * q))];
const number = (value, digits = 1) => value.toFixed(digits).padStart(9);
const rss = ({ child }) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))[1]) / 1024;

async function startUp(times) {
  const took = { 'node -e 0': [], minimal: [], agentbus: [] };
  for (let n = 0; n < times; n++) {
    const begun = performance.now();
    await new Promise((resolve) => spawn(process.execPath, ['-e', '0'], { env, stdio: 'ignore' }).on('exit', resolve));
    took['node -e 0'].push(performance.now() - begun);
    for (const name of Object.keys(SERVERS)) {
      const server = start(name);
      took[name].push((await server.ready).ms);
      await stop(server);
    }
  }
  console.log(`start-up, spawn to the answer of initialize (${times} rounds)\n                 median ms    p95 ms   to minimal`);
  const floor = quantile(took.minimal, 0.5);
  for (const [name, list] of Object.entries(took))
    console.log(
      `${name.padEnd(16)} ${number(quantile(list, 0.5))} ${number(quantile(list, 0.95))} ${number(quantile(list, 0.5) / floor, 2)}`,
    );
}

async function roundTrips() {
  // Each pair of agents may exchange 30 messages a minute.
  const peers = await Promise.all(
    Array.from({ length: Math.ceil(rounds / 12) }, async (_, n) => {
      const program = `peer-${n}`;
      const { address } = await daemon('/connect', { program, session: program, cwd: project, pid: process.pid });
      const { id } = await daemon('/task/send', { caller: { harness: program, session: program }, to: own, instructions: 'work' });
      return { address, task: id };
    }),
  );
  const peer = (n) => peers[n % peers.length];
  const tools = {
    find_agent: (n) => ({ query: `peer-${n % peers.length}` }),
    send: (n) => ({ to: peer(n).address, text: `message ${n}` }),
    inbox: () => ({ action: 'list' }),
    task_progress: (n) => ({ task_id: peer(n).task, note: `step ${n}` }),
  };
  const servers = { minimal: start('minimal'), agentbus: start('agentbus') };
  for (const server of Object.values(servers)) await server.ready;
  const before = Object.values(servers).map(rss);
  const took = Object.fromEntries(['echo', ...Object.keys(tools)].map((name) => [name, []]));
  for (let n = 0; n < rounds; n++) {
    for (const [name, args] of Object.entries(tools)) {
      const begun = performance.now();
      await servers.minimal.call('tools/call', { name: 'echo', arguments: { text: 'x'.repeat(100) } });
      took.echo.push(performance.now() - begun);
      const call = performance.now();
      const result = await servers.agentbus.call('tools/call', { name, arguments: args(n) });
      took[name].push(performance.now() - call);
      if (result.isError) throw new Error(`${name}: ${result.content[0].text}`);
    }
  }
  console.log(`\ntool round trip (${rounds} rounds, alternating)\n                 p50 ms    p99 ms    to echo`);
  const floor = quantile(took.echo, 0.5);
  for (const [name, list] of Object.entries(took))
    console.log(
      `${name.padEnd(14)} ${number(quantile(list, 0.5), 2)} ${number(quantile(list, 0.99), 2)} ${number(quantile(list, 0.5) / floor, 1)}`,
    );
  const after = Object.values(servers).map(rss);
  console.log(`\nRSS MB           started  after ${rounds * 4} calls`);
  Object.keys(servers).forEach((name, at) => console.log(`${name.padEnd(14)} ${number(before[at])} ${number(after[at])}`));

  const { tools: list } = await servers.agentbus.call('tools/list');
  const { result } = await servers.agentbus.ready;
  console.log('\nwhat a model is given   bytes   about tokens (bytes / 4)');
  for (const [name, text] of [
    [`${list.length} tools`, JSON.stringify(list)],
    ['instructions', result.instructions],
  ]) {
    const bytes = Buffer.byteLength(text);
    console.log(`${name.padEnd(22)} ${String(bytes).padStart(6)} ${String(Math.round(bytes / 4)).padStart(8)}`);
  }
  for (const server of Object.values(servers)) await stop(server);
}

let own = '';
try {
  agentbus('install', '--harness', 'claude');
  const settings = JSON.parse(readFileSync(join(home, '.claude/settings.json'), 'utf8'));
  const hook = settings.hooks.SessionStart.at(-1).hooks.at(-1).command;
  const transcript = join(home, '.claude/projects/shop/x.jsonl');
  const payload = { session_id: session, transcript_path: transcript, cwd: project, hook_event_name: 'SessionStart', source: 'startup' };
  const out = execFileSync('/bin/sh', ['-c', hook], {
    env: { ...env, ...claude, CLAUDE_PID: String(process.pid) },
    cwd: project,
    input: JSON.stringify(payload),
  });
  own = /agent:\/\/[a-z0-9/.-]*[a-z0-9]/.exec(out.toString())[0];
  console.log(`Node ${process.version}; "minimal" is a server of the same SDK with one tool, bundled alike\n`);
  await startUp(30);
  await roundTrips();
} finally {
  agentbus('daemon', 'stop');
  rmSync(base, { recursive: true, force: true, maxRetries: 5 });
}
