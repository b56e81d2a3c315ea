import type { Server, Socket } from 'node:net';
import { listenAt } from './hook-socket.ts';

/** The waiters of idle sessions, one for each process of a harness. */
export interface Waiters {
  has(pid: number): boolean;
  /** Prints a line at the waiter of this process, which ends by it. */
  wake(pid: number, line: string): boolean;
  listen(path: string): Promise<Server>;
  close(): void;
}

export interface WaitersOptions {
  alive(pid: number): boolean;
  /** Whether sessions of this harness are to be woken at all; a waiter that is not wanted is sent home. */
  wanted(harness: string): boolean;
  onWaiter(pid: number): void;
}

interface Waiter {
  socket: Socket;
  harness: string;
  /** The session's process, and the shell that would carry the waiter's status to it. */
  pids: [session: number, shell: number];
}

const HELLO = /^([a-z0-9-]{1,32}) (\d{1,9}) (\d{1,9})\n/;
const HELLO_BYTES = 64;
const HELLO_TIME = 2_000;
// ms. A killed session tells nobody, and its waiter would sit on the socket for ever.
const LOOK = 3_000;

export function createWaiters({ alive, wanted, onWaiter }: WaitersOptions): Waiters {
  const waiters = new Map<number, Waiter>();
  let look: NodeJS.Timeout | null = null;

  function isOf(pid: number): Waiter | null {
    const waiter = waiters.get(pid);
    return waiter && !waiter.socket.destroyed && waiter.pids.every(alive) ? waiter : null;
  }

  function dismiss(socket: Socket): void {
    socket.end('bye\n', () => socket.destroySoon());
  }

  function watch(): void {
    look ??= setInterval(() => {
      for (const [pid, { socket, harness }] of waiters) {
        if (!isOf(pid)) socket.destroy();
        else if (!wanted(harness)) dismiss(socket);
      }
      if (waiters.size > 0) return;
      clearInterval(look!);
      look = null;
    }, LOOK).unref();
  }

  function join(waiter: Waiter): void {
    const { socket, harness } = waiter;
    const [pid] = waiter.pids;
    if (!wanted(harness)) return dismiss(socket);
    const before = waiters.get(pid);
    waiters.set(pid, waiter);
    // Claude Code starts one at every stop, and none of them ends by itself.
    if (before) dismiss(before.socket);
    socket.once('close', () => {
      if (waiters.get(pid)?.socket === socket) waiters.delete(pid);
    });
    watch();
    onWaiter(pid);
  }

  function serve(socket: Socket): void {
    let said = '';
    socket.setTimeout(HELLO_TIME, () => socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      if (said.includes('\n')) return;
      said += chunk.toString('latin1');
      const hello = HELLO.exec(said);
      if (hello) {
        socket.setTimeout(0);
        join({ socket, harness: hello[1]!, pids: [Number(hello[2]), Number(hello[3])] });
      } else if (said.includes('\n') || said.length > HELLO_BYTES) socket.destroy();
    });
  }

  return {
    has: (pid) => isOf(pid) !== null,
    wake(pid, line) {
      const waiter = isOf(pid);
      if (!waiter) return false;
      waiters.delete(pid);
      waiter.socket.end(`${line}\n`, () => waiter.socket.destroySoon());
      return true;
    },
    // Some nc close their half as soon as they have nothing more to say.
    listen: (path) => listenAt(path, serve),
    close() {
      if (look) clearInterval(look);
      for (const { socket } of waiters.values()) socket.destroy();
    },
  };
}
