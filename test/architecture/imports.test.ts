import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { filesIn, importsOf, read, ROOT, type Import } from './sources.ts';

const IMPORTS = filesIn('src').flatMap(importsOf);
const INNER = IMPORTS.filter(({ to }) => to.startsWith('src/'));
const part = (path: string): string => path.split('/')[1]!;

/** Which part may import which, beside itself; docs/architecture.md tells why. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  core: [],
  harness: ['core'],
  store: ['core'],
  hub: ['core'],
  record: ['core', 'store'],
  drain: ['core', 'store'],
  gateway: ['core', 'store', 'hub'],
  hook: ['core', 'store', 'drain', 'record', 'harness'],
  install: ['core', 'harness'],
  daemon: ['core', 'store', 'hub', 'gateway', 'drain', 'record', 'harness', 'hook'],
  mcp: ['core', 'daemon', 'harness'],
  cli: ['core', 'daemon', 'harness', 'install', 'mcp', 'hub'],
};

/** Single edges beside the table, each with its reason. */
const EXCEPTIONS: readonly [from: string, to: string][] = [
  // The hub's embedded store opens its file by the same small driver as the daemon's.
  ['src/hub/sqlite', 'src/store/driver.ts'],
  // A hook call joins and releases sessions: who holds an address is the daemon's knowledge.
  ['src/hook/handle.ts', 'src/daemon/identity.ts'],
  ['src/hook/handle.ts', 'src/daemon/settings.ts'],
  ['src/hook/handle.ts', 'src/daemon/names.ts'],
  ['src/hook/handle.ts', 'src/daemon/overview.ts'],
  // What the installer writes down is the launcher, which belongs to the hook.
  ['src/install/', 'src/hook/launcher.ts'],
  ['src/install/', 'src/hook/probe.ts'],
  // Where a CLI's program is, the installer knows.
  ['src/daemon/codex-push.ts', 'src/install/detect.ts'],
  // Which entries there are depends on a setting.
  ['src/install/plan.ts', 'src/daemon/settings.ts'],
];

const describe = ({ from, to }: Import): string => `${from} -> ${to}`;
const isExcepted = ({ from, to }: Import): boolean => EXCEPTIONS.some(([start, target]) => from.startsWith(start) && to === target);

test('imports are found at all, of every kind', () => {
  expect(INNER.length).toBeGreaterThan(150);
  expect(IMPORTS.filter(({ isDynamic }) => isDynamic).length).toBeGreaterThan(5);
  expect(IMPORTS.filter(({ isType }) => isType).length).toBeGreaterThan(50);
  expect(INNER.filter(({ to }) => !existsSync(`${ROOT}${to}`)).map(describe)).toEqual([]);
});

test('every part of src has its place in the table', () => {
  expect([...new Set(filesIn('src').map(part))].sort()).toEqual(Object.keys(ALLOWED).sort());
});

test('no part imports one that it may not know', () => {
  const wrong = INNER.filter(({ from, to }) => part(from) !== part(to) && !ALLOWED[part(from)]!.includes(part(to)));
  expect(wrong.filter((edge) => !isExcepted(edge)).map(describe)).toEqual([]);
});

test('no harness imports another one, and nobody but the registry imports one by name', () => {
  const folder = (path: string): string | null => /^src\/harness\/([^/]+)\//.exec(path)?.[1] ?? null;
  const sideways = INNER.filter(({ from, to }) => folder(to) !== null && folder(to) !== folder(from) && from !== 'src/harness/registry.ts');
  expect(sideways.map(describe)).toEqual([]);
});

test('a harness uses nothing but core and what computes paths', () => {
  const outside = IMPORTS.filter(({ from, to }) => /^src\/harness\/[^/]+\//.test(from) && !to.startsWith('src/'));
  expect([...new Set(outside.map(({ to }) => to))]).toEqual(['node:path']);
});

test('the commands that open no daemon’s store do not load it', () => {
  const fromDaemon = INNER.filter(({ from, to, isType }) => ['cli', 'mcp'].includes(part(from)) && part(to) === 'daemon' && !isType);
  const heavy = new Set(['src/daemon/bus.ts', 'src/daemon/main.ts', 'src/daemon/control-api.ts']);
  expect(fromDaemon.filter(({ to, isDynamic }) => heavy.has(to) && !isDynamic).map(describe)).toEqual([]);
});

test('the hook process imports node’s own modules and two small files of core', () => {
  const outer = importsOf('src/hook/relay.ts').map(({ to }) => to);
  expect(outer.filter((to) => !to.startsWith('node:')).sort()).toEqual(['src/core/handed.ts', 'src/core/paths.ts']);
  for (const file of ['src/core/handed.ts', 'src/core/paths.ts']) {
    expect(importsOf(file).filter(({ to }) => !to.startsWith('node:'))).toEqual([]);
  }
});

test('core touches neither files, sockets nor processes', () => {
  const inCore = IMPORTS.filter(({ from, to }) => part(from) === 'core' && to.startsWith('node:'));
  // Whether a process is alive, only the system knows.
  const used = inCore.filter(({ from }) => from !== 'src/core/alive.ts').map(({ to }) => to);
  expect([...new Set(used)].sort()).toEqual(['node:crypto', 'node:os', 'node:path']);
});

test('no source file is longer than 400 lines', () => {
  const long = [...filesIn('src'), ...filesIn('test')].filter((path) => read(path).split('\n').length > 401);
  expect(long).toEqual([]);
});
