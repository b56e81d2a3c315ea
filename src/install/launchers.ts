// The shell launchers that configs point at. Their paths never change, so an upgrade rewrites these, not the configs.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { homePaths, socketDir, socketPathLimit } from '../core/paths.ts';
import { renderHookLauncher, renderMcpLauncher, renderWaitLauncher } from '../hook/launcher.ts';
import { writeOwnFile } from './files.ts';
import type { Env, InstallOptions } from './options.ts';
import { programsNamed } from './detect.ts';

/** The launchers whose content or mode is not what this install would write. */
export function staleLaunchers(options: InstallOptions): { path: string; content: string; isNew: boolean }[] {
  const { agentbusHome: home, node, dist, nc } = options;
  const paths = homePaths(home);
  const all = [
    { path: paths.hookLauncher, content: renderHookLauncher({ home, sockets: socketDir(home), node, dist, nc }) },
    { path: paths.mcpLauncher, content: renderMcpLauncher({ home, node, dist }) },
    { path: paths.waitLauncher, content: renderWaitLauncher({ home, sockets: socketDir(home), nc }) },
  ];
  return all.filter((launcher) => !isCurrent(launcher)).map((launcher) => ({ ...launcher, isNew: !existsSync(launcher.path) }));
}

function isCurrent({ path, content }: { path: string; content: string }): boolean {
  try {
    return (statSync(path).mode & 0o777) === 0o755 && readFileSync(path, 'utf8') === content;
  } catch {
    return false;
  }
}

/** Writes the launchers where they changed; gives the paths written. */
export function writeLaunchers(options: InstallOptions): string[] {
  return staleLaunchers(options).map(({ path, content }) => {
    writeOwnFile(path, content, 0o755);
    return path;
  });
}

/** Sends one line through an nc and says whether the answer came back and the exit status was 0. */
function speaks(nc: string, socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(nc, ['-w', '2', '-U', socket], { stdio: ['pipe', 'pipe', 'ignore'], timeout: 3_000, killSignal: 'SIGKILL' });
    let answer = '';
    child.stdout.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')));
    child.stdin.on('error', () => undefined);
    child.on('error', () => resolve(false));
    child.on('close', (status) => resolve(status === 0 && answer === 'pong\n'));
    child.stdin.end('ping\n');
  });
}

/** An nc that really carries a Unix socket, and fails on a stale one: programs of that name differ in both. */
export async function findNc(env: Env): Promise<string | null> {
  const base = mkdtempSync(join(Buffer.byteLength(tmpdir()) < socketPathLimit() - 40 ? tmpdir() : '/tmp', 'agentbus-nc-'));
  const socket = join(base, 's');
  const server: Server = createServer((connection) => {
    connection.on('error', () => undefined);
    connection.once('data', () => connection.end('pong\n'));
  });
  try {
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(socket, resolve));
    for (const name of ['nc.openbsd', 'nc', 'ncat']) {
      for (const nc of programsNamed(name, `${env['PATH'] ?? ''}:/usr/bin:/bin:/usr/local/bin:/opt/homebrew/bin`)) {
        if ((await speaks(nc, socket)) && !(await speaks(nc, join(base, 'none')))) return nc;
      }
    }
    return null;
  } catch {
    return null;
  } finally {
    server.close();
    rmSync(base, { recursive: true, force: true });
  }
}
