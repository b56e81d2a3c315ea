import { describe, expect, test } from 'vitest';
import { isAlive } from '../../src/core/alive.ts';
import { claude } from '../../src/harness/claude/harness.ts';
import { codex } from '../../src/harness/codex/harness.ts';
import { mcpEnv } from '../../src/install/check-mcp.ts';
import { proveMcp, type McpProof } from '../../src/install/prove-mcp.ts';
import { until } from '../support/installed.ts';
import { sandbox, type Sandbox } from './sandbox.ts';

const ANSWERS = ['{"jsonrpc":"2.0","id":1,"result":{}}', '{"jsonrpc":"2.0","id":2,"result":{"tools":[{},{}]}}'];
/** Reads a request, then answers; the notification has no answer. */
const answering = `read -r x; echo '${ANSWERS[0]}'; read -r x; read -r x; echo '${ANSWERS[1]}'`;

/** A server that notes its pid and those of what it starts. */
function prove(box: Sandbox, script: string, timeout = 20_000): Promise<McpProof> {
  const command = box.write('server', `#!/bin/sh\necho $$ >> ${box.path('pids')}\n${script}\n`, 0o755);
  return proveMcp({ command, args: ['one', 'two words'], env: { PATH: '/usr/bin:/bin' }, cwd: box.home, timeout });
}

async function allGone(box: Sandbox): Promise<void> {
  const pids = box.read('pids').trim().split('\n').map(Number);
  await until('all that was started has ended', () => !pids.some(isAlive));
}

describe('a server is judged by what it says', () => {
  test.each([
    ['answered', answering, '', 2],
    ['answered', `[ "$2" = "two words" ] && [ $# = 2 ] || exit 1; ${answering}`, '', 2],
    ['noise', `echo Welcome to my shell; ${answering}`, 'Welcome to my shell', 2],
    ['noise', `echo; ${answering}`, 'an empty line', 2],
    ['refused', `echo '{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"not today"}}'; read -r x; sleep 600`, 'not today', 0],
    ['ended', 'echo starting >&2; echo "Error: no such module" >&2; echo bye >&2; exit 3', 'Error: no such module', 0],
    ['ended', 'exit 0', '', 0],
  ])('%s: %s', async (outcome, script, extra, tools) => {
    const box = sandbox();
    expect(await prove(box, script)).toMatchObject({ outcome, extra, tools });
    await allGone(box);
  });

  test('one that is not there, or is no program', async () => {
    const box = sandbox();
    const run = { args: [], env: {}, cwd: box.home, timeout: 20_000 };
    expect(await proveMcp({ ...run, command: box.path('gone') })).toMatchObject({ outcome: 'ended', status: 127 });
    expect(await proveMcp({ ...run, command: box.write('text', 'x', 0o644) })).toMatchObject({ outcome: 'ended', status: 126 });
    expect(await proveMcp({ ...run, command: 'true', cwd: box.path('nowhere') })).toMatchObject({ outcome: 'ended' });
  });

  test('one that never answers is ended, with what it started and however it clings to life', async () => {
    const box = sandbox();
    const clinging = `trap '' TERM HUP INT PIPE; (sleep 600) & echo $! >> ${box.path('pids')}; echo ready? >&2; while :; do sleep 600; done`;
    expect(await prove(box, clinging, 1_000)).toMatchObject({ outcome: 'late', extra: 'ready?' });
    await allGone(box);
  });
});

test('the environment is what the harness passes on', () => {
  const env = { HOME: '/h', PATH: '/p', SHELL: '/s', TERM: 't', EXTRA: 'x', NONE: undefined };
  expect(mcpEnv(codex, env)).toEqual({ HOME: '/h', PATH: '/p', SHELL: '/s', TERM: 't' });
  expect(mcpEnv(claude, env)).toEqual({ HOME: '/h', PATH: '/p', SHELL: '/s', TERM: 't', EXTRA: 'x' });
});
