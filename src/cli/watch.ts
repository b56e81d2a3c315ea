import { defineCommand } from 'citty';
import type { Step } from '../daemon/overview.ts';
import type { AgentView } from '../daemon/presence.ts';
import { ask, jsonArg, table } from './context.ts';

const EVERY = 500;
const STEPS = 15;

function screen(agents: AgentView[], steps: Step[]): string {
  const short = (address: string | null): string => (address ?? '').replace('agent://local/', '');
  const people = agents.map((agent) => [short(agent.address), agent.presence, String(agent.unread)]);
  const rows = steps.slice(-STEPS).map((step) => [step.at.slice(11, 23), step.state, short(step.from), short(step.to), step.id]);
  return `${table(['AGENT', 'PRESENCE', 'UNREAD'], people)}\n\n${table(['TIME', 'STATE', 'FROM', 'TO', 'MESSAGE'], rows)}\n`;
}

export const watchCommand = defineCommand({
  meta: {
    name: 'watch',
    description: 'Agents and messages as they move, until Ctrl-C. Without a terminal, or with --json, one line per step',
  },
  args: jsonArg,
  async run({ args }) {
    const lines = args.json || !process.stdout.isTTY;
    const steps: Step[] = [];
    let cursor: number | undefined;
    for (;;) {
      const { steps: fresh } = await ask<{ steps: Step[] }>('/activity', { after: cursor, limit: cursor === undefined ? STEPS : 500 });
      cursor = fresh.at(-1)?.cursor ?? cursor ?? 0;
      if (lines) {
        for (const step of fresh)
          process.stdout.write(
            args.json ? `${JSON.stringify(step)}\n` : `${step.at} ${step.state} ${step.from} -> ${step.to} ${step.id}\n`,
          );
      } else {
        steps.push(...fresh);
        steps.splice(0, Math.max(0, steps.length - STEPS));
        const { agents } = await ask<{ agents: AgentView[] }>('/agents');
        process.stdout.write(`\u001b[H\u001b[2J${screen(agents, steps)}`);
      }
      await new Promise((resolve) => setTimeout(resolve, EVERY));
    }
  },
});
