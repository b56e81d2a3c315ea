// Doctor's look at one harness: what is in its configs, what keeps it from working, and the proof of each hook.
import { join } from 'node:path';
import type { Harness } from '../core/harness.ts';
import { homePaths } from '../core/paths.ts';
import { checkHooks } from './check-hooks.ts';
import { checkMcp } from './check-mcp.ts';
import { createChecker, type Check, type Checker } from './checks.ts';
import { programsNamed } from './detect.ts';
import { isTable } from './hook-plan.ts';
import { hookFiles, inspectHarness, type Inspection } from './inspect.ts';
import { targetsOf, type InstallOptions } from './options.ts';
import { doubledIn } from './place-notes.ts';
import { peek } from './peek.ts';
import { PLUGIN, pluginSettings } from './plugin.ts';
import { staleLaunchers } from './launchers.ts';
import { projectPlace } from './project.ts';
import { readReceipt } from './receipt.ts';
import { isUninstalled } from './tombstone.ts';
import { readToml } from './toml.ts';

/** `asked`: the harness was named, so one without hooks is a failure. */
export async function checkHarness(harness: Harness, options: InstallOptions, asked: boolean): Promise<Check[]> {
  const checker = createChecker(harness.id);
  const user = await inspectHarness(harness, options);
  const project = projectPlace(harness, options);
  const inProject = options.project && hookFiles(harness, project).length > 0 ? await inspectHarness(harness, project) : null;
  const [program] = programsNamed(harness.install.program, options.env['PATH'] ?? '');
  const name = `${harness.title}${user.version ? ` ${user.version}` : ''}`;
  if (program) checker.ok(`${name} is ${program}`);
  else checker.warn(`${harness.title} is not on PATH, so its version is unknown`, 'The oldest common set of hooks is taken for right.');

  const places: [Inspection, InstallOptions][] = [[user, options]];
  if (inProject) places.push([inProject, project]);
  const silenced = new Map(places.flatMap(([seen]) => seen.silenced.map(({ path, setting }) => [`${setting} in ${path}`, setting])));
  for (const what of silenced.keys()) checker.fail(`${harness.title}: ${what} keeps hooks from running`, 'Take the setting out.');
  for (const [seen] of places) {
    for (const { message, hint } of seen.problems) checker.fail(`${harness.title}: ${message}`, hint);
    for (const { path, what, disables } of seen.invalid) {
      if (disables)
        checker.fail(`${harness.title}: ${what}, for which the whole of ${path} is dropped`, 'Repair that entry; it is not AgentBus’s.');
      else checker.warn(`${harness.title}: ${what} in ${path}, an entry that is skipped`, 'Repair that entry; it is not AgentBus’s.');
    }
    if (seen.bothForms)
      checker.warn(
        `${harness.title}: hooks stand in both ${seen.files.join(' and ')}, of which it warns at every start`,
        'Keep them in one.',
      );
  }
  const installed = places.filter(([seen]) => seen.hooks.length > 0);
  const plugin = pluginSettings(harness, options);
  if (plugin !== null) checkPlugin(checker, harness, options, plugin, installed.length > 0);
  else if (installed.length === 0) notInstalled(checker, harness, options, asked);
  for (const [seen, place] of installed) {
    checkEntries(checker, harness, seen, place);
    await checkMcp(checker, harness, place);
    await checkHooks(checker, harness, seen, place);
    checkTrust(checker, seen, place);
  }
  if (inProject) checkProjectTrust(checker, harness, project);
  if (installed.length > 1)
    for (const path of doubledIn(harness, project))
      checker.warn(
        `${harness.title}: AgentBus's hooks stand in ${path} and in the project, and both run`,
        'Take one out: agentbus uninstall --scope.',
      );
  return checker.checks;
}

function notInstalled(checker: Checker, { id, title, install }: Harness, options: InstallOptions, asked: boolean): void {
  const what = isUninstalled(options.agentbusHome, id)
    ? `${title}: AgentBus's entries were taken out of it`
    : `${title}: AgentBus is not installed`;
  // After `install --plugin`, until Claude Code itself has added the plugin, there is nothing to find either.
  const plugin = install.format === 'claude' ? ' For the plugin, `claude plugin install` is still to be run; `--plugin` says how.' : '';
  checker[asked ? 'fail' : 'warn'](what, `\`agentbus install --harness ${id}\` adds it.${plugin}`);
}

/** The plugin's hooks are static; what they call is ours, and both ways at once would show everything twice. */
function checkPlugin(checker: Checker, { id, title }: Harness, options: InstallOptions, settings: string, merged: boolean): void {
  if (merged)
    checker.fail(
      `${title}: AgentBus is a plugin (${settings}) and stands in its settings as well, so every hook runs twice`,
      `Keep one: \`agentbus install --harness ${id} --plugin\`, or \`claude plugin uninstall ${PLUGIN}\`.`,
    );
  else checker.ok(`${title}: AgentBus is a plugin, switched on in ${settings}`);
  const missing = staleLaunchers(options).map(({ path }) => path);
  if (missing.length > 0)
    checker.fail(`${title}: not as this version writes it: ${missing.join(', ')}`, `Run \`agentbus install --harness ${id} --plugin\`.`);
}

function checkEntries(checker: Checker, { id, title }: Harness, seen: Inspection, place: InstallOptions): void {
  const { receipts } = homePaths(place.agentbusHome);
  const known = readReceipt(receipts, id, place).files.map(({ path }) => path);
  const again = `Run \`agentbus install --harness ${id}${place.scope === 'project' ? ' --scope project' : ''}\`.`;
  for (const path of new Set(seen.hooks.map((hook) => hook.path))) {
    const count = seen.hooks.filter((hook) => hook.path === path).length;
    checker.ok(`${title}: ${count} ${count === 1 ? 'hook' : 'hooks'} in ${path}${known.includes(path) ? '' : ', put there by hand'}`);
  }
  if (seen.missing.length > 0) checker.warn(`${title}: no hook for ${seen.missing.join(', ')}`, again);
  const old = seen.hooks.filter((hook) => !hook.current).map((hook) => hook.event);
  if (old.length > 0) checker.warn(`${title}: not as this version writes it: ${old.join(', ')}`, again);
  if (!seen.mcp) checker.warn(`${title}: the MCP server is not registered, so its model has no tools`, again);
  else if (!seen.mcp.current) checker.warn(`${title}: the MCP server in ${seen.mcp.path} is of another version`, again);
  else checker.ok(`${title}: the MCP server is registered in ${seen.mcp.path}`);
}

function checkTrust(checker: Checker, { trust, title, harness }: Inspection, place: InstallOptions): void {
  const waiting = trust?.filter(({ status }) => status === 'untrusted' || status === 'modified') ?? [];
  if (waiting.length === 0) return;
  const words = place.scope === 'project' ? ' --scope project' : '';
  checker.fail(
    `${title} trusts ${(trust?.length ?? 0) - waiting.length} of ${trust?.length} hooks; it skips the others without a word`,
    `Start codex once and choose "Trust all and continue" (or /hooks, then t), or run \`agentbus install --harness ${harness}${words} --trust-codex-hooks\`.`,
  );
}

function entryOf(config: Record<string, unknown>, project: string): Record<string, unknown> {
  const projects = config['projects'];
  const entry = isTable(projects) ? projects[project] : undefined;
  return isTable(entry) ? entry : {};
}

/** What a harness asks about a folder before it reads the folder's own configs. */
function checkProjectTrust(checker: Checker, harness: Harness, place: InstallOptions): void {
  const project = place.project ?? '';
  if (harness.install.format === 'codex') {
    const path = join(harness.install.configDir(place.home, place.env), 'config.toml');
    const trusted =
      entryOf(
        peek(path, (text) => readToml(text, path)),
        project,
      )['trust_level'] === 'trusted';
    if (trusted) checker.ok(`${harness.title} trusts the folder ${project}`);
    else
      checker.fail(
        `${harness.title} does not trust the folder ${project}, so it reads no ${join(project, '.codex')}`,
        'Start codex there and trust the folder.',
      );
    return;
  }
  const state = targetsOf(harness, { ...place, scope: 'user' }).find(({ kind }) => kind === 'claude-mcp');
  const files = [join(project, '.claude', 'settings.local.json'), join(project, '.claude', 'settings.json')];
  const refused = [entryOf(peek(state?.path ?? ''), project), ...files.map((path) => peek(path))].some(
    ({ disabledMcpjsonServers: names }) => Array.isArray(names) && names.includes('agentbus'),
  );
  if (refused)
    checker.warn(`${harness.title}: the project's MCP server was refused for ${project}`, 'Approve it with /mcp in Claude Code.');
}
