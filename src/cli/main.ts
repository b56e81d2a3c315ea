import { runCommand, renderUsage, type CommandDef } from 'citty';
import { AgentBusError, EXIT } from '../core/errors.ts';
import { VERSION } from '../core/version.ts';
import { printError, usageError } from './context.ts';

// Loaded one at a time: a command pays for its own imports alone.
// oxlint-disable-next-line typescript/no-explicit-any
type AnyCommand = CommandDef<any>;
const COMMANDS: Readonly<Record<string, { about: string; load(): Promise<AnyCommand> }>> = {
  send: { about: 'Send a message to an agent', load: async () => (await import('./send.ts')).sendCommand },
  reply: { about: 'Answer a message', load: async () => (await import('./reply.ts')).replyCommand },
  inbox: { about: 'What is waiting for you, or for this session', load: async () => (await import('./inbox.ts')).inboxCommand },
  agents: { about: 'Who can be written to, and how they can be reached', load: async () => (await import('./agents.ts')).agentsCommand },
  whoami: { about: 'The address you send from here', load: async () => (await import('./whoami.ts')).whoamiCommand },
  trace: { about: 'What became of a message', load: async () => (await import('./trace.ts')).traceCommand },
  records: { about: 'What the sessions did', load: async () => (await import('./records.ts')).recordsCommand },
  status: { about: 'The daemon, the installed hooks, Codex’s trust', load: async () => (await import('./status.ts')).statusCommand },
  install: { about: 'Add AgentBus to the coding CLIs on this machine', load: async () => (await import('./install.ts')).installCommand },
  uninstall: { about: 'Take AgentBus out of their configurations', load: async () => (await import('./uninstall.ts')).uninstallCommand },
  daemon: { about: 'start, stop, status or logs of the background daemon', load: async () => (await import('./daemon.ts')).daemonCommand },
  demo: { about: 'Two sessions exchange a message in a temporary home', load: async () => (await import('./demo.ts')).demoCommand },
  hook: {
    about: 'Called by the harness: hook <event> --harness <id>, JSON on stdin',
    load: async () => (await import('./internal.ts')).hookCommand,
  },
  mcp: { about: 'The MCP server on stdio, started by the harness', load: async () => (await import('./internal.ts')).mcpCommand },
};

function overview(): string {
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
  const lines = Object.entries(COMMANDS).map(([name, { about }]) => `  ${name.padEnd(width)}  ${about}`);
  return `agentbus ${VERSION}: messages between running coding CLIs

Usage: agentbus <command> [options]

${lines.join('\n')}

Start with \`agentbus install\`. \`agentbus <command> --help\` shows its options; --json works everywhere.
`;
}

/** citty takes unknown options for granted; a mistyped one must not be silently dropped. */
function checkOptions(name: string, command: AnyCommand, words: readonly string[]): void {
  const args = (command.args ?? {}) as Record<string, { type?: string; alias?: string | string[] }>;
  const known = new Set(Object.entries(args).flatMap(([key, arg]) => [key, ...[arg.alias ?? []].flat()]));
  for (const word of words) {
    if (word === '--') return;
    const option = /^--?([A-Za-z][A-Za-z0-9-]*)(?:=|$)/.exec(word)?.[1];
    if (option === undefined || known.has(option) || known.has(option.replace(/^no-/, ''))) continue;
    throw usageError(
      `unknown option ${word.split('=', 1)[0]}`,
      `\`agentbus ${name} --help\` lists the options; text that begins with - goes behind --`,
    );
  }
}

async function main(words: string[]): Promise<void> {
  const [name, ...rest] = words;
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') return void process.stdout.write(overview());
  if (name === '--version' || name === '-v') return void process.stdout.write(`${VERSION}\n`);
  const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name]! : null;
  if (!entry) throw usageError(`unknown command ${JSON.stringify(name.slice(0, 40))}`, '`agentbus --help` lists the commands');
  const command = await entry.load();
  const end = rest.indexOf('--');
  if (rest.slice(0, end < 0 ? undefined : end).some((word) => word === '--help' || word === '-h')) {
    process.stdout.write(`${await renderUsage(command, { meta: { name: 'agentbus' } })}\n`);
    return;
  }
  checkOptions(name, command, rest);
  await runCommand(command, { rawArgs: rest });
}

const words = process.argv.slice(2);
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
main(words).catch((error: unknown) => {
  const known =
    error instanceof AgentBusError
      ? error
      : error instanceof Error && error.name === 'CLIError'
        ? usageError(error.message, `\`agentbus ${words[0]} --help\` lists what it takes`)
        : new AgentBusError(
            'AB-3002',
            error instanceof Error ? error.message : String(error),
            'this is a fault of AgentBus: please report it with the command that you ran',
          );
  printError(known, words.includes('--json'));
  process.exitCode = known.exitCode || EXIT.failed;
});
