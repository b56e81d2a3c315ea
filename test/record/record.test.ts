import { describe, expect, test } from 'vitest';
import type { HookEvent, ToolCall } from '../../src/core/harness.ts';
import { HARNESSES } from '../../src/harness/registry.ts';
import { commandName, recordsOf } from '../../src/record/record.ts';
import { payloadsOf } from '../conformance/fixtures.ts';
import { instanceRow, NOW } from '../store/rows.ts';
import { dotenvSecrets, piecesIn } from './secrets.ts';

const SECRETS = dotenvSecrets();
const TOKENS = [...SECRETS.values()].filter((secret) => !secret.includes(' '));
const instance = instanceRow({ root: '/home/dev/shop', cwd: '/home/dev/shop/api' });

const bodies = (event: HookEvent, row = instance): string[] => recordsOf(event, row, [], NOW).map(({ body }) => body);
const recorded = (event: HookEvent, row = instance): Record<string, unknown>[] =>
  bodies(event, row).map((body) => JSON.parse(body) as Record<string, unknown>);

/** The payload with `canary` in every string of it, and in its keys, as far as it stays a payload of its harness. */
function stuffed(payload: Record<string, unknown>, canary: string): Record<string, unknown> {
  const fill = (value: unknown): unknown => {
    if (typeof value === 'string') return `${value} ${canary}`;
    if (Array.isArray(value)) return [...value.map(fill), canary];
    if (typeof value !== 'object' || value === null) return value;
    return { ...Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item)])), [canary]: canary };
  };
  return {
    ...(fill(payload) as Record<string, unknown>),
    hook_event_name: payload['hook_event_name'],
    transcript_path: String(payload['transcript_path'])
      .replace('/projects/', `/projects/${canary}/`)
      .replace('/rollout-', `/${canary}/rollout-`),
    session_id: `${canary}-session`.slice(0, 128),
  };
}

describe.each(HARNESSES)('$id', (harness) => {
  const events = payloadsOf(harness.id).filter(({ expected }) => expected !== null);

  test.each(events)('a record of $name says nothing that stood in the payload', ({ payload }) => {
    for (const canary of ['canary-in-the-mine', 'two words canary', ...TOKENS]) {
      const event = harness.parse(stuffed(payload, canary))!;
      expect(event).not.toBeNull();
      const text = bodies(event).join('\n');
      expect(text).not.toContain('canary');
      for (const secret of TOKENS) expect(piecesIn(text, secret)).toEqual([]);
    }
  });

  test.each(events)('a record of $name has only fields of the list', ({ payload, expected }) => {
    const fields = recorded(harness.parse(payload)!).flatMap((record) => Object.keys(record));
    expect([...new Set(fields)].filter((field) => !FIELDS.has(field))).toEqual([]);
    expect(recorded(harness.parse(payload)!)).toHaveLength(Math.max(1, expected!.tools.length));
  });
});

// One line in docs/records.md each; a new field has to be thought about, not just added.
const FIELDS = new Set([
  'event', 'agent', 'harness', 'instance', 'session', 'time', 'turn', 'source', 'gen_ai.request.model', 'reason', 'prompt_bytes', 'continued', 'messages',
  'gen_ai.tool.name', 'ok', 'duration_ms', 'program', 'subcommand', 'paths', 'input_bytes', 'output_bytes',
  'gen_ai.usage.input_tokens', 'gen_ai.usage.output_tokens', 'cache_read_tokens', 'cache_write_tokens', 'reasoning_tokens',
]); // prettier-ignore

function eventWith(changes: Partial<HookEvent>): HookEvent {
  return {
    kind: 'post-tool',
    native: 'PostToolUse',
    sessionKey: 'session-1',
    cwd: '/home/dev/shop/api',
    transcript: null,
    turn: 'turn-1',
    subagent: false,
    source: null,
    reason: null,
    prompt: null,
    tools: [],
    stopHookActive: false,
    model: 'model-1',
    usage: null,
    ...changes,
  };
}

function callWith(changes: Partial<ToolCall>): ToolCall {
  return { name: 'Bash', id: 't1', ok: true, duration: 7, command: null, paths: [], inputBytes: 3, outputBytes: 4, ...changes };
}

test('a tool call is recorded by its name, its outcome and its sizes', () => {
  const record = recorded(eventWith({ tools: [callWith({ command: 'git commit -m "private words"', ok: false, duration: null })] }))[0]!;
  expect(record).toEqual({
    event: 'post-tool',
    agent: instance.address,
    harness: 'claude',
    instance: instance.id,
    session: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
    time: '2026-10-10T14:00:00.000Z',
    turn: expect.stringMatching(/^[0-9a-f]{12}$/) as string,
    'gen_ai.request.model': 'model-1',
    'gen_ai.tool.name': 'Bash',
    ok: false,
    program: 'git',
    subcommand: 'commit',
    input_bytes: 3,
    output_bytes: 4,
  });
});

test('of a prompt only its size is recorded, and what was shown by its ids', () => {
  const event = eventWith({ kind: 'prompt', prompt: 'grüße' });
  const [record] = recordsOf(event, instance, ['msg_1', 'msg_2'], NOW).map(({ body }) => JSON.parse(body) as Record<string, unknown>);
  expect(record).toMatchObject({ event: 'prompt', prompt_bytes: 7, messages: ['msg_1', 'msg_2'] });
});

test('a subagent’s events are told from the session’s', () => {
  expect(recorded(eventWith({ kind: 'stop', subagent: true }))[0]).toMatchObject({ event: 'subagent-stop' });
  expect(recorded(eventWith({ kind: 'subagent-stop', subagent: true }))[0]).toMatchObject({ event: 'subagent-stop' });
});

test('the same session and turn are recognised without being named', () => {
  const [first, second, other] = ['a', 'a', 'b'].map((sessionKey) => recorded(eventWith({}), { ...instance, sessionKey })[0]!['session']);
  expect(first).toBe(second);
  expect(other).not.toBe(first);
});

test.each([
  ['/home/dev/shop/src/app.ts', 'src/app.ts'],
  ['lib/b.ts', 'api/lib/b.ts'],
  ['../package.json', 'package.json'],
  ['/home/dev/shop', 'outside'],
  ['/home/dev/shop-secret/x', 'outside'],
  ['/home/dev/.ssh/id_rsa', 'outside'],
  ['../../other/x', 'outside'],
  ['/home/dev/shop/../.aws/credentials', 'outside'],
  ['~/notes', 'api/~/notes'],
])('the path %s is recorded as %s', (path, expected) => {
  expect(recorded(eventWith({ tools: [callWith({ paths: [path] })] }))[0]!['paths']).toEqual([expected]);
});

test('a long path is cut between characters, and only once it is clean', () => {
  const token = ['sk', 'ant', `api03-${'a1B2'.repeat(8)}`].join('-');
  const path = (paths: string[]): string => recorded(eventWith({ tools: [callWith({ paths })] }))[0]!['paths'] as string;
  const [emoji] = path([`/home/dev/shop/${'x'.repeat(299)}😀.ts`]);
  expect(emoji).toBe('x'.repeat(299));
  expect(piecesIn(JSON.stringify(path([`/home/dev/shop/${'x/'.repeat(142)}${token}`])), token)).toEqual([]);
});

test.each([null, '/'])('without a project (root %j) every path is outside', (root) => {
  const record = recorded(eventWith({ tools: [callWith({ paths: ['/home/dev/.ssh/id_rsa', 'x'] })] }), { ...instance, root })[0]!;
  expect(record['paths']).toEqual(['outside', 'outside']);
});

test.each([
  ['git push origin main', { program: 'git', subcommand: 'push' }],
  ['git -c user.name=x push', { program: 'git' }],
  ['git my-alias', { program: 'git' }],
  ['AWS_PROFILE=prod TOKEN=x kubectl get pods', { program: 'kubectl', subcommand: 'get' }],
  ['/usr/local/bin/Node server.js --key=x', { program: 'node' }],
  ['curl -H "Authorization: x" https://u:p@h', { program: 'curl' }],
  ['npm   run\tsecret-task', { program: 'npm', subcommand: 'run' }],
  ['"./my tool" x', { program: 'other' }],
  ['$(cat secret) x', { program: 'other' }],
  ['PASSWORD=hunter2', { program: 'other' }],
  ["PASSWORD='my hunter2 words' ./run", { program: 'other' }],
  ['A="one hunter2 two" ./run', { program: 'other' }],
  ['A=$(echo hunter2 two) ./run', { program: 'other' }],
  ['A=`echo hunter2 two` ./run', { program: 'other' }],
  ['A=(one hunter2 two)', { program: 'other' }],
  ['A=<(x hunter2 y) ./run', { program: 'other' }],
  [String.raw`A=one\ hunter2 ./run`, { program: 'other' }],
  ['A=one\\\n hunter2 ./run', { program: 'other' }],
  [`A='one' B="$HOME/x" C=$PATH:/y git status`, { program: 'git', subcommand: 'status' }],
  ['a'.repeat(33), { program: 'other' }],
  ['', { program: 'other' }],
  ['   ', { program: 'other' }],
  ['constructor install', { program: 'constructor' }],
  ['rm -rf /', { program: 'rm' }],
])('the command %j is recorded as %j', (command, expected) => {
  expect(commandName(command)).toEqual(expected);
});

test('a program whose name looks like a secret is none', () => {
  for (const token of TOKENS)
    expect(piecesIn(JSON.stringify(recorded(eventWith({ tools: [callWith({ command: `${token} x` })] }))), token)).toEqual([]);
});
