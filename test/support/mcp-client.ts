import { spawn, type ChildProcess } from 'node:child_process';
import type { Installed } from './installed.ts';

/** A raw JSON-RPC client of the installed MCP launcher, so that every byte on its stdout is seen. */
export interface McpClient {
  child: ChildProcess;
  lines: string[];
  call(method: string, params?: unknown): Promise<Record<string, unknown>>;
  tool(name: string, args?: Record<string, unknown>, meta?: Record<string, unknown>): Promise<{ text: string; isError: boolean }>;
  exited: Promise<number | null>;
}

export function mcpClient(world: Installed, harness: string, env: Record<string, string> = {}): McpClient {
  const child = spawn(`${world.bus}/bin/agentbus-mcp`, [harness], {
    env: { ...world.env, ...env },
    cwd: world.project,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  const waiting = new Map<number, (answer: Record<string, unknown>) => void>();
  let buffer = '';
  let id = 0;
  child.stdin.on('error', () => {});
  child.stdout.on('data', (chunk: Buffer) => {
    buffer += chunk.toString('utf8');
    const parts = buffer.split('\n');
    buffer = parts.pop()!;
    for (const line of parts) {
      lines.push(line);
      const message = JSON.parse(line) as Record<string, unknown>;
      waiting.get(message['id'] as number)?.(message);
    }
  });
  const exited = new Promise<number | null>((resolve) => child.on('exit', resolve));

  function call(method: string, params: unknown = {}): Promise<Record<string, unknown>> {
    const own = ++id;
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: own, method, params })}\n`);
    return new Promise((resolve) => waiting.set(own, resolve));
  }

  let ready: Promise<unknown> | null = null;
  async function tool(
    name: string,
    args: Record<string, unknown> = {},
    meta?: Record<string, unknown>,
  ): Promise<{ text: string; isError: boolean }> {
    ready ??= call('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } });
    await ready;
    const answer = await call('tools/call', { name, arguments: args, ...(meta ? { _meta: meta } : {}) });
    const result = answer['result'] as { content: { text: string }[]; isError?: boolean };
    return { text: result.content[0]!.text, isError: result.isError === true };
  }

  return { child, lines, call, tool, exited };
}
