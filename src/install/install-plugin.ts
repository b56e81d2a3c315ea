// `agentbus install --plugin`: what Claude Code's plugin needs from this side.
import type { Harness } from '../core/harness.ts';
import { AgentBusError } from '../core/errors.ts';
import { homePaths } from '../core/paths.ts';
import { shellQuote } from '../hook/launcher.ts';
import { staleLaunchers, writeLaunchers } from './launchers.ts';
import { locked } from './lock.ts';
import { checkPaths, type InstallOptions } from './options.ts';
import { marketplaceOf, PLUGIN, pluginSettings } from './plugin.ts';
import type { HarnessReport } from './report.ts';
import { uninstallHarness } from './uninstall.ts';

/** A path for a person to paste. */
function plainOrQuoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : shellQuote(path);
}

/** Takes merged entries out and writes what the plugin's hooks call; Claude Code itself adds the plugin. */
export async function installPlugin(harness: Harness, options: InstallOptions): Promise<HarnessReport> {
  if (harness.install.format !== 'claude')
    throw new AgentBusError('AB-1001', `${harness.title} takes no plugin of AgentBus`, 'use --plugin with --harness claude alone');
  checkPaths(options);
  const launchers = staleLaunchers(options).map(({ path }) => path);
  const removed = await uninstallHarness(harness, options);
  if (!options.dryRun) await locked(homePaths(options.agentbusHome).run, () => writeLaunchers(options));
  const files = removed.files.filter(({ change }) => change !== 'unchanged');
  const on = pluginSettings(harness, options) !== null;
  const notes = [
    ...removed.notes,
    on
      ? 'Claude Code has the plugin switched on.'
      : `now run: claude plugin marketplace add ${plainOrQuoted(marketplaceOf(options.dist))} && claude plugin install ${PLUGIN}`,
  ];
  return { ...removed, files, launchers, notes };
}
