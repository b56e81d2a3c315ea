import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocketServer } from 'ws';
import { steerThread } from '../../src/daemon/codex-steer.ts';

type Answers = Record<string, unknown>;

/** A control socket that answers as told; gives what it was asked after `initialize`. */
async function control(answers: Answers): Promise<{ path: string; asked: [string, unknown][] }> {
  const folder = mkdtempSync(join(tmpdir(), 'ab-steer-'));
  const path = join(folder, 'control.sock');
  const http = createServer();
  const server = new WebSocketServer({ server: http });
  const asked: [string, unknown][] = [];
  server.on('connection', (socket) => {
    socket.on('message', (data: Buffer) => {
      const { id, method, params } = JSON.parse(data.toString('utf8')) as { id?: number; method: string; params: unknown };
      if (id === undefined) return;
      if (method !== 'initialize') asked.push([method, params]);
      // What Codex tells all its clients comes in between.
      socket.send(JSON.stringify({ method: 'thread/status/changed', params: {} }));
      const answer = answers[method];
      socket.send(
        JSON.stringify(answer instanceof Error ? { id, error: { code: -32600, message: answer.message } } : { id, result: answer }),
      );
    });
  });
  await new Promise<void>((resolve) => http.listen(path, resolve));
  onTestFinished(() => {
    for (const socket of server.clients) socket.terminate();
    http.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { path, asked };
}

const status = (type: string, activeFlags: string[] = []): Answers => ({
  'thread/read': { thread: { status: { type, activeFlags } } },
  'thread/turns/list': { data: [{ id: 'turn-9' }] },
  'turn/start': {},
  'turn/steer': { turnId: 'turn-9' },
});
const input = [{ type: 'text', text: 'the line', text_elements: [] }];

test('an idle thread gets a turn', async () => {
  const { path, asked } = await control(status('idle'));
  expect(await steerThread(path, 'T', 'the line', false)).toBe(true);
  expect(asked).toEqual([
    ['thread/read', { threadId: 'T' }],
    ['turn/start', { threadId: 'T', input }],
  ]);
});

test('the turn that runs is steered, and only that one', async () => {
  const { path, asked } = await control(status('active'));
  expect(await steerThread(path, 'T', 'the line', true)).toBe(true);
  expect(asked.at(-1)).toEqual(['turn/steer', { threadId: 'T', expectedTurnId: 'turn-9', input }]);
});

test.each<[string, Answers, boolean]>([
  ['that waits for an approval', status('active', ['waitingOnApproval']), true],
  ['that asks its person something', status('active', ['waitingOnUserInput']), true],
  ['that has begun a turn meanwhile', status('active'), false],
  ['whose turn has ended meanwhile', status('idle'), true],
  ['that is not loaded', status('notLoaded'), false],
  ['in trouble', status('systemError'), false],
])('a thread %s is left alone', async (_what, answers, running) => {
  const { path, asked } = await control(answers);
  expect(await steerThread(path, 'T', 'the line', running)).toBe(false);
  expect(asked.map(([method]) => method)).toEqual(['thread/read']);
});

test('what Codex refuses is an error with its words', async () => {
  const { path } = await control({ ...status('active'), 'turn/steer': new Error('no active turn to steer') });
  await expect(steerThread(path, 'T', 'the line', true)).rejects.toThrow('no active turn to steer');
});

test('so is a socket that nobody listens on', async () => {
  await expect(steerThread('/nowhere/control.sock', 'T', 'the line', false)).rejects.toThrow('ENOENT');
});
