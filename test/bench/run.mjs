// What a hook costs: alternating runs in one go, each started as the harness starts it, medians and
// ratios to the floor of the same run. Prints a table; writes nothing. `npm run bench [rounds]`.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const rounds = Number(process.argv[2] ?? 60);
const root = new URL('../..', import.meta.url).pathname;
const base = mkdtempSync(join(tmpdir(), 'ab-bench-'));
const home = join(base, 'home');
const bus = join(home, '.agentbus');
const project = join(base, 'shop');
mkdirSync(join(project, '.git'), { recursive: true });
mkdirSync(home);
const env = { HOME: home, AGENTBUS_HOME: bus, PATH: process.env.PATH, AGENTBUS_NO_AUTO_JOIN: '1' };
const agentbus = (...words) =>
  execFileSync(process.execPath, [join(root, 'bin/agentbus.mjs'), ...words], { env, cwd: project, encoding: 'utf8' });

agentbus('install', '--harness', 'claude');
const hooks = JSON.parse(readFileSync(join(home, '.claude/settings.json'), 'utf8')).hooks;
const command = (event) => hooks[event].at(-1).hooks.at(-1).command;

let files = 0;
function payloadFile(value) {
  const file = join(base, `payload-${files++}.json`);
  writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value));
  return file;
}
const transcript = join(home, '.claude/projects/shop/x.jsonl');
const payload = (session, event, fields) => ({
  session_id: session,
  transcript_path: transcript,
  cwd: project,
  hook_event_name: event,
  ...fields,
});

// A hook is timed by a small bash process that starts it and waits: Node's own fork would add several
// milliseconds to every case, where the harnesses start a hook by posix_spawn.
const DRIVER = `
while IFS= read -r -d '' command && IFS= read -r -d '' file && IFS= read -r -d '' attended; do
  if [ "$attended" = yes ]; then export CLAUDE_CODE_SESSION_ATTENDED=1 CLAUDE_CODE_ENTRYPOINT=cli CLAUDE_PID=$PPID
  else unset CLAUDE_CODE_SESSION_ATTENDED CLAUDE_CODE_ENTRYPOINT CLAUDE_PID; fi
  start=$EPOCHREALTIME
  /bin/sh -c "$command" < "$file" > "$OUT" 2>/dev/null
  end=$EPOCHREALTIME
  echo "$start $end"
done`;
const outFile = join(base, 'out');
const driver = spawn('bash', ['--noprofile', '--norc', '-c', DRIVER], {
  env: { ...env, OUT: outFile },
  cwd: project,
  stdio: ['pipe', 'pipe', 'inherit'],
});
const lines = createInterface({ input: driver.stdout })[Symbol.asyncIterator]();

async function timed(shell, stdinFile, isAttended = false) {
  driver.stdin.write(`${shell}\0${stdinFile}\0${isAttended ? 'yes' : 'no'}\0`);
  const [start, end] = (await lines.next()).value.replaceAll(',', '.').split(' ').map(Number);
  return { ms: (end - start) * 1000, out: readFileSync(outFile, 'utf8') };
}

function startSession(session) {
  return timed(command('SessionStart'), payloadFile(payload(session, 'SessionStart', { source: 'startup' })), true);
}

await startSession('empty');
const nothing = payloadFile('');
const emptyPrompt = payloadFile(payload('empty', 'UserPromptSubmit', { prompt: 'go on', prompt_id: 'p' }));
const record = payloadFile(
  payload('empty', 'PostToolUse', {
    tool_name: 'Bash',
    tool_input: { command: 'npm test' },
    tool_response: { stdout: 'x'.repeat(12_200) },
  }),
);
const resume = payloadFile(payload('empty', 'SessionStart', { source: 'resume' }));
const postTool = 'PostToolUse' in hooks ? command('PostToolUse') : command('PostToolBatch');

const cases = {
  'floor: sh -c :': () => timed(':', nothing),
  'floor: node -e 0': () => timed(`'${process.execPath}' -e 0`, nothing),
  'installed, empty prompt': () => timed(command('UserPromptSubmit'), emptyPrompt),
  'installed, 3 messages': async () => {
    // A project of its own, so that neither the limit per pair nor an earlier round's mail is in the way.
    const session = `full-${files}`;
    const cwd = join(base, session);
    mkdirSync(join(cwd, '.git'), { recursive: true });
    const started = await timed(command('SessionStart'), payloadFile(payload(session, 'SessionStart', { cwd, source: 'startup' })), true);
    const address = started.out.match(/agent:\/\/[a-z0-9/.-]*[a-z0-9]/)[0];
    for (let n = 0; n < 3; n++) agentbus('send', address, `message ${n}`);
    const ran = await timed(
      command('UserPromptSubmit'),
      payloadFile(payload(session, 'UserPromptSubmit', { cwd, prompt: 'go', prompt_id: 'p' })),
    );
    if ((ran.out.match(/<agentbus-message /g) ?? []).length !== 3) throw new Error(`expected 3 frames: ${ran.out.slice(0, 300)}`);
    return ran;
  },
  'installed, 12.5 KB record': () => timed(postTool, record),
  'relay (SessionStart)': () => timed(command('SessionStart'), resume, true),
};

const SLOW = new Set(['installed, 3 messages']);
const times = Object.fromEntries(Object.keys(cases).map((name) => [name, []]));
for (let round = 0; round < rounds; round++) {
  for (const [name, run] of Object.entries(cases)) {
    if (SLOW.has(name) && round % 4 !== 0) continue;
    times[name].push((await run()).ms);
  }
}

const quantile = (list, q) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * q))];
const floor = quantile(times['floor: node -e 0'], 0.5);
const targets = {
  'installed, empty prompt': 0.2,
  'installed, 3 messages': 0.2,
  'installed, 12.5 KB record': 0.2,
  'relay (SessionStart)': 1.6,
};
console.log(`${rounds} alternating rounds, Node ${process.version}; ratio to \`node -e 0\` of the same run\n`);
console.log('case                         median ms    p95 ms   ratio  target');
for (const [name, list] of Object.entries(times)) {
  const median = quantile(list, 0.5);
  const ratio = median / floor;
  const target = targets[name];
  const verdict = target === undefined ? '' : `${target}  ${ratio <= target ? 'met' : 'MISSED'}`;
  console.log(
    `${name.padEnd(28)} ${median.toFixed(1).padStart(9)} ${quantile(list, 0.95).toFixed(1).padStart(9)} ${ratio.toFixed(3).padStart(7)}  ${verdict}`,
  );
}
console.log(`\ndist/hook.cjs: ${statSync(join(root, 'dist/hook.cjs')).size} bytes`);
driver.stdin.end();
spawnSync(process.execPath, [join(root, 'bin/agentbus.mjs'), 'daemon', 'stop'], { env });
rmSync(base, { recursive: true, force: true, maxRetries: 5 });
