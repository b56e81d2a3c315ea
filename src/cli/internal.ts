import { defineCommand } from 'citty';

// `agentbus hook` itself never comes here: bin/agentbus.mjs goes straight to dist/hook.cjs.
export const hookCommand = defineCommand({
  meta: { name: 'hook', description: 'Called by the harness with its JSON on standard input; prints hook JSON or nothing, exits 0 always' },
  args: {
    event: { type: 'positional', description: 'The harness’s name of the event', required: true },
    harness: { type: 'string', description: 'claude or codex', required: true, valueHint: 'id' },
  },
});

export const mcpCommand = defineCommand({
  meta: { name: 'mcp', description: 'The MCP server on standard input and output, for one session' },
  args: { harness: { type: 'positional', description: 'claude or codex', required: false } },
  async run({ args }) {
    const { serve } = await import('../mcp/server.ts');
    await serve(args.harness ?? null);
  },
});
