import { expect, test } from 'vitest';
import { AgentBusError, ERROR_CODES, errorFromJson, type ErrorCode } from '../../src/core/errors.ts';
import { filesIn, read } from './sources.ts';

const CODES = Object.keys(ERROR_CODES) as ErrorCode[];
const LINES = new Map(
  Array.from(read('docs/errors.md').matchAll(/^\| (AB-\d{4}) \| (\w+) \| (\d) \| (.+) \|$/gm), ([, code, name, exit, words]) => [
    code!,
    { name: name!, exit: Number(exit), words: words! },
  ]),
);

test('docs/errors.md has one line for each code, with its name and exit code, and no others', () => {
  expect([...LINES.keys()]).toEqual(CODES);
  for (const code of CODES) {
    const { name, exit } = LINES.get(code)!;
    expect([code, name, exit]).toEqual([code, ERROR_CODES[code], new AgentBusError(code, '', '').exitCode]);
  }
});

test('no two codes have the same name', () => {
  expect(new Set(Object.values(ERROR_CODES)).size).toBe(CODES.length);
});

test('every code is used somewhere, and every code that is used exists', () => {
  const used = new Set(
    filesIn('src')
      .filter((path) => path !== 'src/core/errors.ts')
      .flatMap((path) => read(path).match(/AB-\d{4}/g) ?? []),
  );
  expect([...used].filter((code) => !(code in ERROR_CODES))).toEqual([]);
  expect(CODES.filter((code) => !used.has(code))).toEqual([]);
});

test('an error comes through JSON as it was, and nothing else becomes one', () => {
  const error = new AgentBusError('AB-5001', 'no agent called x', 'look');
  expect(errorFromJson(JSON.parse(JSON.stringify(error)))).toEqual(error);
  expect(error.name).toBe('agent_not_found');
  for (const value of [null, 'AB-5001', {}, { code: 'AB-0000', message: 'x' }, { code: 'toString', message: 'x' }, { code: 'AB-5001' }]) {
    expect(errorFromJson(value)).toBeNull();
  }
});
