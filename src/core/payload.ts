import type { EventKind, HookEvent, ToolCall } from './harness.ts';
import { wellFormed } from './unicode.ts';

/** Reading fields of a payload that may be missing, null or of another type than documented. */
export type Json = Record<string, unknown>;

export function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? wellFormed(value) : null;
}

// No path is longer, and no id; what is kept of a payload must not grow with it.
const LONGEST = 4_096;

/** A path, an id or a name that may be kept. */
export function short(value: unknown): string | null {
  const found = text(value);
  return found !== null && found.length <= LONGEST ? found : null;
}

export function record(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

export function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

export function count(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
}

/** Size of a value as JSON in UTF-8 bytes; 0 for undefined and for what nests too deep to write out. */
export function jsonBytes(value: unknown): number {
  if (value === undefined || value === null) return 0;
  if (typeof value === 'string') return Buffer.byteLength(value);
  try {
    return Buffer.byteLength(JSON.stringify(value) ?? '');
  } catch {
    return 0;
  }
}

const PATH_FIELDS = ['file_path', 'path', 'notebook_path'] as const;

/** One tool call out of the fields that Claude Code and Codex share. */
export function toolCall(source: Json, ok: boolean): ToolCall | null {
  const name = text(source['tool_name']);
  if (name === null) return null;
  const input = record(source['tool_input']);
  return {
    name,
    id: short(source['tool_use_id']),
    ok,
    duration: count(source['duration_ms']),
    command: text(input['command']),
    paths: PATH_FIELDS.map((field) => short(input[field])).filter((path) => path !== null),
    inputBytes: jsonBytes(source['tool_input']),
    outputBytes: jsonBytes(source['tool_response']),
  };
}

const REASONS = ['clear', 'resume', 'logout', 'prompt_input_exit', 'other'] as const;
const SOURCES = ['startup', 'resume', 'clear', 'compact', 'fork'] as const;

/**
 * The fields that every Claude-shaped payload has (Claude Code, Codex, and what imitates them).
 * Null without a usable session key: then there is no one to show anything to.
 */
export function baseEvent(payload: Json, kinds: Readonly<Record<string, EventKind>>): HookEvent | null {
  const native = text(payload['hook_event_name']);
  const sessionKey = text(payload['session_id']);
  if (native === null || sessionKey === null || sessionKey.length > 128 || !Object.hasOwn(kinds, native)) return null;
  const source = text(payload['source']);
  const reason = text(payload['reason']);
  return {
    kind: kinds[native]!,
    native,
    sessionKey,
    cwd: short(payload['cwd']),
    transcript: short(payload['transcript_path']),
    turn: null,
    subagent: payload['agent_id'] !== undefined && payload['agent_id'] !== null,
    source: SOURCES.find((known) => known === source) ?? null,
    reason: reason === null ? null : (REASONS.find((known) => known === reason) ?? 'other'),
    prompt: typeof payload['prompt'] === 'string' ? wellFormed(payload['prompt']) : null,
    tools: [],
    stopHookActive: payload['stop_hook_active'] === true,
    model: text(payload['model']),
    usage: null,
  };
}
