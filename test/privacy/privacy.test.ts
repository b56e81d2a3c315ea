import { appendFileSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { installed, type Installed } from '../support/installed.ts';
import { fakeClaude } from '../support/sessions.ts';

/**
 * A session is stuffed with canaries wherever one can carry text; then every byte that AgentBus wrote
 * and everything its commands say is searched. Only what was sent as a message may be found.
 */
let world: Installed;
beforeAll(() => {
  world = installed();
});
afterAll(() => world.close());

let planted: string[] = [];
/** Text with no shape that a redactor could know: it must not be there because nobody wrote it. */
function canary(): string {
  const text = `canary${randomBytes(8).toString('hex')}`;
  planted.push(text);
  return text;
}
/** Text in the shape of a token, for fields that are names. */
function token(): string {
  const text = ['sk', 'ant', `api03-${randomBytes(16).toString('hex')}`].join('-');
  planted.push(text);
  return text;
}

/** How a text may stand in a file: as it is, or inside base64url at any of its three alignments. */
function spellings(text: string): string[] {
  const inner = (shift: number): string =>
    Buffer.from('x'.repeat(shift) + text)
      .toString('base64url')
      .slice(shift === 0 ? 0 : 4, -4);
  return [text, inner(0), inner(1), inner(2)];
}

function filesUnder(path: string): string[] {
  if (statSync(path).isDirectory()) return readdirSync(path).flatMap((name) => filesUnder(join(path, name)));
  return statSync(path).isFile() ? [path] : [];
}

it('writes and says nothing of a session but its shape', async () => {
  const secretEnv = {
    ANTHROPIC_API_KEY: token(),
    OPENAI_API_KEY: token(),
    AGENTBUS_AGENT: `Not a Name ${canary()}`,
    MY_PASSWORD: canary(),
  };
  const session = fakeClaude(world, secretEnv);
  const odd = {
    unknown_field: canary(),
    nested: { [canary()]: canary() },
    error: canary(),
    last_assistant_message: canary(),
    model: token(),
    reason: canary(),
  };
  await session.start('startup');
  const calls: [string, Record<string, unknown>][] = [
    ['UserPromptSubmit', { prompt: `please use ${canary()} and ${token()}`, prompt_id: canary() }],
    [
      'PostToolUse',
      {
        tool_name: token(),
        tool_use_id: canary(),
        tool_input: { command: `export X=${canary()}; curl -H "Authorization: ${token()}" https://user:${canary()}@host/` },
        tool_response: { stdout: canary(), stderr: canary() },
      },
    ],
    ['PostToolUse', { tool_name: 'Bash', tool_input: { command: `X=${canary()} mysql --password ${canary()}` }, tool_response: canary() }],
    ['PostToolUse', { tool_name: 'Bash', tool_input: { command: `git ${canary()} ${canary()}` }, tool_response: canary() }],
    [
      'PostToolUse',
      { tool_name: 'Read', tool_input: { file_path: `/outside/${canary()}/x`, [canary()]: canary() }, tool_response: canary() },
    ],
    ['PostToolUse', { tool_name: 'mcp__x__y', tool_input: canary(), tool_response: [{ text: canary() }] }],
    ['Stop', { stop_hook_active: false }],
    ['SessionEnd', {}],
  ];
  mkdirSync(dirname(session.transcript), { recursive: true });
  appendFileSync(session.transcript, `${JSON.stringify({ uuid: 'u', type: 'user', message: { content: canary() } })}\n`);
  for (const [event, fields] of calls)
    expect((await world.hook('claude', event, session.payload(event, { ...odd, ...fields }), { env: secretEnv })).code).toBe(0);
  await world.hook('claude', 'UserPromptSubmit', Buffer.from(`{"session_id":"${canary()}`));

  const message = `message-${randomBytes(8).toString('hex')}`;
  world.json(['send', 'people/root', message]);
  const said = [
    ['records'],
    ['records', '--json'],
    ['agents', '--json'],
    ['status', '--json'],
    ['daemon', 'logs'],
    ['inbox', '--all', '--json'],
  ].map((words) => world.agentbus(words).out);
  world.agentbus(['daemon', 'stop']);

  const written = filesUnder(world.bus).map((file) => readFileSync(file));
  const everything = [...written, ...said.map((text) => Buffer.from(text))];
  const holds = (text: string): boolean => spellings(text).some((spelling) => everything.some((bytes) => bytes.includes(spelling)));
  // The search itself works: what was sent is found.
  expect(holds(message)).toBe(true);
  const leaks = planted
    .filter(holds)
    .map((text) => [text, everything.findIndex((bytes) => spellings(text).some((s) => bytes.includes(s)))]);
  expect(leaks).toEqual([]);
  expect(planted.length).toBeGreaterThan(30);
});
