import { readFileSync, statSync } from 'node:fs';
import { parse } from '@iarna/toml';
import { AgentBusError } from '../core/errors.ts';
import { record } from '../core/payload.ts';
import { HARNESSES } from '../harness/registry.ts';

/** What a person can set in `$AGENTBUS_HOME/config.toml`, as `<harness>.<name>`: a boolean, or one word of a list. */
export type Value = boolean | string;
export type Values = Record<string, Value>;

export interface Setting {
  default: Value;
  choices: readonly Value[];
}

export const SETTINGS: Readonly<Record<string, Setting>> = Object.fromEntries(
  HARNESSES.flatMap(({ id, push }): [string, Setting][] => [
    [`${id}.stop_inject`, { default: true, choices: [true, false] }],
    [`${id}.push`, { default: 'off', choices: ['off', ...push] }],
  ]),
);

export const DEFAULTS: Readonly<Values> = Object.fromEntries(Object.entries(SETTINGS).map(([key, setting]) => [key, setting.default]));

export interface Settings {
  /** `<harness>.stop_inject`: whether a message may extend a stop of this harness. */
  stopInject(harness: string): boolean;
  /** `<harness>.push`: how an idle session of this harness is woken; `off`: it is not. */
  push(harness: string): string;
}

/** The known settings of a config text. Throws AB-1003 for text that is no TOML. */
export function readSettings(text: string): Values {
  let tables: Record<string, unknown>;
  try {
    tables = parse(text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n'));
  } catch (error) {
    const what = error instanceof Error ? error.message.split('\n', 1)[0] : String(error);
    throw new AgentBusError('AB-1003', `config.toml can't be read: ${what}`, 'mend it, or remove it to have the defaults');
  }
  return Object.fromEntries(
    Object.entries(SETTINGS).flatMap(([key, { choices }]) => {
      const [table = '', name = ''] = key.split('.');
      const value = choices.find((choice) => choice === record(tables[table])[name]);
      return value === undefined ? [] : [[key, value]];
    }),
  );
}

/** Reads the settings again whenever the file has changed; a file that does not parse counts as empty. */
export function settingsReader(file: string, onProblem: (message: string) => void): () => Settings {
  let stamp = '';
  let values: Values = {};
  return () => {
    let now = 'none';
    try {
      const { mtimeMs, size, ino } = statSync(file);
      now = `${mtimeMs}:${size}:${ino}`;
    } catch {
      // No file, no settings.
    }
    if (now !== stamp) {
      stamp = now;
      values = {};
      try {
        if (now !== 'none') values = readSettings(readFileSync(file, 'utf8'));
      } catch (error) {
        onProblem(error instanceof Error ? error.message : String(error));
      }
    }
    return {
      stopInject: (harness) => values[`${harness}.stop_inject`] !== false,
      push: (harness) => String(values[`${harness}.push`] ?? 'off'),
    };
  };
}
