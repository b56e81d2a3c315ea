// The trust of our handlers, in whichever of Codex's two files they are.
import { join } from 'node:path';
import { jsonEvents } from './codex.ts';
import type { Place } from './options.ts';
import { readToml } from './toml.ts';
import { tomlEvents } from './toml-hooks.ts';
import { codexKeyDir, codexTrust, type TrustEntry } from './trust.ts';

interface File {
  text: string;
  path: string;
}

/** `trust` is the user's config.toml: at user scope `config` itself. */
export function trustOf(files: { hooks: File; config: File; trust: File }, place: Place): TrustEntry[] {
  const { hooks, config, trust } = files;
  const directory = place.scope === 'project' ? join(place.project ?? '/', '.codex') : codexKeyDir(place.home, place.env);
  const state = (readToml(trust.text, trust.path)['hooks'] as Record<string, unknown> | undefined)?.['state'];
  return [
    ...codexTrust(`${directory}/hooks.json`, jsonEvents(hooks.text, hooks.path), state),
    ...codexTrust(`${directory}/config.toml`, tomlEvents(readToml(config.text, config.path), config.path), state),
  ];
}
