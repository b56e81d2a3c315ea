import { createHash } from 'node:crypto';
import { isAbsolute, relative, resolve } from 'node:path';
import type { HookEvent, ToolCall } from '../core/harness.ts';
import { newId } from '../core/ids.ts';
import { cutUtf16 } from '../core/unicode.ts';
import type { InstanceRow, RecordRow } from '../store/contract.ts';
import { redact, redactJson } from './redact.ts';

/**
 * `agentbus.session.record.v1`: what a session did, by an allow-list of fields, none of which is free
 * text. Names follow OpenTelemetry's gen_ai attributes where one exists.
 */

// Subcommands that say what was done; everything else of a command line stays out.
const SUBCOMMANDS: Readonly<Record<string, readonly string[]>> = {
  git: [
    'add',
    'bisect',
    'blame',
    'branch',
    'checkout',
    'clone',
    'commit',
    'diff',
    'fetch',
    'grep',
    'init',
    'log',
    'merge',
    'mv',
    'pull',
    'push',
    'rebase',
    'reset',
    'restore',
    'rm',
    'show',
    'stash',
    'status',
    'switch',
    'tag',
    'worktree',
  ],
  npm: ['audit', 'ci', 'exec', 'install', 'pack', 'publish', 'run', 'start', 'test', 'update', 'view'],
  pnpm: ['add', 'exec', 'install', 'run', 'test', 'update'],
  yarn: ['add', 'install', 'run', 'test'],
  cargo: ['bench', 'build', 'check', 'clippy', 'doc', 'fmt', 'run', 'test', 'update'],
  go: ['build', 'fmt', 'generate', 'get', 'mod', 'run', 'test', 'vet'],
  docker: ['build', 'compose', 'exec', 'images', 'logs', 'ps', 'pull', 'push', 'run', 'stop'],
  kubectl: ['apply', 'delete', 'describe', 'exec', 'get', 'logs', 'rollout'],
  pip: ['freeze', 'install', 'list', 'show', 'uninstall'],
  uv: ['add', 'lock', 'pip', 'run', 'sync'],
  gh: ['api', 'issue', 'pr', 'release', 'repo', 'run', 'workflow'],
  make: [],
};

// A variable set for a program, as far as its value surely ends with the word: the next one is then no part of it.
const ASSIGNMENT = /^[A-Za-z_]\w*=(?:[\w./:@%+,=~$-]|'[^'\s]*'|"[^"\s`(\\]*")*$/;

/** Program and known subcommand of a shell command, never its arguments. */
export function commandName(command: string): { program: string; subcommand?: string } {
  const words = command.trim().slice(0, 400).split(/\s+/, 12);
  while (words.length > 1 && ASSIGNMENT.test(words[0]!)) words.shift();
  const program = words[0]!.split('/').at(-1)!.toLowerCase();
  // A quoted or escaped path with spaces ends in the middle of a directory's name.
  if (!/^[a-z0-9][a-z0-9._+-]{0,31}$/.test(program) || !/^[\w./+~@-]+$/.test(words[0]!) || redact(words[0]!) !== words[0])
    return { program: 'other' };
  const subcommand = Object.hasOwn(SUBCOMMANDS, program) ? words.slice(1).find((word) => !word.startsWith('-')) : undefined;
  return subcommand !== undefined && SUBCOMMANDS[program]!.includes(subcommand) ? { program, subcommand } : { program };
}

/** A name out of a payload (tool, model) as far as it looks like one and like no secret; else `other`. */
export function plainName(name: string | null, longest = 80): string | undefined {
  if (name === null) return undefined;
  if (redact(name) !== name) return 'other';
  return /^[A-Za-z0-9][A-Za-z0-9_.:/@-]*$/.test(name) && name.length <= longest ? name : 'other';
}

function projectPath(path: string, instance: InstanceRow): string {
  // Under the root directory everything would be inside the project.
  if (instance.root === null || instance.root === '/') return 'outside';
  const inside = relative(instance.root, isAbsolute(path) ? path : resolve(instance.cwd ?? '/', path));
  return inside === '' || inside.startsWith('..') || isAbsolute(inside) ? 'outside' : cutUtf16(redact(inside), 300);
}

function toolFields(call: ToolCall, instance: InstanceRow): Record<string, unknown> {
  return {
    'gen_ai.tool.name': plainName(call.name),
    ok: call.ok,
    ...(call.duration === null ? {} : { duration_ms: call.duration }),
    ...(call.command === null ? {} : commandName(call.command)),
    ...(call.paths.length === 0 ? {} : { paths: call.paths.map((path) => projectPath(path, instance)) }),
    input_bytes: call.inputBytes,
    output_bytes: call.outputBytes,
  };
}

function usageFields(event: HookEvent): Record<string, unknown> {
  if (!event.usage) return {};
  return {
    'gen_ai.usage.input_tokens': event.usage.input,
    'gen_ai.usage.output_tokens': event.usage.output,
    cache_read_tokens: event.usage.cacheRead,
    cache_write_tokens: event.usage.cacheWrite,
    reasoning_tokens: event.usage.reasoning,
  };
}

/** The records of one hook event: one, or one per tool call of a batch. `shown`: ids of the messages it offered. */
export function recordsOf(event: HookEvent, instance: InstanceRow, shown: readonly string[], now: number): RecordRow[] {
  const base = {
    event: event.subagent && !event.kind.startsWith('subagent') ? `subagent-${event.kind}` : event.kind,
    agent: instance.address,
    harness: instance.harness,
    instance: instance.id,
    session: createHash('sha256').update(instance.sessionKey).digest('hex').slice(0, 16),
    time: new Date(now).toISOString(),
    ...(event.turn === null ? {} : { turn: createHash('sha256').update(event.turn).digest('hex').slice(0, 12) }),
    ...(event.source === null ? {} : { source: event.source }),
    ...(event.model === null ? {} : { 'gen_ai.request.model': plainName(event.model) }),
    ...(event.kind === 'session-end' && event.reason !== null ? { reason: event.reason } : {}),
    ...(event.prompt === null ? {} : { prompt_bytes: Buffer.byteLength(event.prompt) }),
    ...(event.kind === 'stop' ? { continued: event.stopHookActive } : {}),
    ...(shown.length === 0 ? {} : { messages: shown }),
    ...usageFields(event),
  };
  const bodies = event.tools.length === 0 ? [base] : event.tools.map((call) => ({ ...base, ...toolFields(call, instance) }));
  return bodies.map((body) => ({ id: newId('rec'), at: now, body: JSON.stringify(redactJson(body)) }));
}
