import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
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

test('nothing installed holds Ajv, which the MCP server would load at each start', () => {
  const chunks = readdirSync(`${ROOT}dist/chunks`).map((name) => readFileSync(`${ROOT}dist/chunks/${name}`, 'utf8'));
  expect(chunks.some((text) => text.includes('// node_modules/@modelcontextprotocol/sdk/dist/esm/server/index.js'))).toBe(true);
  expect(chunks.some((text) => text.includes('// node_modules/ajv/'))).toBe(false);
});

test('the registry lists the folders that are there', () => {
  expect(() => execFileSync(process.execPath, [`${ROOT}scripts/gen-registry.mjs`, '--check'], { stdio: 'pipe' })).not.toThrow();
});
