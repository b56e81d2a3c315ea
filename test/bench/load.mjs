// The daemon under load and with a full store: 20 hooks at once, 0, 10,000 and 1,000,000 stored messages,
// send to visible, memory and CPU at rest. Prints tables; asserts nothing. `npm run bench:load [messages]`.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const most = Number(process.argv[2] ?? 1_000_000);
const root = new URL('../..', import.meta.url).pathname;
const base = mkdtempSync(join(tmpdir(), 'ab-load-'));
const home = join(base, 'home');
const bus = join(home, '.agentbus');
mkdirSync(home);
const env = { HOME: home, AGENTBUS_HOME: bus, PATH: process.env.PATH, AGENTBUS_NO_AUTO_JOIN: '1' };
const agentbus = (...words) => execFileSync(process.execPath, [join(root, 'bin/agentbus.mjs'), ...words], { env, encoding: 'utf8' });
agentbus('install', '--harness', 'claude', '--no-mcp');
const settings = JSON.parse(readFileSync(join(home, '.claude/settings.json'), 'utf8'));
const command = (event) => settings.hooks[event].at(-1).hooks.at(-1).command;

const sorted = (list) => [...list].sort((a, b) => a - b);
const quantile = (list, q) => sorted(list)[Math.min(list.length - 1, Math.floor(list.length * q))];
const ms = (value) => value.toFixed(2).padStart(8);

function payload(session, event, fields = {}) {
  const cwd = join(base, session.replace(/-.*/, ''));
  mkdirSync(join(cwd, '.git'), { recursive: true });
  return {
    session_id: session,
    transcript_path: join(home, '.claude/projects/p', `${session}.jsonl`),
    cwd,
    hook_event_name: event,
    ...fields,
  };
}

function runHook(event, body, extra = {}) {
  return new Promise((resolve) => {
    const start = performance.now();
    const child = spawn('/bin/sh', ['-c', command(event)], { env: { ...env, ...extra }, stdio: ['pipe', 'pipe', 'ignore'] });
    let out = '';
    child.stdout.setEncoding('utf8');
    child.stdout.on('data', (chunk) => (out += chunk));
    child.on('close', () => resolve({ ms: performance.now() - start, out }));
    child.stdin.on('error', () => {});
    child.stdin.end(JSON.stringify(body));
  });
}

const attended = { CLAUDE_CODE_SESSION_ATTENDED: '1', CLAUDE_CODE_ENTRYPOINT: 'cli', CLAUDE_PID: String(process.pid) };
async function startSession(session) {
  const { out } = await runHook('SessionStart', payload(session, 'SessionStart', { source: 'startup' }), attended);
  return out.match(/agent:\/\/[a-z0-9/.-]*[a-z0-9]/)[0];
}

/** A hook over the socket alone: what the daemon takes, without the processes around it. */
function socketHook(body) {
  return new Promise((resolve) => {
    const start = performance.now();
    const socket = connect(join(bus, 'run/claude.sock'));
    let out = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk) => (out += chunk));
    socket.on('close', () => resolve({ ms: performance.now() - start, out }));
    socket.write(JSON.stringify(body));
  });
}

function call(path, body) {
  const token = readFileSync(join(bus, 'run/token'), 'utf8').trim();
  return new Promise((resolve, reject) => {
    const sent = request(
      { socketPath: join(bus, 'run/control.sock'), path, method: 'POST', headers: { authorization: `Bearer ${token}` } },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk) => (text += chunk));
        response.on('end', () => resolve(JSON.parse(text)));
      },
    );
    sent.on('error', reject);
    sent.end(JSON.stringify(body));
  });
}

const daemonPid = () => JSON.parse(readFileSync(join(bus, 'run/daemon.json'), 'utf8')).pid;
const rss = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${daemonPid()}/status`, 'utf8'))[1]) / 1024;
const cpuTicks = () =>
  readFileSync(`/proc/${daemonPid()}/stat`, 'utf8')
    .split(' ')
    .slice(13, 15)
    .map(Number)
    .reduce((a, b) => a + b);

async function atOnce(count, rounds) {
  const times = [];
  for (let round = 0; round < rounds; round++) {
    const runs = await Promise.all(
      Array.from({ length: count }, () => runHook('UserPromptSubmit', payload('shop-1', 'UserPromptSubmit', { prompt: 'x' }))),
    );
    times.push(...runs.map((run) => run.ms));
  }
  console.log(`${count} hooks at once: p50 ${ms(quantile(times, 0.5))} ms, p99 ${ms(quantile(times, 0.99))} ms`);
}

function fill(address, from, to) {
  const Database = createRequire(import.meta.url)('better-sqlite3');
  const db = new Database(join(bus, 'agentbus.db'));
  const row = db.prepare('SELECT * FROM inbox LIMIT 1').get();
  const insert = db.prepare(
    `INSERT INTO inbox (workspace, source, id, recipient, conversation, conversation_seq, type, priority, hops, jws, digest, received_at, expires_at, state)
     VALUES (?, ?, ?, ?, ?, 1, ?, 1, 0, ?, ?, ?, ?, 'read')`,
  );
  db.transaction(() => {
    for (let n = from; n < to; n++) {
      insert.run(
        'local',
        row.source,
        `msg_OLD${n}`,
        n % 2 ? address : row.recipient,
        `cnv_OLD${n}`,
        row.type,
        row.jws,
        row.digest,
        row.received_at,
        row.expires_at,
      );
    }
  })();
  db.close();
}

try {
  const address = await startSession('shop-1');
  await atOnce(20, 5);

  console.log('\nstored messages   hook p50 ms   p95 ms   against 0   daemon RSS MB');
  await call('/send', { caller: { person: true }, to: address, data: 'a template' });
  let first = 0;
  let filled = 0;
  for (const size of [0, 10_000, most]) {
    agentbus('daemon', 'stop');
    fill(address, filled, size);
    filled = size;
    agentbus('daemon', 'start');
    await socketHook(payload('shop-1', 'UserPromptSubmit', { prompt: 'warm' }));
    const times = [];
    for (let n = 0; n < 400; n++) times.push((await socketHook(payload('shop-1', 'UserPromptSubmit', { prompt: `p${n}` }))).ms);
    const p50 = quantile(times.slice(100), 0.5);
    first ||= p50;
    console.log(
      `${String(size).padStart(15)} ${ms(p50)} ${ms(quantile(times.slice(100), 0.95))} ${`${Math.round((p50 / first) * 100)} %`.padStart(11)} ${rss().toFixed(0).padStart(15)}`,
    );
  }

  const visible = [];
  for (let n = 0; n < 25; n++) {
    const session = `visible${n}-1`;
    const to = await startSession(session);
    const start = performance.now();
    const { id } = await call('/send', { caller: { person: true }, to, data: `message ${n}` });
    const { out } = await socketHook(payload(session, 'UserPromptSubmit', { prompt: 'x' }));
    if (!out.includes(id)) throw new Error('not visible at the next hook');
    visible.push(performance.now() - start);
  }
  console.log(
    `\nsend to visible at the next hook: p50 ${ms(quantile(visible, 0.5))} ms, p99 ${ms(quantile(visible, 0.99))} ms (${visible.length} messages, ${most} stored)`,
  );

  for (let n = 0; n < 25; n++) await startSession(`more${n}-1`);
  await new Promise((resolve) => setTimeout(resolve, 20_000));
  const before = cpuTicks();
  await new Promise((resolve) => setTimeout(resolve, 20_000));
  console.log(`at rest with 51 sessions: ${rss().toFixed(0)} MB, ${(cpuTicks() - before) * 10} ms CPU in 20 s`);
} finally {
  agentbus('daemon', 'stop');
  rmSync(base, { recursive: true, force: true, maxRetries: 5 });
}
