// Starts a registered MCP server as its harness does, asks it who it is and for its tools, and ends it.
import { spawn } from 'node:child_process';

export interface McpRun {
  command: string;
  args: string[];
  env: Record<string, string>;
  cwd: string;
  /** ms */
  timeout: number;
}

export interface McpProof {
  /** `noise`: it answered, and printed something else as well. `refused`: it answered with an error. */
  outcome: 'answered' | 'noise' | 'refused' | 'ended' | 'late';
  tools: number;
  ms: number;
  status: number | null;
  /** What it said beside its answers, shortened. */
  extra: string;
}

const SHOWN = 120;
const INITIALIZE = {
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'agentbus-doctor', version: '1' } },
};
const ASKED = [INITIALIZE, { method: 'notifications/initialized' }, { id: 2, method: 'tools/list', params: {} }];
const REQUESTS = ASKED.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

/**
 * Becomes the server, with a guard in its process group that kills the group once the other end of fd 3
 * is closed: so nothing outlives this process either, whatever ends it.
 */
const GUARDED = '(read -r _ <&3; kill -9 0) >/dev/null 2>&1 & exec "$@" 3<&-';

interface Answer {
  id?: unknown;
  result?: { tools?: unknown };
  error?: { message?: unknown };
}

function answerOf(line: string): Answer | null {
  try {
    const value = JSON.parse(line) as unknown;
    return typeof value === 'object' && value !== null && 'jsonrpc' in value ? (value as Answer) : null;
  } catch {
    return null;
  }
}

function lastLine(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return (lines.find((line) => /error/i.test(line)) ?? lines.at(-1) ?? '').trim().slice(0, SHOWN);
}

/** Never throws: a server that cannot even be started is a result too. */
export function proveMcp({ command, args, env, cwd, timeout }: McpRun): Promise<McpProof> {
  const started = performance.now();
  return new Promise((resolve) => {
    const child = spawn('/bin/sh', ['-c', GUARDED, 'sh', command, ...args], {
      env,
      cwd,
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
      detached: true,
    });
    const [stdin, stdout, stderr] = child.stdio;
    let pending = '';
    let noise = '';
    let said = '';
    let settled = false;
    const end = (outcome: McpProof['outcome'], more: Partial<McpProof> = {}): void => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      } catch {
        // All of it has ended.
      }
      for (const stream of child.stdio) stream?.destroy();
      resolve({ outcome, tools: 0, ms: Math.round(performance.now() - started), status: null, extra: '', ...more });
    };
    const timer = setTimeout(() => end('late', { extra: lastLine(noise || said) }), timeout);
    const take = (line: string): void => {
      const answer = answerOf(line);
      if (!answer) {
        if (noise === '') noise = line.trim().slice(0, SHOWN) || 'an empty line';
      } else if (answer.error) end('refused', { extra: String(answer.error.message).slice(0, SHOWN) });
      else if (answer.id === 1) stdin?.write(REQUESTS.slice(1).join(''));
      else if (answer.id === 2) {
        const tools = Array.isArray(answer.result?.tools) ? answer.result.tools.length : 0;
        end(noise === '' ? 'answered' : 'noise', { tools, extra: noise });
      }
    };
    stdout?.on('data', (chunk: Buffer) => {
      const lines = (pending + chunk.toString('utf8')).split('\n');
      // A line without an end is cut off: nothing that we wait for is that long.
      pending = lines.pop()!.slice(-1024 * 1024);
      for (const line of lines) take(line);
    });
    stderr?.on('data', (chunk: Buffer) => (said = (said + chunk.toString('utf8')).slice(-8_192)));
    stdin?.on('error', () => undefined);
    child.on('error', (error) => end('ended', { extra: error.message }));
    child.on('exit', (status) => {
      const ended = (): void => end('ended', { status, extra: lastLine(said || noise || pending) });
      // What it said may still be on its way.
      if (!stderr || stderr.closed) ended();
      else stderr.once('close', ended);
    });
    stdin?.write(REQUESTS[0]!);
  });
}
