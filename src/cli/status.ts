import { defineCommand } from 'citty';
import { homePaths } from '../core/paths.ts';
import { HARNESSES } from '../harness/registry.ts';
import { goneBehind } from '../install/baked.ts';
import { commandOptions } from '../install/command.ts';
import { inspectHarness, inspectProject, type Inspection } from '../install/install.ts';
import { jsonArg, print } from './context.ts';
import { daemonStatus, describeDaemon, type DaemonStatus } from './daemon.ts';

interface Status {
  daemon: DaemonStatus | null;
  harnesses: Inspection[];
  /** What stands in the files of the project around the working directory as well. */
  project: Inspection[];
  /** A file that the hooks need and that is gone; null also where there are no hooks. */
  gone: string | null;
}

function describeHarness(found: Inspection, where = ''): string {
  const name = `${found.title}${found.version ? ` ${found.version}` : ''}${where}`;
  if (found.plugin !== null && found.hooks.length === 0) return `${name}: as a plugin (${found.plugin})`;
  if (found.hooks.length === 0 && found.problems.length === 0 && where === '')
    return `${name}: not installed (agentbus install --harness ${found.harness})`;
  const lines = [
    `${name}: ${found.hooks.length} hooks${found.missing.length > 0 ? `, missing ${found.missing.join(', ')}` : ''}, MCP ${found.mcp ? 'registered' : 'not registered'}`,
  ];
  if (found.trust && found.trust.length > 0) {
    const trusted = found.trust.filter((entry) => entry.status === 'trusted').length;
    const deaf =
      trusted < found.trust.length
        ? ': Codex silently skips the others. Start codex and trust them (/hooks), or run `agentbus install --harness codex --trust-codex-hooks`'
        : '';
    lines.push(`  trust: ${trusted} of ${found.trust.length} hooks trusted${deaf}`);
  }
  for (const hook of found.hooks)
    if (!hook.current) lines.push(`  ${hook.event} in ${hook.path} is of another version: run \`agentbus install\``);
  for (const silence of found.silenced) lines.push(`  ${silence.setting} in ${silence.path} keeps hooks from running`);
  for (const entry of found.invalid) lines.push(`  ${entry.path}: ${entry.what}`);
  for (const problem of found.problems) lines.push(`  ${problem.code} ${problem.message}. ${problem.hint}`);
  return lines.join('\n');
}

/** Where the entries of a project are: other files of it may be none of ours. */
function describeFiles({ hooks, mcp }: Inspection): string {
  return [...new Set([...hooks.map(({ path }) => path), ...(mcp ? [mcp.path] : [])])].join(' and ');
}

export const statusCommand = defineCommand({
  meta: { name: 'status', description: 'The daemon, the installed hooks of each CLI, and whether Codex trusts them' },
  args: jsonArg,
  async run({ args }) {
    const options = await commandOptions({});
    const inspected = await Promise.all(HARNESSES.map((harness) => inspectHarness(harness, options)));
    const around = (await Promise.all(HARNESSES.map((harness) => inspectProject(harness, options)))).filter((found) => found !== null);
    const isUsed = [...inspected, ...around].some(({ hooks, plugin }) => hooks.length > 0 || plugin !== null);
    const status: Status = {
      daemon: await daemonStatus(),
      harnesses: inspected,
      project: around,
      gone: isUsed ? goneBehind(homePaths(options.agentbusHome).hookLauncher) : null,
    };
    print(args.json, status, ({ daemon, harnesses, project, gone }) =>
      [
        describeDaemon(daemon),
        ...harnesses.map((found) => describeHarness(found)),
        ...(gone === null ? [] : [`${gone} is gone, which the hooks need: run \`agentbus install\``]),
        ...project.map((found) => describeHarness(found, ` in the project, ${describeFiles(found)}`)),
      ].join('\n'),
    );
  },
});
