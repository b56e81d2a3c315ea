import { renameSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * Stands in for one of the daemon's hook sockets, so that a test decides how far a call gets: nothing
 * goes on in either direction before the test says so. For one call.
 */
export interface Between {
  /** A hook has connected. */
  called(): boolean;
  /** What the hook sent so far. */
  payload(): string;
  /** Hands it to the daemon; `end`: as a hook does that died then. */
  pass(end?: boolean): void;
  /** The daemon's whole answer, once it is there. */
  answer(): string | null;
  /** Gives the hook that much of the answer. */
  give(characters?: number): void;
  /** Ends the answer. */
  end(): void;
  /** The hook has hung up. */
  left(): boolean;
  close(): Promise<void>;
}

export async function between(path: string): Promise<Between> {
  const real = `${path}.real`;
  renameSync(path, real);
  let hook: Socket | null = null;
  let daemon: Socket | null = null;
  let left = false;
  let answered = false;
  const sent: Buffer[] = [];
  const answer: Buffer[] = [];
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    hook = socket;
    socket.on('data', (chunk: Buffer) => sent.push(chunk));
    socket.on('error', () => {});
    socket.on('end', () => (left = true));
  });
  await new Promise<void>((resolve, reject) => server.on('error', reject).listen(path, resolve));
  return {
    called: () => hook !== null,
    payload: () => Buffer.concat(sent).toString('utf8'),
    pass(end = false) {
      daemon = connect({ path: real, allowHalfOpen: true });
      daemon.on('data', (chunk: Buffer) => answer.push(chunk));
      daemon.on('error', () => (answered = true));
      daemon.on('end', () => (answered = true));
      if (end) daemon.end(Buffer.concat(sent));
      else daemon.write(Buffer.concat(sent));
    },
    answer: () => (answered ? Buffer.concat(answer).toString('utf8') : null),
    give: (characters) => void hook?.write(Buffer.concat(answer).subarray(0, characters)),
    end: () => void hook?.end(),
    left: () => left,
    async close() {
      hook?.destroy();
      daemon?.destroy();
      await new Promise((resolve) => server.close(resolve));
      rmSync(path, { force: true });
      renameSync(real, path);
    },
  };
}
