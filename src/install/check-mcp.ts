// Doctor's proof of the MCP server: the written entry, started as the harness starts it, has to name its tools.
import type { Harness } from '../core/harness.ts';
import type { Checker } from './checks.ts';
import { mcpEntry } from './inspect.ts';
import type { Env, InstallOptions } from './options.ts';
import { proveMcp, type McpProof } from './prove-mcp.ts';

// ms; what Codex gives a server for its start.
const PATIENCE = 10_000;
const CODEX_PASSES = ['HOME', 'PATH', 'SHELL', 'TERM'];

/** What a harness gives the server of an environment: Claude Code all of it, Codex four variables. */
export function mcpEnv(harness: Harness, env: Env): Record<string, string> {
  const passed = Object.entries(env).filter(([name]) => harness.install.format !== 'codex' || CODEX_PASSES.includes(name));
  return Object.fromEntries(passed.filter((pair): pair is [string, string] => pair[1] !== undefined));
}

function complaint({ outcome, extra, status, tools }: McpProof, command: string): [what: string, fix: string] | null {
  const said = extra === '' ? '' : ` (${extra})`;
  switch (outcome) {
    case 'noise':
      return [`"${extra}" stands among the answers`, `Make ${command}, or what it runs, print nothing of its own.`];
    case 'refused':
      return [`it answered with an error${said}`, 'Run `agentbus install`.'];
    case 'ended':
      return [`${command} ended${status === null ? '' : ` with status ${status}`} without an answer${said}`, 'Run `agentbus install`.'];
    case 'late':
      return [`${command} did not answer within ${PATIENCE / 1_000} s${said}`, 'Run `agentbus install`.'];
    default:
      return tools > 0 ? null : ['it has no tools', 'Run `agentbus install`.'];
  }
}

export async function checkMcp(checker: Checker, harness: Harness, options: InstallOptions): Promise<void> {
  const entry = mcpEntry(harness, options);
  if (!entry) return;
  const { path, command, args, env, enabled } = entry;
  const title = `${harness.title}: the MCP server`;
  if (!enabled) return checker.warn(`${title} is turned off in ${path}`, 'Take `enabled = false` out.');
  if (command === null) return checker.fail(`${title} in ${path} has no command`, 'Run `agentbus install`.');
  const run = { command, args, cwd: process.cwd(), timeout: PATIENCE, env: { ...mcpEnv(harness, options.env), ...env } };
  const proof = await proveMcp(run);
  const bad = complaint(proof, command);
  if (bad) checker.fail(`${title}: ${bad[0]}`, bad[1], { ms: proof.ms });
  else checker.ok(`${title} answered in ${proof.ms} ms with ${proof.tools} tools`, { ms: proof.ms });
}
