// Doctor's proof of each hook: the written command, run as the harness runs it, has to bring the probe's answer back.
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import type { Harness } from '../core/harness.ts';
import { homePaths } from '../core/paths.ts';
import { readLauncher } from './baked.ts';
import type { Checker } from './checks.ts';
import type { InstalledHook, Inspection } from './inspect.ts';
import type { InstallOptions } from './options.ts';
import { bareEnv, mannersOf, proveHook, type HookRun, type Proof } from './prove.ts';
import type { TrustEntry, TrustStatus } from './trust.ts';
import { programOf } from './words.ts';

const UNTRUSTED: Partial<Record<TrustStatus, string>> = {
  untrusted: 'not trusted, so Codex skips it',
  modified: 'changed since it was trusted, so Codex skips it',
  disabled: 'disabled in /hooks, so Codex skips it',
};

/** Seconds; what a harness waits for a hook that names no timeout is longer than anybody would. */
const PATIENCE = 10;

function trustOfHook(hook: InstalledHook, trust: readonly TrustEntry[] | null): TrustStatus | null {
  return trust?.find(({ event, key }) => event === hook.event && key.includes(`/${basename(hook.path)}:`))?.status ?? null;
}

/** What went wrong, and what to do; null when the answer came back alone. */
function complaint(proof: Proof, run: HookRun, launcher: string): [what: string, fix: string] | null {
  const program = programOf(run.command);
  const noisy = `Make the startup files of ${run.shell}, or what wraps the command, print nothing.`;
  switch (proof.outcome) {
    case 'noise':
      return [
        `${proof.extra === '' ? 'white space' : `"${proof.extra}"`} stands around the answer, which the harness then cannot read`,
        noisy,
      ];
    case 'wrong':
      return [`"${proof.extra}" came instead of the answer`, noisy];
    case 'late':
      return [`no end within ${run.timeout / 1_000} s`, '`agentbus daemon logs` may show why.'];
    case 'not-run':
      return [
        `${run.shell} could not be started (${proof.extra})`,
        'Codex runs hooks with the shell of your passwd entry: change it with chsh.',
      ];
    case 'silent':
      // A bare name is looked up on PATH.
      if (program?.startsWith('/') && !existsSync(program))
        return [`no answer: it calls ${program}, which is gone`, 'Run `agentbus install`.'];
      if (program !== launcher) return [`no answer: it calls ${program}, not ${launcher}`, 'Run `agentbus install`.'];
      return ['no answer', 'The lines on the launchers and the daemon say why; else `agentbus daemon logs`.'];
    default:
      return proof.status === 0 ? null : [`exit status ${proof.status}`, 'Run `agentbus install`: a hook has to exit with 0.'];
  }
}

export async function checkHooks(checker: Checker, harness: Harness, seen: Inspection, options: InstallOptions): Promise<void> {
  const { hookLauncher } = homePaths(options.agentbusHome);
  const fast = readLauncher(hookLauncher)?.nc != null;
  // A waiter answers nothing; it ends at once when run like this.
  for (const hook of seen.hooks.filter(({ kind }) => kind === 'hook')) {
    const timeout = (hook.timeout ?? PATIENCE) * 1_000;
    const { command, event } = hook;
    const run = { harness: harness.id, event, command, env: bareEnv(options.env), cwd: process.cwd(), timeout, ...mannersOf(harness) };
    const proof = await proveHook(run);
    const { via, ms } = proof;
    const bad = complaint(proof, run, hookLauncher);
    if (bad) {
      checker.fail(`${harness.title} ${event}: ${bad[0]}`, bad[1], { event, via, ms });
      continue;
    }
    const trust = trustOfHook(hook, seen.trust);
    const skipped = trust === null ? undefined : UNTRUSTED[trust];
    const how = `${harness.title} ${event}: answered in ${ms} ms by ${via === 'nc' ? 'nc' : 'the relay'}`;
    if (skipped !== undefined && trust !== 'disabled') checker.fail(`${how}, but ${skipped}`, '', { event, via, ms });
    else if (skipped !== undefined) checker.warn(`${how}, but ${skipped}`, '/hooks in codex turns it on.', { event, via, ms });
    else if (via === 'relay' && fast && event !== 'SessionStart')
      checker.warn(`${how}, though nc is there`, '`agentbus daemon logs` may show why.', { event, via, ms });
    else checker.ok(trust === null ? how : `${how}, trusted`, { event, via, ms });
  }
}
