import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Installed } from './installed.ts';

export interface HttpBridge {
  url: string;
  close(): Promise<void>;
}

/**
 * The installed stdio server for a client that speaks HTTP only: each HTTP session gets a server process,
 * and every JSON-RPC message is handed through as it is. Nothing is answered here.
 */
export async function mcpOverHttp(world: Installed, harness: string, env: Record<string, string> = {}): Promise<HttpBridge> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const open: (() => Promise<void>)[] = [];

  async function connect(): Promise<StreamableHTTPServerTransport> {
    const http = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, http),
    });
    const command = `${world.bus}/bin/agentbus-mcp`;
    const stdio = new StdioClientTransport({ command, args: [harness], env: { ...world.env, ...env }, cwd: world.project });
    /* oxlint-disable unicorn/prefer-add-event-listener -- a transport has these properties and no events */
    http.onmessage = (message) => void stdio.send(message);
    stdio.onmessage = (message) => void http.send(message);
    http.onclose = () => void stdio.close();
    /* oxlint-enable unicorn/prefer-add-event-listener */
    open.push(() => http.close().then(() => stdio.close()));
    await stdio.start();
    await http.start();
    return http;
  }

  const server = createServer((request, response) => {
    const known = sessions.get(String(request.headers['mcp-session-id']));
    void (async () => (known ?? (await connect())).handleRequest(request, response))();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    async close() {
      await Promise.all(open.map((end) => end()));
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
