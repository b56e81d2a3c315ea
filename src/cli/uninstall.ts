// `agentbus uninstall`: takes the entries out, and leaves messages, keys and the store where they are.
import { defineCommand } from 'citty';
import { HARNESSES } from '../harness/registry.ts';
import { uninstallHarness, type HarnessReport } from '../install/install.ts';
import { chooseHarnesses, commandOptions, harnessIds, runEach } from '../install/command.ts';

export const uninstallCommand = defineCommand({
  meta: { name: 'uninstall', description: 'Take AgentBus out of the coding CLIs on this machine' },
  args: {
    harness: { type: 'string', description: 'Only this one; repeat or separate by commas', valueHint: 'id' },
    'dry-run': { type: 'boolean', description: 'Print what would change, and change nothing', default: false },
    json: { type: 'boolean', description: 'Print JSON', default: false },
  },
  async run({ args, rawArgs }) {
    const options = await commandOptions({ dryRun: args['dry-run'] });
    const ids = harnessIds(rawArgs);
    const harnesses = ids.length > 0 ? await chooseHarnesses(ids, options) : HARNESSES;
    await runEach(harnesses, (harness) => uninstallHarness(harness, options), {
      json: args.json,
      describe: (report) => describe(report, args['dry-run']),
    });
    if (!args.json && !args['dry-run'])
      process.stdout.write(
        `Messages and keys stay in ${options.agentbusHome}; remove that directory to be rid of them. Undo: agentbus install\n`,
      );
  },
});

function describe(report: HarnessReport, dryRun: boolean): string {
  const lines = [report.title];
  for (const file of report.files) lines.push(dryRun && file.diff !== '' ? file.diff : `  ${file.change} ${file.path}`);
  if (report.files.length === 0) lines.push('  nothing is installed');
  for (const path of report.launchers) lines.push(`  ${dryRun ? 'would remove' : 'removed'} ${path}`);
  for (const note of report.notes) lines.push(`  note: ${note}`);
  return lines.join('\n');
}
