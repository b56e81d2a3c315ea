// Settings that keep hooks from running: of the user, of the project and of an administrator.
import { join } from 'node:path';
import { isTable } from './hook-plan.ts';
import { peek } from './peek.ts';

export interface Silencer {
  path: string;
  setting: string;
}

const MANAGED_CLAUDE = ['/etc/claude-code/managed-settings.json', '/Library/Application Support/ClaudeCode/managed-settings.json'];

/** Any one of these files silences the hooks of all but the administrator. */
export function claudeSilencers(userSettings: string, project: string | null): Silencer[] {
  const own = [userSettings];
  if (project !== null) own.push(join(project, '.claude', 'settings.json'), join(project, '.claude', 'settings.local.json'));
  const on = (path: string, names: readonly string[]): Silencer[] => {
    const settings = peek(path);
    return names.filter((name) => settings[name] === true).map((setting) => ({ path, setting }));
  };
  return [
    ...own.flatMap((path) => on(path, ['disableAllHooks'])),
    ...MANAGED_CLAUDE.flatMap((path) => on(path, ['allowManagedHooksOnly', 'disableAllHooks'])),
  ];
}

/** `config` is the parsed config.toml; a profile that it selects counts too. */
export function codexSilencers(path: string, config: Record<string, unknown>): Silencer[] {
  const profiles = config['profiles'];
  const profile = config['profile'];
  const chosen = isTable(profiles) && typeof profile === 'string' ? profiles[profile] : undefined;
  const places: [string, unknown][] = [['features', config['features']]];
  if (isTable(chosen)) places.push([`profiles.${String(profile)}.features`, chosen['features']]);
  return places.flatMap(([name, features]) =>
    ['hooks', 'codex_hooks']
      .filter((key) => isTable(features) && features[key] === false)
      .map((key) => ({ path, setting: `[${name}] ${key} = false` })),
  );
}
