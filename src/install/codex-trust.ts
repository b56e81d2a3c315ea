// The trust of our handlers, in whichever of Codex's two files they are.
import { jsonEvents } from './codex.ts';
import type { Env } from './options.ts';
import { readToml } from './toml.ts';
import { tomlEvents } from './toml-hooks.ts';
import { codexKeyDir, codexTrust, type TrustEntry } from './trust.ts';

interface File {
  text: string;
  path: string;
}

export function trustOf(hooks: File, config: File, home: string, env: Env): TrustEntry[] {
  const directory = codexKeyDir(home, env);
  const parsed = readToml(config.text, config.path);
  const state = (parsed['hooks'] as Record<string, unknown> | undefined)?.['state'];
  return [
    ...codexTrust(`${directory}/hooks.json`, jsonEvents(hooks.text, hooks.path), state),
    ...codexTrust(`${directory}/config.toml`, tomlEvents(parsed, config.path), state),
  ];
}
