import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineCommand } from 'citty';
import { isAlive } from '../core/alive.ts';
import { AgentBusError } from '../core/errors.ts';
import { agentbusHome, homePaths } from '../core/paths.ts';
import { callDaemon, ensureDaemon, type Hello } from '../daemon/client.ts';
import { jsonArg, print, usageError } from './context.ts';

export interface DaemonStatus {
  version: string;
  pid: number;
  uptime: number;
  node: string;
  memory: number;
  agents: number;
  live: number;
  /** Agents that a loop brake keeps messages from. */
  braked: number;
  unread: number;
  outbox: number;
}

/** The daemon's own view, or null when none runs. */
export async function daemonStatus(): Promise<DaemonStatus | null> {
  try {
    return await callDaemon<DaemonStatus>(agentbusHome(), '/status');
  } catch (error) {
    if (error instanceof AgentBusError && error.code === 'AB-3001') return null;
    throw error;
  }
}

export function describeDaemon(status: DaemonStatus | null): string {
  if (!status) return 'daemon: not running (a session start or any command starts it)';
  const { version, pid, uptime, memory, agents, live, braked, unread, outbox } = status;
  const brake = braked === 0 ? '' : `; loop brake on for ${braked}, until a person prompts them (\`agentbus agents\`)`;
  return `daemon: ${version}, pid ${pid}, up ${uptime} s, ${Math.round(memory / 1048576)} MB; ${live} live of ${agents} agents, ${unread} unread, ${outbox} waiting to be sent${brake}`;
}

async function stop(json: boolean): Promise<void> {
  let pid: number;
  try {
    pid = (await callDaemon<{ pid: number }>(agentbusHome(), '/stop')).pid;
  } catch (error) {
    if (!(error instanceof AgentBusError) || error.code !== 'AB-3001') throw error;
    return print(json, { stopped: false }, () => 'no daemon was running');
  }
  for (const until = Date.now() + 5_000; isAlive(pid);) {
    if (Date.now() > until)
      throw new AgentBusError(
        'AB-3001',
        `the daemon (pid ${pid}) does not end`,
        `look at \`agentbus daemon logs\`; \`kill -9 ${pid}\` ends it, and loses nothing`,
      );
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  print(json, { stopped: true, pid }, () => `stopped (pid ${pid})`);
}

function logs(json: boolean): void {
  const file = join(homePaths(agentbusHome()).log, 'daemon.log');
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n').slice(-100) : [];
  print(json, { file, lines }, () => (lines.length === 0 ? `no log yet at ${file}` : lines.join('\n')));
}

export const daemonCommand = defineCommand({
  meta: { name: 'daemon', description: 'The background daemon: start, stop, status or logs' },
  args: { action: { type: 'positional', description: 'start, stop, status or logs', required: true }, ...jsonArg },
  async run({ args }) {
    if (args.action === 'start')
      return print<Hello>(args.json, await ensureDaemon(agentbusHome()), ({ pid, version }) => `running: ${version}, pid ${pid}`);
    if (args.action === 'stop') return stop(args.json);
    if (args.action === 'status') return print(args.json, await daemonStatus(), describeDaemon);
    if (args.action === 'logs') return logs(args.json);
    throw usageError(`no such action: ${args.action.slice(0, 40)}`, 'agentbus daemon start, stop, status or logs');
  },
});
