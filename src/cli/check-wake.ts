// Doctor's look at waking: what the setting needs, and which live sessions can be woken right now.
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Harness } from '../core/harness.ts';
import { homePaths } from '../core/paths.ts';
import { callDaemon } from '../daemon/client.ts';
import type { AgentView } from '../daemon/presence.ts';
import { settingsReader } from '../daemon/settings.ts';
import { readLauncher } from '../install/baked.ts';
import { createChecker, type Check, type Checker } from '../install/checks.ts';
import { detectVersion, programsNamed } from '../install/detect.ts';
import type { InstallOptions } from '../install/options.ts';

function answers(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const attempt = connect(socket);
    attempt.once('connect', () => resolve(true)).once('error', () => resolve(false));
    attempt.once('connect', () => attempt.destroy());
  });
}

/** A waiter is an entry of its own, which checkEntries counts; here is what it runs on. */
async function checkWaiters(checker: Checker, harness: Harness, options: InstallOptions): Promise<void> {
  const { title } = harness;
  const { hookLauncher, waitLauncher } = homePaths(options.agentbusHome);
  const version = await detectVersion(harness, options.env);
  if (harness.install.waiters?.(version).length === 0)
    return checker.warn(`${title} ${version ?? 'of unknown version'} is not woken: that was seen to work in later ones only`, 'Update it.');
  if (!existsSync(waitLauncher)) checker.fail(`${title}: the waiter ${waitLauncher} is gone`, 'Run `agentbus install`.');
  if (readLauncher(hookLauncher)?.nc === null)
    checker.warn(`${title}: without nc nothing waits, so no session is woken`, 'Install netcat-openbsd, then run `agentbus install`.');
}

async function checkCodex(checker: Checker, { title, install }: Harness, push: string, options: InstallOptions): Promise<void> {
  if (push === 'queue') {
    const [program] = programsNamed(install.program, options.env['PATH'] ?? '');
    if (program) checker.ok(`${title}: \`codex queue\` is that of ${program}`);
    else checker.warn(`${title}: no codex on PATH, so no session is woken`, 'Put it on PATH, then run `agentbus daemon stop`.');
    return;
  }
  const socket = join(install.configDir(options.home, options.env), 'app-server-control', 'app-server-control.sock');
  if (await answers(socket)) checker.ok(`${title}: its own daemon answers at ${socket}`);
  else checker.warn(`${title}: its own daemon does not answer at ${socket}, so no session is woken`, 'Codex starts it with a session.');
}

async function checkLive(checker: Checker, { id, title }: Harness, options: InstallOptions): Promise<void> {
  let agents: AgentView[];
  try {
    agents = (await callDaemon<{ agents: AgentView[] }>(options.agentbusHome, '/agents')).agents;
  } catch {
    // The line on the daemon says why.
    return;
  }
  const live = agents.filter(({ harness, presence, headless }) => harness === id && !headless && ['idle', 'busy'].includes(presence));
  const deaf = live.filter(({ badges }) => !badges.includes('wake')).map(({ address }) => address);
  if (deaf.length > 0)
    checker.warn(
      `${title}: cannot be woken right now: ${deaf.join(', ')}`,
      'A session that was there before waking was switched on can be after its next turn.',
    );
  else if (live.length > 0) checker.ok(`${title}: can be woken right now: ${live.map(({ address }) => address).join(', ')}`);
}

/** Nothing while `<harness>.push` is off. */
export async function checkWake(harness: Harness, options: InstallOptions): Promise<Check[]> {
  const checker = createChecker(harness.id);
  const push = settingsReader(homePaths(options.agentbusHome).config, () => undefined)().push(harness.id);
  if (push === 'off') return [];
  if (harness.install.waiters) await checkWaiters(checker, harness, options);
  else await checkCodex(checker, harness, push, options);
  await checkLive(checker, harness, options);
  return checker.checks;
}
