// `agentbus doctor`: proves each hook by running it, and names whatever keeps messages from arriving.
import { defineCommand } from 'citty';
import { AgentBusError, EXIT } from '../core/errors.ts';
import { VERSION } from '../core/version.ts';
import { callDaemon, ensureDaemon, type Hello } from '../daemon/client.ts';
import { checkBus } from '../install/check-bus.ts';
import { checkHarness } from '../install/check-harness.ts';
import { createChecker, type Check, type Checker, type Level } from '../install/checks.ts';
import { chooseHarnesses, commandOptions, harnessIds } from '../install/command.ts';
import { checkWake } from './check-wake.ts';
import { jsonArg, print } from './context.ts';

interface Diagnosis {
  verdict: Level;
  checks: Check[];
}

async function checkDaemon(checker: Checker, home: string): Promise<void> {
  let before: Hello | null = null;
  try {
    before = await callDaemon<Hello>(home, '/hello');
  } catch {
    // Starting it below tells why.
  }
  try {
    const { version, pid } = before ?? (await ensureDaemon(home));
    if (version === VERSION) checker.ok(`the daemon answers: ${version}, pid ${pid}${before ? '' : ' (it was not running)'}`);
    else checker.warn(`the daemon is ${version}, this is ${VERSION}`, '`agentbus daemon stop` ends it; the next hook starts the new one.');
  } catch (error) {
    if (!(error instanceof AgentBusError)) throw error;
    checker.fail(error.message, `${error.hint}.`);
  }
}

function verdictOf(checks: readonly Check[]): Level {
  const worst = (['fail', 'warn'] as const).find((level) => checks.some((check) => check.level === level));
  return worst ?? 'ok';
}

function describe({ verdict, checks }: Diagnosis): string {
  const lines = checks.map(({ level, what, fix }) => `${level.padEnd(4)}  ${what}${fix === '' ? '' : `. ${fix}`}`);
  const count = (level: Level): number => checks.filter((check) => check.level === level).length;
  const plural = (number: number, word: string): string => `${number} ${word}${number === 1 ? '' : 's'}`;
  const last = {
    ok: 'All is well.',
    warn: `It works, with ${plural(count('warn'), 'warning')}.`,
    fail: `Not all works: ${plural(count('fail'), 'failure')}, ${plural(count('warn'), 'warning')}.`,
  };
  return [...lines, last[verdict]].join('\n');
}

export const doctorCommand = defineCommand({
  meta: { name: 'doctor', description: 'Prove each hook by running it as its CLI does, and name what keeps messages from arriving' },
  args: { harness: { type: 'string', description: 'Only this one; repeat or separate by commas', valueHint: 'id' }, ...jsonArg },
  async run({ args, rawArgs }) {
    const options = await commandOptions({});
    const ids = harnessIds(rawArgs);
    const harnesses = await chooseHarnesses(ids, options);
    const { checks, usable } = await checkBus(options);
    if (usable) {
      const daemon = createChecker('agentbus');
      await checkDaemon(daemon, options.agentbusHome);
      checks.push(...daemon.checks);
    }
    for (const harness of harnesses) {
      checks.push(...(await checkHarness(harness, options, ids.length > 0)));
      checks.push(...(await checkWake(harness, options)));
    }
    const diagnosis = { verdict: verdictOf(checks), checks };
    print(args.json, diagnosis, describe);
    if (diagnosis.verdict === 'fail') process.exitCode = EXIT.failed;
  },
});
