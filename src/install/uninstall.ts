// Takes out what is ours and nothing else: the remembered bytes where the rest is as it was, else by structure.
import { existsSync, rmSync } from 'node:fs';
import { AgentBusError } from '../core/errors.ts';
import type { Harness } from '../core/harness.ts';
import { HARNESSES } from '../harness/registry.ts';
import { homePaths } from '../core/paths.ts';
import { unplanClaudeMcp, unplanClaudeSettings } from './claude.ts';
import { unplanCodexConfig, unplanCodexHooks, unplanCodexTrust } from './codex.ts';
import { holdsOurs } from './foreign.ts';
import { removeEmpty, replaceFiles, type Change } from './files.ts';
import { changeOf, checkForeign, isChanged, loadFile, readConfig, type LoadedFile } from './loaded.ts';
import { hookFiles } from './inspect.ts';
import { locked } from './lock.ts';
import { baseOf, targetsOf, type InstallOptions, type Target } from './options.ts';
import { isToml, same, type FileKind, type Memory, type Planned } from './plan.ts';
import { PLUGIN, pluginSettings } from './plugin.ts';
import { checkProject } from './project.ts';
import { installedElsewhere, readReceipt, writeReceipt, type FileReceipt, type Receipt } from './receipt.ts';
import { reportOf, type HarnessReport } from './report.ts';
import { setTombstone } from './tombstone.ts';
import { encodeFile, sha256, withoutSpans, type Draft } from './text.ts';

const ATTEMPTS = 5;

const UNPLAN: Record<FileKind, (draft: Draft, file: string, memory: Memory) => Planned> = {
  'claude-settings': unplanClaudeSettings,
  'claude-mcp': unplanClaudeMcp,
  'codex-hooks': unplanCodexHooks,
  'codex-config': unplanCodexConfig,
  'codex-trust': unplanCodexTrust,
};

interface Removal {
  file: LoadedFile;
  /** The file goes with it. */
  gone: boolean;
  notes: string[];
}

/** The text without our spans, when that is the user's text to the byte or means the same as the structural removal. */
function exactText(file: LoadedFile, structural: string): string | null {
  const { receipt, before, snapshot } = file;
  if (!receipt?.spans || !before.spans || !snapshot.bytes) return null;
  const rest = withoutSpans(before.text, before.spans);
  try {
    const value = readConfig(file.target, rest);
    if (sha256(snapshot.bytes) !== receipt.after) return same(value, readConfig(file.target, structural)) ? rest : null;
    // What of ours was there before the receipt is in no span.
    return sha256(encodeFile(rest, file.bom)) === receipt.before && !holdsOurs(file.target.kind, value) ? rest : null;
  } catch {
    return null;
  }
}

function planRemoval(target: Target, receipt: Receipt): Removal {
  const file = loadFile(target, receipt);
  // A file that never met us need not even parse.
  if (!file.receipt && !file.before.text.includes('agentbus')) return { file, gone: false, notes: [] };
  const planned = UNPLAN[target.kind](file.before, target.path, file.memory);
  file.draft = planned.draft;
  checkForeign(file);
  // With an empty group left in place, the remembered bytes would move the groups after it.
  const exact = planned.notes.length === 0 ? exactText(file, planned.draft.text) : null;
  if (exact !== null) file.draft = { text: exact, spans: [] };
  // A comment in a TOML file is somebody's; JSON has none.
  const isEmpty = isToml(target.kind)
    ? file.draft.text.trim() === ''
    : Object.keys(readConfig(target, file.draft.text) as object).length === 0;
  return { file, gone: file.receipt?.created === true && isEmpty, notes: planned.notes };
}

/** All that is remembered of a file after uninstall: which places in it are kept free for us. */
function inertReceipt(file: LoadedFile): FileReceipt[] {
  const { inert } = file.memory;
  if (Object.keys(inert).length === 0) return [];
  const { kind, path } = file.target;
  const nothing = { before: null, after: null, spans: null, containers: [], allow: [], trust: [] };
  return [{ kind, path, created: false, directories: [], mode: file.snapshot.mode, ...nothing, inert, time: new Date().toISOString() }];
}

/** Removes the entries of one harness at a place; with the last one the launchers go too. */
export async function uninstallHarness(harness: Harness, options: InstallOptions): Promise<HarnessReport> {
  checkProject(harness, options);
  if (options.dryRun) return planAll(harness, options).report;
  const paths = homePaths(options.agentbusHome);
  return locked(paths.run, () => {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const { removals, report } = planAll(harness, options);
      const changes = removals.flatMap(({ file, gone }): Change[] => {
        if (gone) return [{ snapshot: file.snapshot, next: null }];
        return isChanged(file) ? [changeOf(file)] : [];
      });
      if (
        !replaceFiles(
          changes,
          () => undefined,
          () => 'Remove the entries of agentbus from the file by hand.',
        )
      )
        continue;
      for (const { file } of removals.filter((removal) => removal.gone)) file.receipt?.directories.every(removeEmpty);
      const receipt = readReceipt(paths.receipts, harness.id, options);
      writeReceipt(paths.receipts, { ...receipt, files: removals.flatMap(({ file }) => inertReceipt(file)) });
      if (baseOf(options) === null) setTombstone(options.agentbusHome, harness.id);
      for (const launcher of report.launchers) rmSync(launcher, { force: true });
      return report;
    }
    throw new AgentBusError(
      'AB-2003',
      `the configuration of ${harness.title} changes faster than it can be edited`,
      'Close its running sessions, then try again.',
    );
  });
}

function planAll(harness: Harness, options: InstallOptions): { removals: Removal[]; report: HarnessReport } {
  const paths = homePaths(options.agentbusHome);
  const receipt = readReceipt(paths.receipts, harness.id, options);
  const current = targetsOf(harness, options);
  const elsewhere = receipt.files
    .filter(({ path }) => !current.some((target) => target.path === path))
    .map(({ kind, path }): Target => ({ kind, path }));
  const removals = [...current, ...elsewhere]
    .map((target) => planRemoval(target, receipt))
    .filter(({ file }) => file.snapshot.bytes !== null);
  const files = removals
    .filter(({ file, gone }) => file.target.kind !== 'codex-trust' || gone || isChanged(file))
    .map(({ file, gone }) => reportOf(file, gone));
  // Entries at user scope may have been written by hand; no receipt tells of them.
  const own = { home: options.env['HOME'] ?? options.home, env: options.env };
  const byHand = baseOf(options) !== null && hookFiles(harness, own).length > 0;
  // The plugin's hooks call them too.
  const plugin = HARNESSES.some((other) => pluginSettings(other, options) !== null);
  const launchers =
    byHand || plugin || installedElsewhere(paths.receipts, harness.id, options)
      ? []
      : [paths.hookLauncher, paths.mcpLauncher, paths.waitLauncher].filter((path) => existsSync(path));
  const notes = removals.flatMap((removal) => removal.notes);
  if (pluginSettings(harness, options) !== null)
    notes.push(`Claude Code keeps AgentBus as a plugin: \`claude plugin uninstall ${PLUGIN}\` takes it out`);
  return {
    removals,
    report: { harness: harness.id, title: harness.title, version: null, place: baseOf(options), files, launchers, notes, trust: null },
  };
}
