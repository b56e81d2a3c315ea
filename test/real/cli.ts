import { fileURLToPath } from 'node:url';
import type { ToolUse } from '../lab/model.ts';
import pinned from './pinned.json' with { type: 'json' };

export interface HeadlessOptions {
  /** Go on with the last session of the project. */
  resume?: boolean;
  extra?: string[];
}

/** What differs between the CLIs under test, and nothing else. */
export interface Cli {
  /** For test titles. */
  name: string;
  harness: 'claude' | 'codex';
  version: string;
  bin: string;
  /** Arguments of a run without a person. */
  headless(prompt: string, options?: HeadlessOptions): string[];
  /** The hook events at which a message may be shown in mid-session. */
  showing: string[];
  /** Arguments of the interactive program. */
  interactive: string[];
  /** The fake model's call of the shell tool. */
  shell(command: string): ToolUse;
  /** The fake model's call of one of AgentBus's MCP tools. */
  busTool(name: string, input: Record<string, unknown>): ToolUse;
}

const claude = {
  harness: 'claude',
  headless: (prompt, options = {}) => [
    '-p',
    prompt,
    '--dangerously-skip-permissions',
    ...(options.resume ? ['--continue'] : []),
    ...(options.extra ?? []),
  ],
  showing: ['UserPromptSubmit', 'PostToolBatch', 'Stop'],
  interactive: ['--dangerously-skip-permissions'],
  shell: (command) => ({ name: 'Bash', input: { command, description: 'lab' } }),
  busTool: (name, input) => ({ name: `mcp__agentbus__${name}`, input }),
} satisfies Partial<Cli>;

const codex = {
  harness: 'codex',
  headless: (prompt, options = {}) => [
    'exec',
    ...(options.resume ? ['resume', '--last'] : []),
    '--skip-git-repo-check',
    '--dangerously-bypass-approvals-and-sandbox',
    ...(options.extra ?? []),
    prompt,
  ],
  showing: ['UserPromptSubmit', 'PostToolUse', 'Stop'],
  interactive: [],
  shell: (command) => ({ name: 'exec_command', input: { cmd: command, yield_time_ms: 30_000 } }),
  busTool: (name, input) => ({ namespace: 'mcp__agentbus', name, input }),
} satisfies Partial<Cli>;

const seams: Record<string, Omit<Cli, 'name' | 'version' | 'bin'>> = { claude, codex } as const;

export const CLIS: Cli[] = pinned.map(({ harness, version, bin }) => ({
  ...seams[harness]!,
  name: `${harness} ${version}`,
  version,
  bin: fileURLToPath(new URL(`../../.cache/clis/${harness}-${version}/${bin}`, import.meta.url)),
}));

export const CODEX = CLIS.find((cli) => cli.harness === 'codex')!;
/** The newest pinned Claude Code. */
export const CLAUDE = CLIS.findLast((cli) => cli.harness === 'claude')!;

/** A shell command that ends once the test has made a file. */
export function waitFor(file: string): string {
  return `i=0; until [ -e '${file}' ] || [ $i -gt 1000 ]; do sleep 0.02; i=$((i+1)); done; echo released`;
}
