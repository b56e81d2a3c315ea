import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { defineCommand } from 'citty';
import { AgentBusError } from '../core/errors.ts';
import { agentbusHome, homePaths } from '../core/paths.ts';
import { writePrivate } from '../daemon/private.ts';
import { DEFAULTS, readSettings, withSetting } from '../daemon/settings.ts';
import { jsonArg, print, table, usageError } from './context.ts';

function parseValue(key: string, text: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  throw new AgentBusError('AB-1003', `${key} takes true or false`, `for instance: agentbus config set ${key} false`);
}

function known(key: string | undefined): string {
  if (key !== undefined && Object.hasOwn(DEFAULTS, key)) return key;
  throw new AgentBusError('AB-1003', `no such setting: ${String(key).slice(0, 60)}`, `settings are ${Object.keys(DEFAULTS).join(', ')}`);
}

export const configCommand = defineCommand({
  meta: {
    name: 'config',
    description: 'Settings: list, get <key>, set <key> <value>. Example: agentbus config set claude.stop_inject false',
  },
  args: {
    action: { type: 'positional', description: 'list, get or set', required: true },
    key: { type: 'positional', description: 'For instance claude.stop_inject', required: false },
    value: { type: 'positional', description: 'The new value', required: false },
    ...jsonArg,
  },
  run({ args }) {
    const paths = homePaths(agentbusHome());
    const text = existsSync(paths.config) ? readFileSync(paths.config, 'utf8') : '';
    const values = { ...DEFAULTS, ...readSettings(text) };
    if (args.action === 'list') {
      return print(args.json, values, () =>
        table(
          ['SETTING', 'VALUE'],
          Object.entries(values).map(([key, value]) => [key, String(value)]),
        ),
      );
    }
    if (args.action === 'get') {
      const key = known(args.key);
      return print(args.json, { [key]: values[key] }, () => String(values[key]));
    }
    if (args.action !== 'set')
      throw usageError(`no such action: ${args.action.slice(0, 40)}`, 'agentbus config list, get <key> or set <key> <value>');
    const key = known(args.key);
    const value = parseValue(key, args.value ?? '');
    mkdirSync(paths.home, { recursive: true, mode: 0o700 });
    writePrivate(paths.config, withSetting(text, key, value));
    print(args.json, { [key]: value }, () => `${key} = ${value}`);
  },
});
