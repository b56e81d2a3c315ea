// Doctor's look at what all harnesses share: AGENTBUS_HOME, the sockets, the launchers, SQLite under the baked Node.
import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { homePaths, socketDir } from '../core/paths.ts';
import { readLauncher, type BakedPaths } from './baked.ts';
import { createChecker, type Check, type Checker } from './checks.ts';
import { staleLaunchers } from './launchers.ts';
import type { InstallOptions } from './options.ts';

const REINSTALL = 'Run `agentbus install`.';

function may(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

/** A directory that has to be the user's alone; one that is not there yet is made when it is needed. False: nothing in it can be reached. */
function checkPrivate(checker: Checker, name: string, path: string): boolean {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat) return true;
  const own = process.getuid?.() ?? stat.uid;
  const mode = stat.mode & 0o777;
  if (!stat.isDirectory() || stat.uid !== own)
    checker.fail(`${name} ${path} is not a directory of yours`, 'Remove it, or set another AGENTBUS_HOME.');
  else if (!may(path, constants.W_OK | constants.X_OK))
    checker.fail(`${name} ${path} cannot be written`, `Run \`chmod 700 ${path}\`, or set another AGENTBUS_HOME.`);
  // The daemon closes it at its next start.
  else if ((mode & 0o077) !== 0) checker.warn(`${name} ${path} is open to others (mode ${mode.toString(8)})`, `Run \`chmod 700 ${path}\`.`);
  else checker.ok(`${name} ${path} is yours alone`);
  return stat.isDirectory() && may(path, constants.X_OK);
}

/** The launcher's paths: what is gone behind them, the command hides, since a hook must never fail. */
export function checkBus(options: InstallOptions): Promise<{ checks: Check[]; usable: boolean }> {
  const checker = createChecker('agentbus');
  const { home, hookLauncher, mcpLauncher, run } = homePaths(options.agentbusHome);
  const end = (usable: boolean): { checks: Check[]; usable: boolean } => ({ checks: checker.checks, usable });
  if (!existsSync(home)) {
    checker.fail(`${home} is not there`, REINSTALL);
    return Promise.resolve(end(false));
  }
  if (!checkPrivate(checker, 'the home', home)) return Promise.resolve(end(false));
  const sockets = socketDir(home);
  if (sockets !== run) checkPrivate(checker, 'the directory of the sockets', dirname(sockets));
  checkPrivate(checker, 'the directory of the sockets', sockets);
  if (!existsSync(mcpLauncher)) checker.fail(`the MCP launcher ${mcpLauncher} is gone`, REINSTALL);
  if (!existsSync(hookLauncher)) checker.fail(`the hook launcher ${hookLauncher} is gone`, REINSTALL);
  else if (!may(hookLauncher, constants.X_OK)) checker.fail(`the hook launcher ${hookLauncher} is not executable`, REINSTALL);
  else return checkLauncher(checker, hookLauncher, options).then(end);
  return Promise.resolve(end(true));
}

async function checkLauncher(checker: Checker, launcher: string, options: InstallOptions): Promise<boolean> {
  const baked = readLauncher(launcher);
  if (!baked) {
    checker.warn(`the hook launcher ${launcher} is not one that install wrote`, 'If it is not yours: `agentbus install`.');
    return true;
  }
  const gone = reportGone(checker, baked, options);
  const stale = staleLaunchers(options).filter(({ isNew }) => !isNew);
  if (stale.length > 0 && !gone)
    checker.warn(
      `the launchers are of another version or place (node ${baked.node}, dist ${baked.dist}, nc ${baked.nc ?? 'none'})`,
      REINSTALL,
    );
  else if (!gone) checker.ok(`the launchers point at node ${baked.node}, dist ${baked.dist}, nc ${baked.nc ?? 'none'}`);
  if (!baked.nc)
    checker.warn('no nc here carries Unix sockets, so each hook starts Node', 'Install netcat-openbsd, then run `agentbus install`.');
  if (!gone) await checkSqlite(checker, baked);
  return !gone;
}

function reportGone(checker: Checker, { home, node, dist, nc }: BakedPaths, options: InstallOptions): boolean {
  let gone = false;
  const lost = (what: string): void => {
    gone = true;
    checker.fail(`${what}, which the launchers point at`, REINSTALL);
  };
  if (home !== options.agentbusHome) lost(`AGENTBUS_HOME was ${home}`);
  if (!may(node, constants.X_OK)) lost(`node is gone from ${node}`);
  for (const file of ['hook.cjs', 'daemon.mjs', 'mcp.mjs'])
    if (!may(join(dist, file), constants.R_OK)) lost(`AgentBus is gone from ${join(dist, file)}`);
  if (nc && !may(nc, constants.X_OK)) checker.warn(`nc is gone from ${nc}, so each hook starts Node`, REINSTALL);
  return gone;
}

const LOAD = 'const D=require("node:module").createRequire(process.argv[1])("better-sqlite3");new D(":memory:").close()';

/** A native module belongs to one Node ABI: after a switch of Node the daemon could not start. */
function checkSqlite(checker: Checker, { node, dist }: BakedPaths): Promise<void> {
  return new Promise((resolve) => {
    execFile(node, ['-e', LOAD, join(dist, 'daemon.mjs')], { timeout: 10_000 }, (error, _stdout, stderr) => {
      if (error) {
        const why = /NODE_MODULE_VERSION|ERR_DLOPEN_FAILED/.test(stderr) ? 'was built for another Node' : 'does not load';
        const line = stderr.split('\n').find((text) => /Error/.test(text)) ?? error.message.split('\n', 1)[0] ?? '';
        checker.fail(
          `better-sqlite3 ${why} (${line.trim().slice(0, 160)})`,
          'Install AgentBus again with this Node, then run `agentbus install`.',
        );
      } else checker.ok(`SQLite loads in ${node}`);
      resolve();
    });
  });
}
