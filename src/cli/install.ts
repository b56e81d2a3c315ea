// `agentbus install`: one line per file, then what Codex still wants from the user, then the way back.
import { defineCommand } from 'citty';
import { installHarness, type HarnessReport } from '../install/install.ts';
import { chooseHarnesses, commandOptions, harnessIds, runEach } from '../install/command.ts';

export const installCommand = defineCommand({
  meta: { name: 'install', description: 'Add AgentBus to the coding CLIs on this machine' },
  args: {
    harness: { type: 'string', description: 'Only this one; repeat or separate by commas', valueHint: 'id' },
    'dry-run': { type: 'boolean', description: 'Print what would change, and change nothing', default: false },
    mcp: {
      type: 'boolean',
      description: 'Register the MCP server and its tools',
      negativeDescription: 'Hooks only, no MCP server',
      default: true,
    },
    'approve-send': { type: 'boolean', description: 'Let agents send without asking each time', default: false },
    'trust-codex-hooks': { type: 'boolean', description: "Mark AgentBus's own hooks as trusted in Codex's config", default: false },
    json: { type: 'boolean', description: 'Print JSON', default: false },
  },
  async run({ args, rawArgs }) {
    const options = await commandOptions({
      dryRun: args['dry-run'],
      mcp: args.mcp,
      approveSend: args['approve-send'],
      trustCodexHooks: args['trust-codex-hooks'],
    });
    const harnesses = await chooseHarnesses(harnessIds(rawArgs), options);
    await runEach(harnesses, (harness) => installHarness(harness, options), {
      json: args.json,
      describe: (report) => describe(report, args['dry-run']),
    });
  },
});

function describe(report: HarnessReport, dryRun: boolean): string {
  const lines = [`${report.title}${report.version ? ` ${report.version}` : ''}`];
  for (const file of report.files) lines.push(dryRun && file.diff !== '' ? file.diff : `  ${file.change} ${file.path}`);
  for (const path of report.launchers) lines.push(`  ${dryRun ? 'would write' : 'wrote'} ${path}`);
  for (const note of report.notes) lines.push(`  note: ${note}`);
  if (dryRun) return lines.join('\n');
  lines.push(...trustLines(report));
  lines.push(`  Undo: agentbus uninstall --harness ${report.harness}`);
  return lines.join('\n');
}

function trustLines({ trust }: HarnessReport): string[] {
  if (!trust) return [];
  const count = (status: string): number => trust.filter((entry) => entry.status === status).length;
  const waiting = count('untrusted') + count('modified');
  const lines = [`  ${count('trusted')} of ${trust.length} hooks are trusted by Codex.`];
  if (waiting > 0) {
    lines.push(`  ${waiting} run only once you trust them: start codex once and choose "Trust all and continue" (or /hooks, then t),`);
    lines.push("  or run `agentbus install --harness codex --trust-codex-hooks`, which marks AgentBus's own hooks and no others.");
  }
  if (count('disabled') > 0) lines.push(`  ${count('disabled')} are disabled in Codex's config and stay so; /hooks turns them on.`);
  return lines;
}
