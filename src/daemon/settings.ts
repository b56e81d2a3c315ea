import { readFileSync, statSync } from 'node:fs';
import { parse } from '@iarna/toml';
import { record } from '../core/payload.ts';

/** What a person can set in `$AGENTBUS_HOME/config.toml`. */
export interface Settings {
  /** `<harness>.stop_inject`: whether a message may extend a stop of this harness. Default true. */
  stopInject(harness: string): boolean;
}

/** Reads the settings again whenever the file has changed; a file that does not parse counts as empty. */
export function settingsReader(file: string, onProblem: (message: string) => void): () => Settings {
  let stamp = '';
  let values: Record<string, unknown> = {};
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
        if (now !== 'none') values = parse(readFileSync(file, 'utf8'));
      } catch (error) {
        onProblem(`config.toml is ignored: ${error instanceof Error ? error.message.split('\n', 1)[0] : String(error)}`);
      }
    }
    return { stopInject: (harness) => record(values[harness])['stop_inject'] !== false };
  };
}
