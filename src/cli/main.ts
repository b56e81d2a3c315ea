import { isAbsolute } from 'node:path';
import { runCommand, renderUsage } from 'citty';
import { AgentBusError, EXIT } from '../core/errors.ts';
import { VERSION } from '../core/version.ts';
import { autoJoin } from './auto-join.ts';
import { COMMANDS, overview, type AnyCommand } from './commands.ts';
import { printError, usageError } from './context.ts';

/** citty drops what it does not know and what it has no place for; nothing that was typed may be silently lost. */
function checkWords(name: string, command: AnyCommand, words: readonly string[]): void {
  const args = (command.args ?? {}) as Record<string, { type?: string }>;
  const places = Object.keys(args).filter((key) => args[key]!.type === 'positional');
  // Whoever takes one text or id takes more words of it.
  let room = places.some((key) => key === 'text' || key === 'ids') ? Infinity : places.length;
  const hint = `\`agentbus ${name} --help\` lists the options; text that begins with - goes behind --`;
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    if (word === '--') return;
    if (!word.startsWith('-') || word === '-') {
      if (--room < 0)
        throw usageError(
          `one word too many: ${JSON.stringify(word.slice(0, 40))}`,
          'harness' in args ? `--harness ${word.slice(0, 40)} names a CLI` : hint,
        );
      continue;
    }
    const option = /^--?([A-Za-z][A-Za-z0-9-]*)(?:=|$)/.exec(word)?.[1];
    const arg = option === undefined ? undefined : (args[option] ?? args[option.replace(/^no-/, '')]);
    if (arg === undefined || arg.type === 'positional')
      throw usageError(`unknown option ${option === undefined ? JSON.stringify(word.slice(0, 40)) : word.split('=', 1)[0]}`, hint);
    if (arg.type !== 'string' || word.includes('=')) continue;
    at++;
    if (words[at] === undefined) throw usageError(`${word} needs a value`, hint);
  }
}

async function main(words: string[]): Promise<void> {
  const [name, ...rest] = words;
  const home = process.env['AGENTBUS_HOME'];
  if (home && !isAbsolute(home))
    throw usageError(
      `AGENTBUS_HOME is no absolute path: ${JSON.stringify(home.slice(0, 80))}`,
      'write all of it: hooks run in other directories',
    );
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
  checkWords(name, command, rest);
  await autoJoin(name);
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
