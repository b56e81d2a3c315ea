import { join, resolve } from 'node:path';
import type { EventKind, Harness, HookEvent, HookRegistration } from '../../core/harness.ts';
import { baseEvent, count, record, text, toolCall } from '../../core/payload.ts';
import { isWakeLine } from '../../core/wake-line.ts';
import { evidence, unescape } from './evidence.ts';

const KINDS: Readonly<Record<string, EventKind>> = {
  SessionStart: 'session-start',
  UserPromptSubmit: 'prompt',
  PostToolUse: 'post-tool',
  Stop: 'stop',
  SessionEnd: 'session-end',
  Interrupt: 'interrupt',
  PostCompact: 'compact',
  SubagentStart: 'subagent-start',
  SubagentStop: 'subagent-stop',
  PostModelRequest: 'model-request',
};

/** Codex's threads are UUIDs whose rollouts lie under `sessions/`; nobody else's payloads look so. */
function isOurs(payload: Record<string, unknown>): boolean {
  const transcript = text(payload['transcript_path']);
  if (Object.hasOwn(payload, 'prompt_id') || Object.hasOwn(payload, 'timestamp')) return false;
  if (transcript !== null) return /\/rollout-[^/]*\.jsonl$/.test(transcript);
  return Object.hasOwn(payload, 'turn_id');
}

function parse(payload: Record<string, unknown>): HookEvent | null {
  if (!isOurs(payload)) return null;
  const event = baseEvent(payload, KINDS);
  if (!event) return null;
  event.turn = text(payload['turn_id']);
  if (event.kind === 'post-tool') event.tools = [toolCall(payload, true)].filter((call) => call !== null);
  if (event.kind === 'model-request') {
    const used = record(payload['token_usage']);
    event.usage = {
      input: count(used['input_tokens']) ?? 0,
      output: count(used['output_tokens']) ?? 0,
      cacheRead: count(used['cached_input_tokens']) ?? 0,
      cacheWrite: count(used['cache_write_input_tokens']) ?? 0,
      reasoning: count(used['reasoning_output_tokens']) ?? 0,
    };
  }
  return event;
}

// 10,000 UTF-8 bytes pass; one more and Codex spills the whole text into a world-readable file.
const point = {
  budget: 9_000,
  unit: 'utf8',
  render: (native: string, additionalContext: string): string =>
    JSON.stringify({ hookSpecificOutput: { hookEventName: native, additionalContext } }),
} as const;

// Codex's Stop takes no hookSpecificOutput, and any unknown key voids the whole answer.
const stopPoint = { ...point, render: (_native: string, reason: string): string => JSON.stringify({ decision: 'block', reason }) };

// The final set at once: Codex hashes events and timeouts into the user's trust, so a later change asks for another review.
function registrations(): HookRegistration[] {
  return [
    { event: 'SessionStart', timeout: 10 },
    { event: 'UserPromptSubmit', timeout: 10 },
    { event: 'PostToolUse', timeout: 10 },
    { event: 'Stop', timeout: 10 },
    { event: 'SessionEnd', timeout: 3 },
    { event: 'Interrupt', timeout: 3 },
    { event: 'PostCompact', timeout: 10, async: true },
    { event: 'SubagentStart', timeout: 10, async: true },
    { event: 'SubagentStop', timeout: 10, async: true },
    { event: 'PostModelRequest', timeout: 10, async: true },
  ];
}

export const codex: Harness = {
  id: 'codex',
  title: 'Codex',
  versions: ['0.171.0'],
  sessionOf: (env) => env['CODEX_SESSION_ID'] ?? env['CODEX_THREAD_ID'] ?? null,
  parse,
  isMachinePrompt: isWakeLine,
  inject: { 'session-start': point, prompt: point, 'post-tool': point, stop: stopPoint },
  // The environment is the shared daemon's, hence another session's: the rollout's turn_trigger decides.
  headless: () => null,
  pid: () => null,
  trustsEnv: (headless) => headless,
  push: ['queue', 'steer'],
  evidence,
  unescape,
  install: {
    program: 'codex',
    shell: 'any',
    configDir: (home, env) => (env['CODEX_HOME'] ? resolve(env['CODEX_HOME']) : join(home, '.codex')),
    registrations,
    format: 'codex',
  },
  caps: { push: 'hook', usageSource: 'native', usageConfidence: 'exact', cancel: false, progress: 'tool' },
};
