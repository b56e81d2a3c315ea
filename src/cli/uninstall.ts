// `agentbus uninstall`: takes the entries out, and leaves messages, keys and the store where they are.
import { defineCommand } from 'citty';
import type { Harness } from '../core/harness.ts';
import { homePaths } from '../core/paths.ts';
import { HARNESSES } from '../harness/registry.ts';
import { uninstallHarness, type HarnessReport, type InstallOptions } from '../install/install.ts';
import { chooseHarnesses, chosenPlace, commandOptions, harnessIds, placeArgs, runEach } from '../install/command.ts';
import { projectPlace } from '../install/project.ts';
import { otherPlaces } from '../install/receipt.ts';

export const uninstallCommand = defineCommand({
  meta: { name: 'uninstall', description: 'Take AgentBus out of the coding CLIs: everywhere, or only where --scope or --home says' },
  args: {
    harness: { type: 'string', description: 'Only this one; repeat or separate by commas', valueHint: 'id' },
    ...placeArgs,
    'dry-run': { type: 'boolean', description: 'Print what would change, and change nothing', default: false },
    json: { type: 'boolean', description: 'Print JSON', default: false },
  },
  async run({ args, rawArgs }) {
    const options = await commandOptions({ ...chosenPlace(args), dryRun: args['dry-run'] });
    const ids = harnessIds(rawArgs);
    const harnesses = ids.length > 0 ? await chooseHarnesses(ids, options) : HARNESSES;
    const everywhere = args.scope === undefined && args.home === undefined;
    const jobs = harnesses.flatMap((harness) =>
      placesOf(harness, options, everywhere).map((place) => () => uninstallHarness(harness, place)),
    );
    await runEach(jobs, { json: args.json, describe: (report) => describe(report, args['dry-run']) });
    if (!args.json && !args['dry-run'])
      process.stdout.write(
        `Messages and keys stay in ${options.agentbusHome}; remove that directory to be rid of them. Undo: agentbus install\n`,
      );
  },
});

/** The places to take a harness's entries out of; everywhere: also each project and sandbox that a receipt tells of. */
function placesOf(harness: Harness, options: InstallOptions, everywhere: boolean): InstallOptions[] {
  if (options.scope === 'project') return [projectPlace(harness, options)];
  if (!everywhere) return [options];
  const others = otherPlaces(homePaths(options.agentbusHome).receipts, harness.id).map(({ scope, base }): InstallOptions => {
    if (scope === 'project') return { ...options, scope, project: base };
    const { CLAUDE_CONFIG_DIR: _claude, CODEX_HOME: _codex, ...env } = options.env;
    return { ...options, home: base, env, project: null, sandbox: true };
  });
  return [...others, options];
}

function describe(report: HarnessReport, dryRun: boolean): string {
  const lines = [`${report.title}${report.place === null ? '' : ` in ${report.place}`}`];
  for (const file of report.files) lines.push(dryRun && file.diff !== '' ? file.diff : `  ${file.change} ${file.path}`);
  if (report.files.length === 0) lines.push('  nothing is installed');
  for (const path of report.launchers) lines.push(`  ${dryRun ? 'would remove' : 'removed'} ${path}`);
  for (const note of report.notes) lines.push(`  note: ${note}`);
  return lines.join('\n');
}
