import type { SizeUnit } from './frame.ts';
import type { HandedEnv } from './handed.ts';

export type { HandedEnv } from './handed.ts';

/** What happened in a session, whatever the harness calls it. */
export type EventKind =
  | 'session-start'
  | 'prompt'
  | 'post-tool'
  | 'post-tool-failure'
  | 'stop'
  | 'stop-failure'
  | 'subagent-start'
  | 'subagent-stop'
  | 'compact'
  | 'model-request'
  | 'interrupt'
  | 'session-end';

export interface ToolCall {
  name: string;
  id: string | null;
  ok: boolean;
  /** Milliseconds, when the harness says. */
  duration: number | null;
  /** The shell command, for the record's program and subcommand; never stored. */
  command: string | null;
  /** Files the call names, absolute or relative to the cwd; recorded only relative to the project. */
  paths: string[];
  inputBytes: number;
  outputBytes: number;
}

export interface TokenUsage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  reasoning: number;
}

/** A hook payload, normalised. Free text of the session (prompt, command) lives only as long as the call. */
export interface HookEvent {
  kind: EventKind;
  /** The harness's own name of the event; the render functions need it. */
  native: string;
  sessionKey: string;
  cwd: string | null;
  transcript: string | null;
  /** The harness's id of the turn, when it gives one. */
  turn: string | null;
  /** An event inside a subagent: recorded, never injected into. */
  subagent: boolean;
  source: 'startup' | 'resume' | 'clear' | 'compact' | 'fork' | null;
  reason: string | null;
  prompt: string | null;
  tools: ToolCall[];
  stopHookActive: boolean;
  model: string | null;
  usage: TokenUsage | null;
}

export interface InjectPoint {
  /** The most text that may be injected here, in `unit`. */
  budget: number;
  unit: SizeUnit;
  /** The whole stdout of the hook. */
  render(native: string, text: string): string;
}

export interface OpenOffer {
  nonce: string;
  kind: EventKind;
  native: string;
  /** ms since the epoch */
  at: number;
  /** Size of the record when the offer was made, in bytes: rows that answer it lie behind. */
  offset: number;
  /** Tool call ids of a post-tool offer. */
  toolIds: readonly string[];
  /** Whether a prompt text read back from the record is the prompt of this offer. */
  isPrompt(text: string): boolean;
  /** Whether it is a prompt that was submitted after this offer. */
  isLaterPrompt(text: string): boolean;
}

export interface BaseFact {
  /** Byte offset of the row in the record. */
  pos: number;
}

export type Verdict =
  | { state: 'presented'; evidence: string; truncated: boolean }
  | { state: 'accepted' }
  | { state: 'miss'; reason: string }
  | { state: 'unknown' };

/**
 * How a harness's own record proves what its model was shown. `Fact` is the little that one row of
 * the record means to us; facts are kept in memory while an offer is open, and hold no session text
 * but the start of prompts.
 */
export interface Evidence<Fact extends BaseFact = BaseFact> {
  /** Directories under which this harness keeps its records; nothing outside them is opened. */
  roots(home: string, env: HandedEnv): string[];
  /** Rows that begin with one of these are large and say nothing: they are not parsed. */
  skip: readonly string[];
  project(row: Record<string, unknown>, pos: number): Fact | null;
  judge(offer: OpenOffer, facts: readonly Fact[]): Verdict;
  /** Whether the record says that the session runs without a person; null when it does not say. */
  headless?(facts: readonly Fact[]): boolean | null;
  /** Milliseconds after the end of a turn at which the record is read once more. */
  flushDelay: number;
}

export interface Caps {
  push: 'native' | 'hook' | 'poll' | 'none';
  usageSource: 'native' | 'proxy' | 'none';
  usageConfidence: 'exact' | 'approximate' | 'unverified' | 'none';
  cancel: boolean;
  progress: 'tool' | 'none';
}

/** One hook entry that the installer writes. Timeouts are in the unit that the harness reads (both here: seconds). */
export interface HookRegistration {
  event: string;
  timeout: number;
  async?: boolean;
}

/** What the installer needs to know of a harness; the how is src/install's. */
export interface InstallSpec {
  /** The program on PATH, for `--version`. */
  program: string;
  /** What runs a hook's command: /bin/sh, or whatever shell the user has. */
  shell: 'sh' | 'any';
  /** The harness's user-level configuration directory. */
  configDir(home: string, env: Readonly<Record<string, string | undefined>>): string;
  /** The events to register for a version (`1.2.3`), or for an unknown one: the oldest common set. */
  registrations(version: string | null): HookRegistration[];
  /** Entries beside them while `<id>.push` is on: programs that wait in the background and wake an idle session by their end. */
  waiters?(version: string | null): HookRegistration[];
  format: 'claude' | 'codex';
}

/**
 * One coding CLI. A plain object: what is absent, the harness cannot do.
 * docs/adding-a-harness.md walks through it.
 */
export interface Harness {
  id: string;
  title: string;
  /** Versions whose behaviour was captured in fixtures/hook-payloads/<id>. */
  versions: readonly string[];
  /** The session key of a shell command run by this harness's model, from its environment. */
  sessionOf(env: Readonly<Record<string, string | undefined>>): string | null;
  /** Null for a payload that is not this harness's. */
  parse(payload: Record<string, unknown>): HookEvent | null;
  /** Whether a prompt was made by a program (a task notification), not by a person. */
  isMachinePrompt(prompt: string): boolean;
  /** Where messages can enter the context. `prompt` and `post-tool` are also its badges. */
  inject: Partial<Record<'session-start' | 'prompt' | 'post-tool' | 'stop', InjectPoint>>;
  /** Whether a SessionStart's environment says that no person attends the session; null: it does not say. */
  headless(env: HandedEnv): boolean | null;
  /** The pid of the session's own process, when the harness gives it. */
  pid(env: HandedEnv): number | null;
  /** Whether AGENTBUS_AGENT in the hook's environment is this session's own (Codex's shared daemon inherits another's). */
  trustsEnv(headless: boolean): boolean;
  /** How an idle session can be woken: the words of the setting `<id>.push` beside `off`. */
  push: readonly string[];
  evidence: Evidence;
  /** Undoes what the harness does to our text at a place, for comparison with the frame. */
  unescape?(text: string): string;
  install: InstallSpec;
  caps: Caps;
}
