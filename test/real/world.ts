import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startFakeMessages } from '../lab/fake-messages.ts';
import { startFakeResponses } from '../lab/fake-responses.ts';
import type { FakeModel } from '../lab/model.ts';
import { CLAUDE, type Cli, CODEX, type HeadlessOptions } from './cli.ts';
import { isAlive } from '../../src/core/alive.ts';
import { endAll, type Ran, run, type Running, start, startedWithHome } from './process.ts';

const AGENTBUS = fileURLToPath(new URL('../../bin/agentbus.mjs', import.meta.url));

// Fakes, put together here so that no file of ours looks as if it held a key.
const CLAUDE_KEY = ['sk', 'ant', 'lab', 'x'.repeat(24)].join('-');
const CODEX_KEY = ['lab', 'key'].join('-');

export interface RunExtras extends HeadlessOptions {
  env?: Record<string, string>;
  cwd?: string;
  stdin?: string | null;
  timeout?: number;
}

/** A machine of its own in a temporary folder: home, project, both CLIs configured for fake models. */
export interface World {
  root: string;
  home: string;
  project: string;
  busHome: string;
  codexHome: string;
  claudeHome: string;
  models: Record<'claude' | 'codex', FakeModel>;
  /** The whole environment of a program in this world. */
  env(extra?: Record<string, string>): Record<string, string>;
  model(cli: Cli): FakeModel;
  agentbus(args: readonly string[], extras?: RunExtras): Promise<Ran>;
  /** `agentbus … --json`, parsed; throws with its output when it fails. */
  ask<T>(args: readonly string[], extras?: RunExtras): Promise<T>;
  headless(cli: Cli, prompt: string, extras?: RunExtras): Promise<Ran>;
  start(cli: Cli, args: readonly string[], extras?: RunExtras): Running;
  startHeadless(cli: Cli, prompt: string, extras?: RunExtras): Running;
  daemonPid(): number | null;
  close(): Promise<void>;
}

/** Answers to the first-run questions of Claude Code: theme, trust in the folder, the key in the environment. */
function claudeState(project: string): object {
  return {
    numStartups: 3,
    hasCompletedOnboarding: true,
    lastOnboardingVersion: '2.1.400',
    theme: 'dark',
    autoUpdates: false,
    bypassPermissionsModeAccepted: true,
    customApiKeyResponses: { approved: [CLAUDE_KEY.slice(-20)], rejected: [] },
    projects: { [project]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true, allowedTools: [] } },
  };
}

function codexConfig(project: string, url: string): string {
  return `model = "lab-model"
model_provider = "lab"
check_for_update_on_startup = false

[model_providers.lab]
name = "lab"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "LAB_KEY"
request_max_retries = 2
stream_max_retries = 2

[analytics]
enabled = false

[projects."${project}"]
trust_level = "trusted"
`;
}

export async function createWorld(claude: Cli = CLAUDE, name = 'shop'): Promise<World> {
  // Short: sockets below it must fit into 107 bytes.
  const root = mkdtempSync(join(tmpdir(), 'ab-'));
  const at = { home: join(root, 'h'), project: join(root, name), busHome: join(root, 'h/.agentbus') };
  const codexHome = join(at.home, '.codex');
  const claudeHome = join(at.home, '.claude');
  const bin = join(root, 'bin');
  for (const folder of [at.home, at.project, codexHome, claudeHome, bin, join(root, 'tmp')]) mkdirSync(folder, { recursive: true });
  const models = { claude: await startFakeMessages(), codex: await startFakeResponses() };
  writeFileSync(join(claudeHome, '.claude.json'), JSON.stringify(claudeState(at.project)));
  writeFileSync(join(codexHome, 'config.toml'), codexConfig(at.project, models.codex.url));
  symlinkSync(claude.harness === 'claude' ? claude.bin : CLAUDE.bin, join(bin, 'claude'));
  symlinkSync(CODEX.bin, join(bin, 'codex'));
  symlinkSync(AGENTBUS, join(bin, 'agentbus'));

  const env = (extra: Record<string, string> = {}): Record<string, string> => ({
    PATH: `${bin}:${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
    HOME: at.home,
    TMPDIR: join(root, 'tmp'),
    SHELL: '/bin/sh',
    TERM: 'xterm-256color',
    LANG: 'C.UTF-8',
    AGENTBUS_HOME: at.busHome,
    AGENTBUS_NO_AUTO_JOIN: '1',
    CODEX_HOME: codexHome,
    CLAUDE_CONFIG_DIR: claudeHome,
    ANTHROPIC_BASE_URL: models.claude.url,
    ANTHROPIC_API_KEY: CLAUDE_KEY,
    LAB_KEY: CODEX_KEY,
    // Claude Code refuses to skip its questions as root unless it is told that it is contained; here it is.
    IS_SANDBOX: '1',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_ERROR_REPORTING: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    ...extra,
  });
  execFileSync('git', ['init', '-q', at.project], { env: env() });

  const options = (extras: RunExtras) => ({
    cwd: extras.cwd ?? at.project,
    env: env(extras.env),
    stdin: extras.stdin,
    timeout: extras.timeout,
  });
  const agentbus = (args: readonly string[], extras: RunExtras = {}): Promise<Ran> =>
    run(process.execPath, [AGENTBUS, ...args], options(extras));
  const startCli = (cli: Cli, args: readonly string[], extras: RunExtras = {}): Running => start(cli.bin, args, options(extras));
  const startHeadless = (cli: Cli, prompt: string, extras: RunExtras = {}): Running => startCli(cli, cli.headless(prompt, extras), extras);

  const daemonPid = (): number | null => {
    try {
      const pid = (JSON.parse(readFileSync(join(at.busHome, 'run/daemon.json'), 'utf8')) as { pid?: unknown }).pid;
      return typeof pid === 'number' ? pid : null;
    } catch {
      return null;
    }
  };

  return {
    root,
    ...at,
    codexHome,
    claudeHome,
    models,
    env,
    model: (cli) => models[cli.harness],
    agentbus,
    async ask<T>(args: readonly string[], extras: RunExtras = {}) {
      const ran = await agentbus([...args, '--json'], extras);
      if (ran.code !== 0) throw new Error(`agentbus ${args.join(' ')}: exit ${ran.code}\n${ran.stdout}${ran.stderr}`);
      return JSON.parse(ran.stdout) as T;
    },
    headless: (cli, prompt, extras) => startHeadless(cli, prompt, extras).ended,
    start: startCli,
    startHeadless,
    daemonPid,
    async close() {
      const daemon = daemonPid();
      // A test may have stopped it, and then it could not answer.
      if (daemon !== null && isAlive(daemon)) process.kill(daemon, 'SIGCONT');
      if (daemon !== null && isAlive(daemon)) await agentbus(['daemon', 'stop'], { timeout: 5_000 });
      // The daemon drops its environment, so it is known by its file only.
      await endAll(() => [...startedWithHome(at.home), ...(daemon !== null && isAlive(daemon) ? [daemon] : [])]);
      await Promise.all([models.claude.close(), models.codex.close()]);
      // Codex keeps the socket of its shared daemon outside its home.
      const control = join(codexHome, 'app-server-control/app-server-control.sock');
      if (existsSync(control)) rmSync(dirname(realpathSync(control)), { recursive: true, force: true });
      rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}
