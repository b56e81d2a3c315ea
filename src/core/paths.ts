import { homedir, tmpdir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';

export interface HomePaths {
  /** AGENTBUS_HOME, mode 0700. */
  home: string;
  store: string;
  hubStore: string;
  lock: string;
  keys: string;
  bin: string;
  hookLauncher: string;
  mcpLauncher: string;
  waitLauncher: string;
  run: string;
  log: string;
  config: string;
  receipts: string;
  /** 0600; the local token that every call on the control socket carries. */
  token: string;
  /** Written by the daemon, for `status`: {pid, version, started}. */
  daemonInfo: string;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Where AgentBus keeps its state: AGENTBUS_HOME, else `~/.agentbus`. */
export function agentbusHome(env: Env = process.env): string {
  const set = env['AGENTBUS_HOME'];
  // One spelling: the name of the sockets' directory may be a hash of it.
  if (set !== undefined && isAbsolute(set)) return resolve(set);
  return resolve(env['HOME'] || homedir(), '.agentbus');
}

export function homePaths(home: string): HomePaths {
  return {
    home,
    store: join(home, 'agentbus.db'),
    hubStore: join(home, 'hub.db'),
    lock: join(home, 'run', 'daemon.lock'),
    keys: join(home, 'keys'),
    bin: join(home, 'bin'),
    hookLauncher: join(home, 'bin', 'agentbus-hook'),
    mcpLauncher: join(home, 'bin', 'agentbus-mcp'),
    waitLauncher: join(home, 'bin', 'agentbus-wait'),
    run: join(home, 'run'),
    log: join(home, 'log'),
    config: join(home, 'config.toml'),
    receipts: join(home, 'receipts'),
    token: join(home, 'run', 'token'),
    daemonInfo: join(home, 'run', 'daemon.json'),
  };
}

/** The longest usable name of a Unix socket, in bytes. Node cuts longer ones silently. */
export function socketPathLimit(platform: NodeJS.Platform = process.platform): number {
  return platform === 'linux' ? 107 : 103;
}

/** FNV-1a, 64 bits, as hex. Not for secrets: the directory that it names is checked for its owner. node:crypto would cost the relay 3 ms. */
function shortHash(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash.toString(16).padStart(16, '0');
}

const LONGEST_SOCKET_NAME = 'claude-control.sock';

/**
 * The directory of the sockets: `<home>/run`, or, where that would make a socket's name too long,
 * a short one that depends on the home and the user alone, so that a hook with a bare environment
 * finds the same place as the daemon.
 */
export function socketDir(home: string, uid: number = process.getuid?.() ?? 0, platform: NodeJS.Platform = process.platform): string {
  const inside = join(home, 'run');
  if (Buffer.byteLength(join(inside, LONGEST_SOCKET_NAME)) <= socketPathLimit(platform)) return inside;
  return join(platform === 'linux' ? '/tmp' : tmpdir(), `agentbus-${uid}`, shortHash(home));
}

/** The directory of the sockets that others could have made first and would then listen at; null where it lies in the home. */
export function exposedPlace(home: string): string | null {
  const sockets = socketDir(home);
  return sockets === join(home, 'run') ? null : dirname(sockets);
}

/** Hook socket of one harness: takes a hook payload, gives hook JSON. */
export function hookSocket(home: string, harness: string): string {
  return join(socketDir(home), `${harness}.sock`);
}

/** The relay's socket: one JSON header, then the payload. */
export function relaySocket(home: string): string {
  return join(socketDir(home), 'relay.sock');
}

/** Where waiters of idle sessions wait: one line in, the wake line out. */
export function wakeSocket(home: string): string {
  return join(socketDir(home), 'wake.sock');
}

/** HTTP with the local token. */
export function controlSocket(home: string): string {
  return join(socketDir(home), 'control.sock');
}
