// Whose entry a command is gets decided by its words alone. Markers are dropped by the CLIs' own
// rewriting of their files, and a substring search takes a user's script that mentions us for ours.
import { basename } from 'node:path';
import { hookCommand, QUIET, WAKING } from '../hook/launcher.ts';

const NAME = /^[A-Za-z][A-Za-z0-9-]*$/;
const WRAPPER = splitWords(hookCommand('/x', 'x', 'X', 'any'))?.slice(0, 3) ?? [];

/** The words of a simple POSIX command; null for anything with operators, substitutions or open quotes. */
export function splitWords(command: string): string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  for (let at = 0; at < command.length; at++) {
    const char = command[at] as string;
    if (char === ' ' || char === '\t') {
      if (word !== null) words.push(word);
      word = null;
    } else if (char === "'") {
      const end = command.indexOf("'", at + 1);
      if (end < 0) return null;
      word = (word ?? '') + command.slice(at + 1, end);
      at = end;
    } else if (char === '"') {
      const quoted = readDoubleQuoted(command, at + 1);
      if (!quoted) return null;
      word = (word ?? '') + quoted.text;
      at = quoted.end;
    } else if (char === '\\') {
      if (at + 1 >= command.length) return null;
      word = (word ?? '') + command[++at];
    } else {
      if ('|&;<>()`\r\n'.includes(char) || (char === '#' && word === null) || (char === '$' && command[at + 1] === '(')) return null;
      word = (word ?? '') + char;
    }
  }
  if (word !== null) words.push(word);
  return words;
}

function readDoubleQuoted(command: string, start: number): { text: string; end: number } | null {
  let text = '';
  for (let at = start; at < command.length; at++) {
    const char = command[at] as string;
    if (char === '"') return { text, end: at };
    if (char === '`' || (char === '$' && command[at + 1] === '(')) return null;
    if (char === '\\' && '$`"\\'.includes(command[at + 1] ?? '-')) text += command[++at];
    else text += char;
  }
  return null;
}

function wrapped(words: readonly string[]): boolean {
  return words.length > 3 && WRAPPER.every((word, at) => words[at] === word);
}

/** The words of a command, without what makes it fail-open in sh. */
function ownWords(command: string): string[] | null {
  const tail = [QUIET, WAKING].find((end) => command.endsWith(end)) ?? '';
  const words = splitWords(command.slice(0, command.length - tail.length));
  return words && wrapped(words) ? words.slice(3) : words;
}

/** What a hook's command of ours does; each event has at most one entry of either kind. */
export type OwnKind = 'hook' | 'waiter';

/** The kind of a command that some version of install wrote, or that a person wrote in its place; else null. */
export function ownKind(command: unknown): OwnKind | null {
  if (typeof command !== 'string') return null;
  const words = ownWords(command);
  if (!words) return null;
  const [program = '', ...rest] = words;
  if (!rest.every((word) => NAME.test(word))) return null;
  const name = basename(program);
  if (name === 'agentbus-wait') return rest.length === 1 ? 'waiter' : null;
  if (name === 'agentbus-hook') return rest.length === 2 ? 'hook' : null;
  return name === 'agentbus' && rest[0] === 'hook' && (rest.length === 2 || rest.length === 3) ? 'hook' : null;
}

export function isOurCommand(command: unknown): boolean {
  return ownKind(command) !== null;
}

/** The program that a command of ours calls, behind its wrapper; null when it is none of ours. */
export function programOf(command: string): string | null {
  return isOurCommand(command) ? (ownWords(command)?.[0] ?? null) : null;
}
