import type { CommandDef } from 'citty';
import { VERSION } from '../core/version.ts';

// oxlint-disable-next-line typescript/no-explicit-any
export type AnyCommand = CommandDef<any>;

/** Loaded one at a time: a command pays for its own imports alone. In the order of the overview. */
export const COMMANDS: Readonly<Record<string, { about: string; load(): Promise<AnyCommand> }>> = {
  send: { about: 'Send a message to an agent', load: async () => (await import('./send.ts')).sendCommand },
  reply: { about: 'Answer a message', load: async () => (await import('./reply.ts')).replyCommand },
  task: {
    about: 'Ask an agent for work, and follow it: send, list, show, answer, cancel',
    load: async () => (await import('./task.ts')).taskCommand,
  },
  abandon: { about: 'Give up a task that this session was sent', load: async () => (await import('./task.ts')).abandonCommand },
  inbox: { about: 'What is waiting for you, or for this session', load: async () => (await import('./inbox.ts')).inboxCommand },
  drain: { about: 'Print what is waiting, in frames, and mark it read', load: async () => (await import('./verbs.ts')).drainCommand },
  pending: { about: 'How much is waiting', load: async () => (await import('./verbs.ts')).pendingCommand },
  wait: { about: 'Wait until something is unread', load: async () => (await import('./verbs.ts')).waitCommand },
  resolve: { about: 'Close a message without an answer', load: async () => (await import('./verbs.ts')).resolveCommand },
  trace: { about: 'What became of a message', load: async () => (await import('./trace.ts')).traceCommand },
  agents: { about: 'Who can be written to, and how they can be reached', load: async () => (await import('./agents.ts')).agentsCommand },
  whoami: { about: 'The address you send from here', load: async () => (await import('./whoami.ts')).whoamiCommand },
  join: { about: 'Give this session a name', load: async () => (await import('./names.ts')).joinCommand },
  rename: { about: 'Name a session from outside', load: async () => (await import('./names.ts')).renameCommand },
  pause: { about: 'Show nothing to a session for a while', load: async () => (await import('./verbs.ts')).pauseCommand },
  resume: { about: 'Show messages to a paused session again', load: async () => (await import('./verbs.ts')).resumeCommand },
  watch: { about: 'Agents and messages as they move', load: async () => (await import('./watch.ts')).watchCommand },
  records: { about: 'What the sessions did', load: async () => (await import('./records.ts')).recordsCommand },
  status: { about: 'The daemon, the installed hooks, Codex’s trust', load: async () => (await import('./status.ts')).statusCommand },
  doctor: {
    about: 'Prove each hook, and name what keeps messages from arriving',
    load: async () => (await import('./doctor.ts')).doctorCommand,
  },
  config: { about: 'Settings: list, get, set', load: async () => (await import('./config.ts')).configCommand },
  install: { about: 'Add AgentBus to the coding CLIs on this machine', load: async () => (await import('./install.ts')).installCommand },
  uninstall: { about: 'Take AgentBus out of their configurations', load: async () => (await import('./uninstall.ts')).uninstallCommand },
  daemon: { about: 'start, stop, status or logs of the background daemon', load: async () => (await import('./daemon.ts')).daemonCommand },
  demo: { about: 'Two sessions exchange a message in a temporary home', load: async () => (await import('./demo.ts')).demoCommand },
  completion: {
    about: 'Completion for bash, zsh or fish',
    load: async () => (await import('./completion.ts')).completionCommand(commandNames()),
  },
  hook: {
    about: 'Called by the harness: hook <event> --harness <id>, JSON on stdin',
    load: async () => (await import('./internal.ts')).hookCommand,
  },
  mcp: { about: 'The MCP server on stdio, started by the harness', load: async () => (await import('./internal.ts')).mcpCommand },
};

function commandNames(): string[] {
  return Object.keys(COMMANDS).filter((name) => name !== 'hook' && name !== 'mcp');
}

export function overview(): string {
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
  const lines = Object.entries(COMMANDS).map(([name, { about }]) => `  ${name.padEnd(width)}  ${about}`);
  return `agentbus ${VERSION}: messages between running coding CLIs

Usage: agentbus <command> [options]

${lines.join('\n')}

Start with \`agentbus install\`. \`agentbus <command> --help\` shows its options; --json works everywhere.
`;
}
