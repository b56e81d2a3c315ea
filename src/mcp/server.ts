import { underWay } from './guard.ts';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { AgentBusError } from '../core/errors.ts';
import { agentbusHome } from '../core/paths.ts';
import { record, text } from '../core/payload.ts';
import { wellFormed } from '../core/unicode.ts';
import { VERSION } from '../core/version.ts';
import { askDaemon } from '../daemon/client.ts';
import type { Caller } from '../daemon/callers.ts';
import { findHarness } from '../harness/registry.ts';
import { INSTRUCTIONS, TOOLS } from './tools.ts';

/**
 * Whose call it is. Codex says so with every call (its environment is another session's); Claude Code
 * in the server's environment. Where neither does, the call is refused rather than sent under another name.
 */
function callerOf(harness: string | null, meta: unknown): Caller {
  const said = record(meta);
  const thread = text(said['sessionId']) ?? text(said['threadId']);
  if (harness === 'codex' && thread !== null) return { harness, session: thread };
  const session = harness === null || harness === 'codex' ? null : (findHarness(harness)?.sessionOf(process.env) ?? null);
  if (harness !== null && session !== null) return { harness, session };
  throw new AgentBusError(
    'AB-1002',
    'the client does not say which session this is',
    'the server is started by the harness: run `agentbus install` and start the session anew',
  );
}

// What the hints of the commands are to a model that has tools, and perhaps no shell that reaches the daemon.
const TOOL_OF: Readonly<Record<string, string>> = {
  agents: 'find_agent',
  inbox: 'inbox',
  send: 'send',
  'task list': 'inbox',
  'task show': 'diagnose',
  trace: 'diagnose',
};
const COMMAND = new RegExp(`\`agentbus (${Object.keys(TOOL_OF).join('|')})(?: <id>)?\``, 'g');

function failure(error: unknown): { content: { type: 'text'; text: string }[]; isError: true } {
  const known =
    error instanceof AgentBusError
      ? `${error.code} ${error.message}. ${error.hint.replaceAll(COMMAND, (_, command: string) => `the ${TOOL_OF[command]} tool`)}`
      : `failed: ${error instanceof Error ? error.message : String(error)}`;
  return { content: [{ type: 'text', text: known }], isError: true };
}

/** Serves one client on stdio. `initialize` and `tools/list` need no daemon. */
export async function serve(harness: string | null): Promise<void> {
  const home = agentbusHome();
  const server = new Server({ name: 'agentbus', version: VERSION }, { capabilities: { tools: {} }, instructions: INSTRUCTIONS });
  server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: TOOLS.map(({ run: _run, ...tool }) => tool) }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const tool = TOOLS.find((known) => known.name === params.name);
    if (!tool)
      return failure(
        new AgentBusError('AB-7001', `no such tool: ${params.name}`, `tools are ${TOOLS.map((known) => known.name).join(', ')}`),
      );
    try {
      const context = {
        ask: <T>(path: string, body: unknown): Promise<T> => askDaemon<T>(home, path, body),
        caller: () => callerOf(harness, params._meta),
      };
      return { content: [{ type: 'text', text: wellFormed(await underWay(tool.run(context, params.arguments ?? {}))) }] };
    } catch (error) {
      return failure(error);
    }
  });
  await server.connect(new StdioServerTransport());
}
