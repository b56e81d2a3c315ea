// Claude Code's other way: a plugin that it keeps itself, in place of entries in its settings; never both.
import { dirname, join } from 'node:path';
import type { Harness } from '../core/harness.ts';
import { AgentBusError } from '../core/errors.ts';
import { isTable } from './hook-plan.ts';
import type { Place } from './options.ts';
import { peek } from './peek.ts';

export const PLUGIN = 'agentbus@agentbus';

/** Where the plugin's marketplace lies in this installation of AgentBus. */
export function marketplaceOf(dist: string): string {
  return join(dirname(dist), 'plugins', 'claude');
}

/** The settings file in which Claude Code has AgentBus's plugin switched on, whatever its marketplace is called; null: nowhere. */
export function pluginSettings(harness: Harness, place: Place): string | null {
  if (harness.install.format !== 'claude') return null;
  const files = [join(harness.install.configDir(place.home, place.env), 'settings.json')];
  if (place.project) files.push(join(place.project, '.claude', 'settings.json'), join(place.project, '.claude', 'settings.local.json'));
  const isOn = (plugins: unknown): boolean =>
    isTable(plugins) && Object.entries(plugins).some(([name, on]) => name.startsWith('agentbus@') && on === true);
  return files.find((file) => isOn(peek(file)['enabledPlugins'])) ?? null;
}

/** Throws AB-2008 where the plugin is on: its hooks and the merged ones would both run. */
export function refuseBoth(harness: Harness, place: Place): void {
  const file = pluginSettings(harness, place);
  if (file === null) return;
  throw new AgentBusError(
    'AB-2008',
    `${harness.title} has AgentBus as a plugin (${file})`,
    `\`claude plugin uninstall ${PLUGIN}\` first, or keep the plugin: \`agentbus install --harness claude --plugin\``,
  );
}
