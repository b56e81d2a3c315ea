// The one entrance of the installer: what the CLI, auto-join and doctor call.
import { rmSync } from 'node:fs';
import type { Harness } from '../core/harness.ts';
import { homePaths } from '../core/paths.ts';
import { AgentBusError } from '../core/errors.ts';
import { planClaudeMcp, planClaudeSettings } from './claude.ts';
import { planCodexHooks, planCodexMcp, planCodexTrust } from './codex.ts';
import { trustOf } from './codex-trust.ts';
import { detectVersion } from './detect.ts';
import { replaceFiles } from './files.ts';
import { staleLaunchers, writeLaunchers } from './launchers.ts';
import { blockOf, changeOf, checkForeign, isChanged, loadFile, receiptOf, type LoadedFile } from './loaded.ts';
import { locked } from './lock.ts';
import { baseOf, checkPaths, targetsOf, type InstallOptions } from './options.ts';
import { placeNotes } from './place-notes.ts';
import { ALL_TOOLS, APPROVED_TOOLS, wantedHooks, type FileKind, type WantedState } from './plan.ts';
import { refuseBoth } from './plugin.ts';
import { checkProject } from './project.ts';
import { readReceipt, writeReceipt, type Receipt } from './receipt.ts';
import { reportOf, type HarnessReport } from './report.ts';
import { clearTombstone } from './tombstone.ts';
import type { TrustEntry } from './trust.ts';

export { detectHarnesses } from './detect.ts';
export { hookFiles, inspectHarness, inspectProject } from './inspect.ts';
export { findNc } from './launchers.ts';
export { installPlugin } from './install-plugin.ts';
export { isUninstalled } from './tombstone.ts';
export { uninstallHarness } from './uninstall.ts';
export type { InstallOptions } from './options.ts';
export type { HarnessReport } from './report.ts';
export type { Inspection } from './inspect.ts';

const ATTEMPTS = 5;

/** Adds or brings up to date the entries of one harness at a place; says what it did, and does nothing twice. */
export async function installHarness(harness: Harness, options: InstallOptions): Promise<HarnessReport> {
  checkPaths(options);
  checkProject(harness, options);
  refuseBoth(harness, options);
  const version = await detectVersion(harness, options.env);
  if (options.dryRun) return planHarness(harness, options, version).report;
  const paths = homePaths(options.agentbusHome);
  return locked(paths.run, () => {
    const created = staleLaunchers(options).filter((launcher) => launcher.isNew);
    const receipt = readReceipt(paths.receipts, harness.id, options);
    try {
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        const { files, report } = planHarness(harness, options, version);
        const changed = files.filter(isChanged);
        const next = withFiles(receipt, changed);
        // The receipt comes first: killed in between, the next install sees by it which file was not reached.
        const ready = (): void => {
          writeLaunchers(options);
          if (changed.length > 0) writeReceipt(paths.receipts, next);
        };
        const describe = (failed: { snapshot: { path: string } }): string =>
          blockOf(changed.find((file) => file.snapshot === failed.snapshot) as LoadedFile);
        if (!replaceFiles(changed.map(changeOf), ready, describe)) continue;
        if (baseOf(options) === null) clearTombstone(options.agentbusHome, harness.id);
        return report;
      }
      throw new AgentBusError(
        'AB-2003',
        `the configuration of ${harness.title} changes faster than it can be edited`,
        'Close its running sessions, then try again.',
      );
    } catch (error) {
      for (const { path } of created) rmSync(path, { force: true });
      restoreReceipt(paths.receipts, receipt);
      throw error;
    }
  });
}

function withFiles(receipt: Receipt, changed: readonly LoadedFile[]): Receipt {
  const own = changed.map((file) => receiptOf(file, new Date()));
  return { ...receipt, files: [...receipt.files.filter((file) => !own.some(({ path }) => path === file.path)), ...own] };
}

function restoreReceipt(directory: string, receipt: Receipt): void {
  try {
    writeReceipt(directory, receipt);
  } catch {
    // Where it cannot be written it was not written before either.
  }
}

function planHarness(harness: Harness, options: InstallOptions, version: string | null): { files: LoadedFile[]; report: HarnessReport } {
  const paths = homePaths(options.agentbusHome);
  const receipt = readReceipt(paths.receipts, harness.id, options);
  const files = targetsOf(harness, options).map((target) => loadFile(target, receipt));
  const wanted: WantedState = {
    hooks: wantedHooks(harness, version, options.agentbusHome),
    mcp:
      options.mcp === false
        ? null
        : { command: paths.mcpLauncher, args: [harness.id], approved: options.approveSend ? ALL_TOOLS : APPROVED_TOOLS },
  };
  const codex = harness.install.format === 'codex' ? planCodex(files, wanted, options) : null;
  const notes = codex ? codex.notes : planClaude(files, wanted);
  for (const file of files) checkForeign(file);
  const launchers = staleLaunchers(options).map(({ path }) => path);
  return {
    files,
    report: {
      harness: harness.id,
      title: harness.title,
      version,
      place: baseOf(options),
      // The user's config.toml is only read for a project's trust, unless that is to be written.
      files: files.filter((file) => file.target.kind !== 'codex-trust' || isChanged(file)).map((file) => reportOf(file)),
      launchers,
      notes: [...notes, ...placeNotes(harness, options)],
      trust: codex?.trust ?? null,
    },
  };
}

function fileOf(files: readonly LoadedFile[], kind: FileKind): LoadedFile {
  return files.find((file) => file.target.kind === kind) as LoadedFile;
}

function planClaude(files: readonly LoadedFile[], wanted: WantedState): string[] {
  const settings = fileOf(files, 'claude-settings');
  const mcp = fileOf(files, 'claude-mcp');
  const planned = planClaudeSettings(settings.before, settings.target.path, wanted, settings.memory);
  settings.draft = planned.draft;
  mcp.draft = planClaudeMcp(mcp.before, mcp.target.path, wanted, mcp.memory).draft;
  return planned.notes;
}

function planCodex(files: readonly LoadedFile[], wanted: WantedState, options: InstallOptions): { notes: string[]; trust: TrustEntry[] } {
  const hooks = fileOf(files, 'codex-hooks');
  const config = fileOf(files, 'codex-config');
  const both = { hooks: hooks.before, hooksFile: hooks.target.path, config: config.before, configFile: config.target.path };
  const planned = planCodexHooks(both, wanted, { hooks: hooks.memory, config: config.memory });
  hooks.draft = planned.hooks;
  config.draft = planCodexMcp(planned.config, config.target.path, wanted);
  const trust = files.find((file) => file.target.kind === 'codex-trust') ?? config;
  const entries = (): TrustEntry[] => trustOf({ hooks: textOf(hooks), config: textOf(config), trust: textOf(trust) }, options);
  if (options.trustCodexHooks) trust.draft = planCodexTrust(trust.draft, trust.target.path, entries(), trust.memory);
  return { notes: planned.notes, trust: entries() };
}

function textOf(file: LoadedFile): { text: string; path: string } {
  return { text: file.draft.text, path: file.target.path };
}
