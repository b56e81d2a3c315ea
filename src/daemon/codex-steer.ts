import { connect } from 'node:net';
import type { WebSocket } from 'ws';
import { list, record } from '../core/payload.ts';
import { VERSION } from '../core/version.ts';

// ms, for the whole conversation; Codex's daemon is on this machine.
const DEADLINE = 10_000;

type Call = (method: string, params: Record<string, unknown>) => Promise<Record<string, unknown>>;

/** A line of questions and answers over Codex's control socket, which frames them as WebSocket messages. */
function callerOn(socket: WebSocket): Call {
  let last = 0;
  const waiting = new Map<number, { resolve(value: Record<string, unknown>): void; reject(error: Error): void }>();
  socket.on('message', (data: Buffer) => {
    let answer: Record<string, unknown>;
    try {
      answer = record(JSON.parse(data.toString('utf8')));
    } catch {
      // Whoever answers there is not Codex.
      socket.terminate();
      return;
    }
    const question = waiting.get(Number(answer['id']));
    // What has a method is a notification, or a question that somebody else answers.
    if (!question || answer['method'] !== undefined) return;
    if (answer['error'] === undefined) question.resolve(record(answer['result']));
    else question.reject(new Error(String(record(answer['error'])['message'])));
  });
  socket.on('close', () => waiting.forEach(({ reject }) => reject(new Error('Codex closed the connection'))));
  return (method, params) =>
    new Promise((resolve, reject) => {
      waiting.set((last += 1), { resolve, reject });
      socket.send(JSON.stringify({ id: last, method, params }));
    });
}

async function steer(call: Call, threadId: string, line: string, running: boolean): Promise<boolean> {
  const input = [{ type: 'text', text: line, text_elements: [] }];
  const status = record(record((await call('thread/read', { threadId }))['thread'])['status']);
  if (status['type'] === 'idle' && !running) {
    await call('turn/start', { threadId, input });
    return true;
  }
  // Flags are `waitingOnApproval` and `waitingOnUserInput`: a person is being asked.
  if (status['type'] !== 'active' || !running || list(status['activeFlags']).length > 0) return false;
  const [turn] = list((await call('thread/turns/list', { threadId, limit: 1 }))['data']);
  await call('turn/steer', { threadId, expectedTurnId: record(turn)['id'], input });
  return true;
}

/**
 * Puts a line into a thread of Codex's own daemon: as a new turn, or into the one that runs. Answers
 * false where the thread is in another state than expected.
 */
export async function steerThread(path: string, thread: string, line: string, running: boolean): Promise<boolean> {
  // Loaded only where the setting asks for it.
  const { WebSocket } = await import('ws');
  const socket = new WebSocket('ws://localhost/', { createConnection: () => connect(path), handshakeTimeout: DEADLINE });
  const timer = setTimeout(() => socket.terminate(), DEADLINE);
  try {
    await new Promise<void>((resolve, reject) => socket.once('open', resolve).once('error', reject));
    socket.on('error', () => socket.terminate());
    const call = callerOn(socket);
    await call('initialize', {
      clientInfo: { name: 'agentbus', title: 'AgentBus', version: VERSION },
      capabilities: { experimentalApi: true },
    });
    socket.send(JSON.stringify({ method: 'initialized' }));
    return await steer(call, thread, line, running);
  } finally {
    clearTimeout(timer);
    socket.close();
  }
}
