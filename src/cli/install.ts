// `agentbus install`: one line per file, then what Codex still wants from the user, then the way back.
import { defineCommand } from 'citty';
import { VERSION } from '../core/version.ts';
import { usageError } from './context.ts';
import { callDaemon, type Hello } from '../daemon/client.ts';
import { installHarness, installPlugin, type HarnessReport } from '../install/install.ts';
import { chooseHarnesses, chosenPlace, commandOptions, harnessIds, placeArgs, runEach } from '../install/command.ts';

export const installCommand = defineCommand({
  meta: { name: 'install', description: 'Add AgentBus to the coding CLIs on this machine' },
  args: {
    harness: { type: 'string', description: 'Only this one; repeat or separate by commas', valueHint: 'id' },
    ...placeArgs,
    'dry-run': { type: 'boolean', description: 'Print what would change, and change nothing', default: false },
    mcp: {
      type: 'boolean',
      description: 'Register the MCP server and its tools',
      negativeDescription: 'Hooks only, no MCP server',
      default: true,
    },
    plugin: {
      type: 'boolean',
      description: 'Claude Code: as a plugin that it keeps itself, instead of entries in its settings',
      default: false,
    },
    'approve-send': { type: 'boolean', description: 'Let agents send without asking each time', default: false },
    'trust-codex-hooks': { type: 'boolean', description: "Mark AgentBus's own hooks as trusted in Codex's config", default: false },
    json: { type: 'boolean', description: 'Print JSON', default: false },
  },
  async run({ args, rawArgs }) {
    const options = await commandOptions({
      ...chosenPlace(args),
      dryRun: args['dry-run'],
      mcp: args.mcp,
      approveSend: args['approve-send'],
      trustCodexHooks: args['trust-codex-hooks'],
    });
    const ids = harnessIds(rawArgs);
    if (args.plugin && (!args.mcp || args['approve-send'] || options.scope === 'project'))
      throw usageError(
        '--plugin goes with no other option of what is written',
        'the plugin has its own tools, and Claude Code decides on them',
      );
    const harnesses = await chooseHarnesses(args.plugin && ids.length === 0 ? ['claude'] : ids, options);
    const add = args.plugin ? installPlugin : installHarness;
    const words = options.scope === 'project' ? ' --scope project' : args.home === undefined ? '' : ` --home ${args.home}`;
    await runEach(
      harnesses.map((harness) => () => add(harness, options)),
      {
        json: args.json,
        describe: (report) => describe(report, args['dry-run'], words, args.plugin),
        ...(args['dry-run'] ? {} : { last: () => stopOlder(options.agentbusHome) }),
      },
    );
  },
});

/** A daemon of another version goes, so that the next hook or command starts this one. */
async function stopOlder(home: string): Promise<{ json: object; line: string | null }> {
  try {
    const { version } = await callDaemon<Hello>(home, '/hello');
    if (version === VERSION) return { json: {}, line: null };
    await callDaemon(home, '/stop');
    return {
      json: { stoppedDaemon: version },
      line: `The running daemon is ${version}: it was asked to stop, and the next hook or command starts ${VERSION}.`,
    };
  } catch {
    // None runs, or none that listens to us: nothing to replace.
    return { json: {}, line: null };
  }
}

function describe(report: HarnessReport, dryRun: boolean, words: string, plugin: boolean): string {
  const where = report.place === null ? '' : ` in ${report.place}`;
  const lines = [`${report.title}${report.version ? ` ${report.version}` : ''}${where}`];
  for (const file of report.files) lines.push(dryRun && file.diff !== '' ? file.diff : `  ${file.change} ${file.path}`);
  for (const path of report.launchers) lines.push(`  ${dryRun ? 'would write' : 'wrote'} ${path}`);
  for (const note of report.notes) lines.push(`  note: ${note}`);
  if (dryRun) return lines.join('\n');
  lines.push(...trustLines(report, words));
  lines.push(`  Undo: ${plugin ? 'claude plugin uninstall agentbus@agentbus' : `agentbus uninstall --harness ${report.harness}${words}`}`);
  return lines.join('\n');
}

function trustLines({ trust }: HarnessReport, words: string): string[] {
  if (!trust) return [];
  const count = (status: string): number => trust.filter((entry) => entry.status === status).length;
  const waiting = count('untrusted') + count('modified');
  const lines = [`  ${count('trusted')} of ${trust.length} hooks are trusted by Codex.`];
  if (waiting > 0) {
    lines.push(`  ${waiting} run only once you trust them: start codex once and choose "Trust all and continue" (or /hooks, then t),`);
    lines.push(
      `  or run \`agentbus install --harness codex${words} --trust-codex-hooks\`, which marks AgentBus's own hooks and no others.`,
    );
  }
  if (count('disabled') > 0) lines.push(`  ${count('disabled')} are disabled in Codex's config and stay so; /hooks turns them on.`);
  return lines;
}
