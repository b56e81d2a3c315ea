import { execFile, spawn } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { randomUUID } from 'node:crypto';
import { record, list, text } from '../core/payload.ts';

/**
 * The demo's two sessions: they do what the real CLIs do around a hook (run the command that install
 * wrote, pass JSON on stdin, keep a record of what was accepted and answered), with no model behind.
 */
export interface PretendSession {
  title: string;
  sessionId: string;
  /** Runs the session's hook and gives the text that would enter the model's context. */
  hook(event: string, fields: Record<string, unknown>): Promise<string>;
  /** One call of an MCP tool, by the server that install registered. */
  tool(name: string, args: Record<string, unknown>): Promise<string>;
  /** The model read the context and answered: written as this CLI writes it. */
  answered(event: string, prompt: string, context: string): void;
}

export interface PretendOptions {
  env: Record<string, string>;
  cwd: string;
  /** settings.json or hooks.json, as install left it. */
  hooksFile: string;
  transcript: string;
  mcpLauncher: string;
}

function commandOf(hooksFile: string, event: string): string {
  const config = record(JSON.parse(readFileSync(hooksFile, 'utf8')));
  for (const group of list(record(config['hooks'])[event])) {
    for (const handler of list(record(group)['hooks'])) {
      const command = text(record(handler)['command']);
      if (command?.includes('agentbus-hook')) return command;
    }
  }
  throw new Error(`install wrote no hook for ${event}`);
}

function runHook(command: string, payload: unknown, env: Record<string, string>, cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile('/bin/sh', ['-c', command], { env, cwd, timeout: 10_000 }, (error, stdout) =>
      error ? reject(error) : resolve(stdout),
    );
    child.stdin?.on('error', () => {});
    child.stdin?.end(JSON.stringify(payload));
  });
}

function callTool(launcher: string, harness: string, env: Record<string, string>, params: unknown): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(launcher, [harness], { env, stdio: ['pipe', 'pipe', 'ignore'] });
    const send = (message: unknown): void => void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...(message as object) })}\n`);
    let buffer = '';
    child.on('error', reject);
    child.stdout.on('data', (chunk: Buffer) => {
      buffer += chunk.toString('utf8');
      const lines = buffer.split('\n');
      buffer = lines.pop() ?? '';
      for (const line of lines) {
        const answer = record(JSON.parse(line));
        if (answer['id'] === 1) {
          send({ method: 'notifications/initialized' });
          send({ id: 2, method: 'tools/call', params });
        } else if (answer['id'] === 2) {
          child.stdin.end();
          resolve(text(record(list(record(answer['result'])['content'])[0])['text']) ?? '');
        }
      }
    });
    send({
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'demo', version: '1' } },
    });
  });
}

function append(file: string, rows: readonly object[]): void {
  mkdirSync(dirname(file), { recursive: true });
  appendFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
}

export function pretendClaude(options: PretendOptions): PretendSession {
  const sessionId = randomUUID();
  const env = {
    ...options.env,
    CLAUDECODE: '1',
    CLAUDE_CODE_SESSION_ID: sessionId,
    CLAUDE_CODE_SESSION_ATTENDED: '1',
    CLAUDE_CODE_ENTRYPOINT: 'cli',
    CLAUDE_PID: String(process.pid),
  };
  let parent: string | null = null;
  const row = (fields: object): object => {
    const made = {
      parentUuid: parent,
      uuid: randomUUID(),
      isSidechain: false,
      timestamp: new Date().toISOString(),
      entrypoint: 'cli',
      ...fields,
    };
    parent = made.uuid;
    return made;
  };
  return {
    title: 'Claude Code',
    sessionId,
    async hook(event, fields) {
      const payload = { session_id: sessionId, transcript_path: options.transcript, cwd: options.cwd, hook_event_name: event, ...fields };
      const output = await runHook(commandOf(options.hooksFile, event), payload, env, options.cwd);
      return output === '' ? '' : (text(record(record(JSON.parse(output))['hookSpecificOutput'])['additionalContext']) ?? '');
    },
    tool: (name, args) => callTool(options.mcpLauncher, 'claude', env, { name, arguments: args }),
    answered(event, prompt, context) {
      append(options.transcript, [
        row({ type: 'user', message: { role: 'user', content: prompt } }),
        row({ type: 'attachment', attachment: { type: 'hook_additional_context', content: [context], hookEvent: event } }),
        row({ type: 'assistant', message: { id: `msg_${randomUUID()}`, role: 'assistant', model: 'demo', content: [] } }),
      ]);
    },
  };
}

export function pretendCodex(options: PretendOptions): PretendSession {
  const sessionId = randomUUID();
  let sequence = 0;
  const item = (payload: object, sampled: number): object => ({
    type: 'response_item',
    payload,
    metadata: { history_sequence: ++sequence, sampled_through_sequence: sampled },
  });
  append(options.transcript, [{ type: 'event_msg', payload: { type: 'task_started', turn_attribution: { turn_trigger: 'user' } } }]);
  return {
    title: 'Codex',
    sessionId,
    async hook(event, fields) {
      const payload = {
        session_id: sessionId,
        transcript_path: options.transcript,
        cwd: options.cwd,
        hook_event_name: event,
        model: 'demo',
        permission_mode: 'default',
        ...fields,
      };
      const output = await runHook(commandOf(options.hooksFile, event), payload, options.env, options.cwd);
      return output === '' ? '' : (text(record(record(JSON.parse(output))['hookSpecificOutput'])['additionalContext']) ?? '');
    },
    tool: (name, args) => callTool(options.mcpLauncher, 'codex', options.env, { name, arguments: args, _meta: { threadId: sessionId } }),
    answered(_event, prompt, context) {
      const message = (role: string, words: string): object => ({ type: 'message', role, content: [{ type: 'input_text', text: words }] });
      append(options.transcript, [item(message('user', prompt), sequence), item(message('developer', context), sequence)]);
      append(options.transcript, [item(message('assistant', 'understood'), sequence)]);
    },
  };
}
