import { defineCommand } from 'citty';
import type { AgentView } from '../daemon/presence.ts';
import { ask, jsonArg, print, table } from './context.ts';

const BADGES: Readonly<Record<string, string>> = { prompt: 'prompt', 'post-tool': 'mid-turn', stop: 'stop' };

function describe(agents: AgentView[]): string {
  if (agents.length === 0) return 'nobody yet: open a session after `agentbus install`';
  const rows = agents.map((agent) => [
    agent.address,
    agent.title,
    agent.brake === null ? agent.presence : `${agent.presence}, ${agent.brake}`,
    agent.kind === 'person' ? '' : agent.badges.map((badge) => BADGES[badge] ?? badge).join(' '),
    String(agent.unread),
    agent.cwd ?? '',
  ]);
  return table(['ADDRESS', 'WHAT', 'PRESENCE', 'REACHED AT', 'UNREAD', 'DIRECTORY'], rows);
}

export const agentsCommand = defineCommand({
  meta: { name: 'agents', description: 'Who can be written to, whether they are there, and at which points messages reach them' },
  args: { names: { type: 'boolean', description: 'Addresses alone, one a line', default: false }, ...jsonArg },
  async run({ args }) {
    const answer = await ask<{ agents: AgentView[] }>('/agents');
    print(args.json, answer, ({ agents }) => (args.names ? agents.map((agent) => agent.address).join('\n') : describe(agents)));
  },
});
