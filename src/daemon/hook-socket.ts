import { createServer, type Server, type Socket } from 'node:net';
import { createJsonScanner, parsePayload } from '../core/json-scan.ts';
import { LIMITS } from '../core/limits.ts';

/**
 * Hook sockets: JSON values in, hook JSON out in one write, then closed. The answer comes as soon as
 * the last value is complete, whether or not the other side ever ends its input.
 */
export interface HookSocketOptions {
  /** JSON values one call consists of: 1 on a harness's socket, 2 (header, payload) on the relay's. */
  values: 1 | 2;
  answer(values: Record<string, unknown>[]): string;
}

// ms: without a byte, and in all.
const SILENCE = 2_000;
const DEADLINE = 5_000;

function serve(socket: Socket, options: HookSocketOptions): void {
  let scanner = createJsonScanner();
  let chunks: Buffer[] = [];
  let total = 0;
  let done = false;
  const values: Record<string, unknown>[] = [];
  const deadline = setTimeout(() => socket.destroy(), DEADLINE);
  socket.setTimeout(SILENCE, () => socket.destroy());
  socket.on('close', () => clearTimeout(deadline));
  socket.on('error', () => socket.destroy());

  function finish(output: string): void {
    done = true;
    chunks = [];
    // A daemon's own timeouts end here: the asker decides how long it reads.
    socket.end(output, () => socket.destroySoon());
  }

  function take(chunk: Buffer): void {
    total += chunk.length;
    if (total > LIMITS.hookPayloadBytes) return finish('');
    const end = scanner.push(chunk);
    if (end === -2) return finish('');
    chunks.push(end < 0 ? chunk : chunk.subarray(0, end));
    if (end < 0) return;
    const value = parsePayload(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
    if (!value) return finish('');
    values.push(value);
    if (values.length < options.values) {
      scanner = createJsonScanner();
      chunks = [];
      if (end < chunk.length) take(chunk.subarray(end));
      return;
    }
    // Nothing is offered to an asker that has gone.
    if (socket.destroyed || !socket.writable) return finish('');
    finish(options.answer(values));
  }

  socket.on('data', (chunk: Buffer) => {
    if (!done) take(chunk);
  });
  socket.on('end', () => {
    if (!done) finish('');
  });
}

/** Listens on a socket path that this daemon owns (it holds the lock, so a file there is stale). */
export function listenHooks(path: string, options: HookSocketOptions): Promise<Server> {
  return listenAt(path, (socket) => serve(socket, options));
}

/** A server on a socket path whose clients may close their half first; its later faults end no daemon. */
export function listenAt(path: string, onSocket: (socket: Socket) => void): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, onSocket);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      server.off('error', reject);
      server.on('error', () => {});
      resolve(server);
    });
  });
}
