import type { ErrorJson } from '../core/errors.ts';
import { AgentBusError } from '../core/errors.ts';
import { agentbusHome } from '../core/paths.ts';
import { askDaemon } from '../daemon/client.ts';
import type { Caller } from '../daemon/callers.ts';
import { HARNESSES } from '../harness/registry.ts';

export const jsonArg = { json: { type: 'boolean', description: 'Print JSON', default: false } } as const;

/** The session whose model runs this command, by the environment its harness gives a shell; else the person. */
export function currentCaller(): Caller {
  for (const harness of HARNESSES) {
    const session = harness.sessionOf(process.env);
    if (session !== null && session !== '') return { harness: harness.id, session };
  }
  return { person: true };
}

/** Calls the daemon, starting it when there is none. */
export function ask<T>(path: string, body: unknown = {}): Promise<T> {
  return askDaemon<T>(agentbusHome(), path, body);
}

/** Text of others without what a terminal obeys: control characters and those that turn the direction stand as \\uXXXX. */
export function visible(text: string): string {
  return text.replaceAll(
    // oxlint-disable-next-line no-control-regex
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The text on one line: a line break in a directory's name must not look like the next row. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim();
}

/** Prints the value as JSON, or what `human` makes of it. */
export function print<T>(json: boolean, value: T, human: (value: T) => string): void {
  const text = json ? JSON.stringify(value, null, 2) : visible(human(value));
  if (text !== '') process.stdout.write(`${text}\n`);
}

/** One line and a hint on stderr; with --json the same as JSON on stdout. */
export function printError(error: AgentBusError, json: boolean): void {
  if (json) process.stdout.write(`${JSON.stringify({ error: error.toJSON() satisfies ErrorJson })}\n`);
  else process.stderr.write(visible(`agentbus: ${error.code} ${error.message}\n${error.hint ? `  ${error.hint}\n` : ''}`));
}

export function usageError(message: string, hint: string): AgentBusError {
  return new AgentBusError('AB-1001', message, hint);
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `10m`, `2h`, `7d` as ms. Throws AB-1001. */
export function parseDuration(text: string): number {
  const match = /^(\d{1,6})(s|m|h|d)$/.exec(text);
  if (!match) throw usageError(`not a duration: ${JSON.stringify(text.slice(0, 40))}`, 'write 30s, 10m, 2h or 7d');
  return Number(match[1]) * UNITS[match[2]!]!;
}

/** Rows as a table with a header, a line each, columns padded to their widest cell. */
export function table(header: readonly string[], cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map(oneLine));
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]!.length)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd();
  return [line(header), ...rows.map(line)].join('\n');
}
