import { chmodSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { World } from './world.ts';

/** What may happen to one hook around the real launcher. */
export const HOOK_FAULTS = {
  /** Killed before it asks the daemon. */
  early: 'kill -9 $PPID $$',
  /** Killed after the daemon answered, before anything is printed. */
  swallowed: '"$0.real" "$@" >/dev/null; kill -9 $PPID $$',
  /** Prints nothing of the answer, and ends well. */
  silent: '"$0.real" "$@" >/dev/null; exit 0',
  /** Killed after all was printed. */
  late: '"$0.real" "$@"; kill -9 $PPID $$',
  /** Prints its answer and then outlasts every timeout. */
  hang: '"$0.real" "$@"; exec sleep 30',
} as const;

export type HookFault = keyof typeof HOOK_FAULTS;

export interface HookTime {
  event: string;
  ms: number;
}

export interface Shim {
  /** The next hook of this event meets the fault; later ones are well again. */
  once(event: string, fault: HookFault): void;
  /** Whether the planned fault has happened. */
  spent(): boolean;
  /** How long each hook took so far, in order of their ends. */
  times(): HookTime[];
}

/** Puts a script in the launcher's place, that calls it, clocks it, and spoils it where a test wants that. */
export function wrapLauncher(world: World): Shim {
  const launcher = join(world.busHome, 'bin/agentbus-hook');
  const plan = join(world.root, 'fault');
  const log = join(world.root, 'hooks.log');
  const cases = Object.entries(HOOK_FAULTS).map(([name, script]) => `    ${name}) ${script} ;;`);
  renameSync(launcher, `${launcher}.real`);
  writeFileSync(
    launcher,
    `#!/bin/sh
if [ -e '${plan}' ] && read -r event fault <'${plan}' && [ "$event" = "$2" ] && mv '${plan}' '${plan}.spent'; then
  case "$fault" in
${cases.join('\n')}
  esac
fi
began=$(date +%s%N)
"$0.real" "$@"
echo "$2 $((($(date +%s%N) - began) / 1000000))" >>'${log}'
`,
  );
  chmodSync(launcher, 0o755);
  return {
    once: (event, fault) => writeFileSync(plan, `${event} ${fault}\n`),
    spent: () => !existsSync(plan),
    times() {
      if (!existsSync(log)) return [];
      const lines = readFileSync(log, 'utf8').trim().split('\n');
      return lines.map((line) => ({ event: line.split(' ')[0]!, ms: Number(line.split(' ')[1]) }));
    },
  };
}

/** Lowers the harness's own timeout of one event to a second. */
export function shortenTimeout(world: World, harness: 'claude' | 'codex', event: string): void {
  const path = harness === 'claude' ? join(world.claudeHome, 'settings.json') : join(world.codexHome, 'hooks.json');
  const config = JSON.parse(readFileSync(path, 'utf8')) as { hooks: Record<string, { hooks: { timeout?: number }[] }[]> };
  for (const group of config.hooks[event] ?? []) for (const hook of group.hooks) hook.timeout = 1;
  writeFileSync(path, JSON.stringify(config));
}
