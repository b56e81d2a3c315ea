import { appendFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { randomUUID } from 'node:crypto';
import type { Installed, Ran } from './installed.ts';

/** A Claude Code session as far as hooks can see: payloads in, transcript rows out. */
export interface FakeClaude {
  id: string;
  transcript: string;
  env: Record<string, string>;
  payload(event: string, fields?: Record<string, unknown>): Record<string, unknown>;
  start(source?: string, env?: Record<string, string>): Promise<Ran>;
  prompt(text: string): Promise<Ran>;
  /** Writes prompt, accepted context and (unless `answered` is false) the model's answer. */
  accept(event: string, prompt: string, output: string, answered?: boolean): void;
  /** Writes prompt, the refusal that a timed-out hook leaves, and the model's answer. */
  refuse(event: string, prompt: string): void;
}

export function contextOf(output: string): string {
  if (output === '') return '';
  return (JSON.parse(output) as { hookSpecificOutput: { additionalContext: string } }).hookSpecificOutput.additionalContext;
}

export function fakeClaude(world: Installed, extra: Record<string, string> = {}): FakeClaude {
  const id = randomUUID();
  const transcript = join(world.home, '.claude', 'projects', 'shop', `${id}.jsonl`);
  const env = {
    CLAUDECODE: '1',
    CLAUDE_CODE_SESSION_ID: id,
    CLAUDE_CODE_SESSION_ATTENDED: '1',
    CLAUDE_CODE_ENTRYPOINT: 'cli',
    CLAUDE_PID: String(process.pid),
    ...extra,
  };
  let parent: string | null = null;
  function write(row: Record<string, unknown>): void {
    const uuid = randomUUID();
    mkdirSync(dirname(transcript), { recursive: true });
    appendFileSync(
      transcript,
      `${JSON.stringify({ parentUuid: parent, uuid, isSidechain: false, timestamp: new Date().toISOString(), ...row })}\n`,
    );
    parent = uuid;
  }
  const answer = (): void =>
    write({ type: 'assistant', message: { id: `msg_${randomUUID()}`, role: 'assistant', model: 'test', content: [] } });
  function payload(event: string, fields: Record<string, unknown> = {}): Record<string, unknown> {
    return { session_id: id, transcript_path: transcript, cwd: world.project, hook_event_name: event, ...fields };
  }
  return {
    id,
    transcript,
    env,
    payload,
    start: (source = 'startup', more = {}) =>
      world.hook('claude', 'SessionStart', payload('SessionStart', { source }), { env: { ...env, ...more } }),
    prompt: (text) => world.hook('claude', 'UserPromptSubmit', payload('UserPromptSubmit', { prompt: text, prompt_id: randomUUID() })),
    accept(event, prompt, output, answered = true) {
      if (event === 'UserPromptSubmit') write({ type: 'user', message: { role: 'user', content: prompt } });
      if (output !== '')
        write({ type: 'attachment', attachment: { type: 'hook_additional_context', content: [contextOf(output)], hookEvent: event } });
      if (answered) answer();
    },
    refuse(event, prompt) {
      if (event === 'UserPromptSubmit') write({ type: 'user', message: { role: 'user', content: prompt } });
      write({ type: 'attachment', attachment: { type: 'hook_cancelled', hookEvent: event, timedOut: true } });
      answer();
    },
  };
}
