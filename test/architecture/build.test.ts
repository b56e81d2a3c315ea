import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { ROOT } from './sources.ts';

interface Metafile {
  inputs: Record<string, { imports: { path: string; external?: boolean }[] }>;
}

beforeAll(() => {
  if (!existsSync(`${ROOT}dist/hook.meta.json`)) execFileSync(process.execPath, [`${ROOT}scripts/build.mjs`]);
});

test('the hook’s bundle holds three small files and node’s own modules, and stays under 8,000 bytes', () => {
  const { inputs } = JSON.parse(readFileSync(`${ROOT}dist/hook.meta.json`, 'utf8')) as Metafile;
  expect(Object.keys(inputs).sort()).toEqual(['src/core/handed.ts', 'src/core/paths.ts', 'src/hook/relay.ts']);
  const outside = Object.values(inputs).flatMap(({ imports }) => imports.filter(({ external }) => external).map(({ path }) => path));
  expect(outside.filter((path) => !path.startsWith('node:'))).toEqual([]);
  expect(statSync(`${ROOT}dist/hook.cjs`).size).toBeLessThanOrEqual(8_000);
});

test('the registry lists the folders that are there', () => {
  expect(() => execFileSync(process.execPath, [`${ROOT}scripts/gen-registry.mjs`, '--check'], { stdio: 'pipe' })).not.toThrow();
});
