import { homedir } from 'node:os';
import { parseArgs, runCommand, renderUsage, type ArgsDef } from 'citty';
import { AgentBusError, EXIT, fileError } from '../core/errors.ts';
import { VERSION } from '../core/version.ts';
import { autoJoin } from './auto-join.ts';
import { COMMANDS, overview, type AnyCommand } from './commands.ts';
import { printError, usageError } from './context.ts';

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

/** Words for a command that takes none: whoever writes `install claude` means one CLI, and must not get all. */
function checkWords(name: string, command: AnyCommand, words: string[]): void {
  const args = (command.args ?? {}) as Record<string, { type?: string }>;
  if (Object.values(args).some(({ type }) => type === 'positional')) return;
  const [extra] = parseArgs(words, command.args as ArgsDef)._;
  if (extra === undefined) return;
  const hint = 'harness' in args ? `--harness ${extra.slice(0, 40)} names a CLI` : `\`agentbus ${name} --help\` lists what it takes`;
  throw usageError(`${name} takes no ${JSON.stringify(extra.slice(0, 40))}`, hint);
}

/** A session's directory may be gone, and nearly everything asks for it. */
function leaveNowhere(): void {
  try {
    process.cwd();
  } catch {
    process.chdir(process.env['HOME'] || homedir());
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
  checkWords(name, command, rest);
  leaveNowhere();
  await autoJoin(name);
  await runCommand(command, { rawArgs: rest });
}

function asUsage(error: unknown, name: string | undefined): AgentBusError | null {
  return error instanceof Error && error.name === 'CLIError'
    ? usageError(error.message, `\`agentbus ${name} --help\` lists what it takes`)
    : null;
}

function asFault(error: unknown): AgentBusError {
  const message = error instanceof Error ? error.message : String(error);
  return new AgentBusError('AB-3002', message, 'this is a fault of AgentBus: please report it with the command that you ran');
}

const words = process.argv.slice(2);
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
main(words).catch((error: unknown) => {
  const known = error instanceof AgentBusError ? error : (fileError(error) ?? asUsage(error, words[0]) ?? asFault(error));
  printError(known, words.includes('--json'));
  process.exitCode = known.exitCode || EXIT.failed;
});
