import { defineCommand } from 'citty';
import { AgentBusError } from '../core/errors.ts';
import { agentbusHome, homePaths } from '../core/paths.ts';
import { DEFAULTS, readSettings, SETTINGS, type Value } from '../daemon/settings.ts';
import { findHarness } from '../harness/registry.ts';
import { readSnapshot, replaceFiles, type Snapshot } from '../install/files.ts';
import { decodeFile, encodeFile, splice } from '../install/text.ts';
import { setToml } from '../install/toml.ts';
import { jsonArg, print, table, usageError } from './context.ts';

function parseValue(key: string, text: string): Value {
  const { choices } = SETTINGS[key]!;
  const value = choices.find((choice) => String(choice) === text);
  if (value !== undefined) return value;
  const words = choices.map(String);
  throw new AgentBusError(
    'AB-1003',
    `${key} takes ${words.slice(0, -1).join(', ')} or ${words.at(-1)}`,
    `for instance: agentbus config set ${key} ${words.at(-1)}`,
  );
}

function known(key: string | undefined): string {
  if (key !== undefined && Object.hasOwn(DEFAULTS, key)) return key;
  throw new AgentBusError('AB-1003', `no such setting: ${String(key).slice(0, 60)}`, `settings are ${Object.keys(DEFAULTS).join(', ')}`);
}

/** Whether what install writes depends on the setting. */
function changesEntries(key: string): boolean {
  const [id = '', name] = key.split('.');
  return name === 'push' && findHarness(id)?.install.waiters !== undefined;
}

/** The text with one setting changed; everything else in it stays. Throws AB-1003. */
function withSetting(text: string, key: string, value: Value): string {
  const [section = '', name = ''] = key.split('.');
  try {
    const changed = splice({ text, spans: null }, setToml(text, [section, name], value)).text;
    if (readSettings(changed)[key] === value) return changed;
  } catch {
    // What came out would not be TOML: `section` is something else there, for instance.
  }
  throw new AgentBusError(
    'AB-1003',
    `${key} stands in config.toml in a form that can't be changed here`,
    `write [${section}] and ${name} = ${JSON.stringify(value)} by hand`,
  );
}

/** Writes the file where its links lead, and nothing over what somebody else wrote meanwhile. */
function replace(snapshot: Snapshot, next: Buffer): void {
  const written = replaceFiles(
    [{ snapshot, next }],
    () => undefined,
    () => 'Check its owner and mode.',
  );
  if (!written) throw new AgentBusError('AB-2003', `${snapshot.path} was changed meanwhile`, 'Run the command again.');
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
    const snapshot = readSnapshot(paths.config);
    const { text, bom } = decodeFile(snapshot.bytes ?? Buffer.alloc(0), paths.config);
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
    replace(snapshot, encodeFile(withSetting(text, key, value), bom));
    const again = value !== values[key] && changesEntries(key);
    print(args.json, { [key]: value, ...(again ? { reinstall: true } : {}) }, () =>
      again ? `${key} = ${value}\nIt needs other hook entries: run \`agentbus install\`.` : `${key} = ${value}`,
    );
  },
});
