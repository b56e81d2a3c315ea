import { join, resolve } from 'node:path';
import type { EventKind, Harness, HookEvent, HookRegistration } from '../../core/harness.ts';
import { LIMITS } from '../../core/limits.ts';
import { baseEvent, list, record, text, toolCall } from '../../core/payload.ts';
import { atLeast } from '../../core/version.ts';
import { evidence } from './evidence.ts';

const KINDS: Readonly<Record<string, EventKind>> = {
  SessionStart: 'session-start',
  UserPromptSubmit: 'prompt',
  PostToolUse: 'post-tool',
  PostToolBatch: 'post-tool',
  PostToolUseFailure: 'post-tool-failure',
  Stop: 'stop',
  StopFailure: 'stop-failure',
  SubagentStart: 'subagent-start',
  SubagentStop: 'subagent-stop',
  PostCompact: 'compact',
  SessionEnd: 'session-end',
};

/** Codex sends the same event names; its payloads carry `turn_id` or a rollout path, Claude's never do. */
function isForeign(payload: Record<string, unknown>): boolean {
  const transcript = text(payload['transcript_path']) ?? '';
  const foreign = ['turn_id', 'thread_id', 'conversation_id', 'timestamp', 'cursor_version', 'hookEventName'];
  return foreign.some((key) => Object.hasOwn(payload, key)) || /\/sessions\/|\/(?:\.gemini|\.qwen|\.copilot|\.cursor)\//.test(transcript);
}

function parse(payload: Record<string, unknown>): HookEvent | null {
  if (isForeign(payload)) return null;
  // Codex's SessionStart and SessionEnd lack turn_id; permission_mode stands only in Codex's start, prompt_id only in Claude's end.
  if (payload['hook_event_name'] === 'SessionStart' && payload['permission_mode'] !== undefined) return null;
  const event = baseEvent(payload, KINDS);
  if (!event) return null;
  event.turn = text(payload['prompt_id']);
  const calls = event.native === 'PostToolBatch' ? list(payload['tool_calls']).slice(0, LIMITS.toolCallsPerBatch).map(record) : [payload];
  if (event.kind === 'post-tool' || event.kind === 'post-tool-failure') {
    event.tools = calls.map((call) => toolCall(call, event.kind === 'post-tool')).filter((call) => call !== null);
  }
  return event;
}

function context(native: string, additionalContext: string): string {
  return JSON.stringify({ hookSpecificOutput: { hookEventName: native, additionalContext } });
}

// Claude Code passes 10,000 UTF-16 units per hook and replaces anything longer by a 2 kB preview.
const point = { budget: 9_000, unit: 'utf16', render: context } as const;

const DAY = 86_400;

function registrations(version: string | null): HookRegistration[] {
  const entry = (event: string, timeout = 10): HookRegistration => ({ event, timeout });
  const common = [entry('SessionStart'), entry('UserPromptSubmit'), entry('Stop'), entry('SessionEnd', 5)];
  if (version === null || !atLeast(version, '2.1.197')) return [...common, entry('PostToolUse')];
  const later = ['PostToolBatch', 'PostToolUseFailure', 'StopFailure', 'SubagentStart', 'SubagentStop', 'PostCompact'];
  return [...common, ...later.map((event) => entry(event))];
}

// Where waking was seen to work. SessionStart too, for the time before the first turn and after /clear.
function waiters(version: string | null): HookRegistration[] {
  if (version === null || !atLeast(version, '2.1.332')) return [];
  return ['SessionStart', 'Stop'].map((event) => ({ event, timeout: DAY }));
}

export const claude: Harness = {
  id: 'claude',
  title: 'Claude Code',
  versions: ['2.1.197', '2.1.332'],
  sessionOf: (env) => (env['CLAUDECODE'] === '1' ? (env['CLAUDE_CODE_SESSION_ID'] ?? null) : null),
  parse,
  isMachinePrompt: (prompt) => /^\s*<task-notification>/.test(prompt),
  inject: { 'session-start': point, prompt: point, 'post-tool': point, stop: point },
  headless(env) {
    if (env.CLAUDE_CODE_SESSION_ATTENDED !== undefined) return env.CLAUDE_CODE_SESSION_ATTENDED !== '1';
    if (env.CLAUDE_CODE_ENTRYPOINT !== undefined) return env.CLAUDE_CODE_ENTRYPOINT.startsWith('sdk');
    return null;
  },
  pid: (env) => (/^\d{1,9}$/.test(env.CLAUDE_PID ?? '') ? Number(env.CLAUDE_PID) : null),
  trustsEnv: () => true,
  push: ['wake'],
  evidence,
  install: {
    program: 'claude',
    shell: 'sh',
    configDir: (home, env) => (env['CLAUDE_CONFIG_DIR'] ? resolve(env['CLAUDE_CONFIG_DIR']) : join(home, '.claude')),
    registrations,
    waiters,
    format: 'claude',
  },
  caps: { push: 'hook', usageSource: 'none', usageConfidence: 'none', cancel: false, progress: 'tool' },
};
