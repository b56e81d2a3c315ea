// Two processes that install at the same moment, again and again: what each does has to be there afterwards.
import { build } from 'esbuild';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HARNESSES } from '../../src/harness/registry.ts';
import { inspectHarness, uninstallHarness, type InstallOptions } from '../../src/install/install.ts';
import { sandbox } from './sandbox.ts';

const ROUNDS = 50;
// What a user has there already.
const MINE: Readonly<Record<string, [file: string, text: string]>> = {
  claude: ['.claude/settings.json', '{"permissions": {"allow": ["Bash(ls)"]},\t"model": "x"}'],
  codex: ['.codex/config.toml', 'model = "x"   # mine\n[features]\n'],
};

// One of the two: installs when told to, in the way it was told at its start.
const CHILD = `
import { HARNESSES } from '../../src/harness/registry.ts';
import { installHarness } from '../../src/install/install.ts';

const [id, chosen] = process.argv.slice(2);
const harness = HARNESSES.find((known) => known.id === id);

process.on('message', (options) => {
  installHarness(harness, { ...options, ...JSON.parse(chosen) }).then(
    () => process.send('done'),
    (error) => process.send(String(error)),
  );
});
`;

const directory = mkdtempSync(join(tmpdir(), 'ab-race-'));
const program = join(directory, 'child.mjs');

beforeAll(() =>
  build({
    stdin: { contents: CHILD, resolveDir: import.meta.dirname },
    bundle: true,
    platform: 'node',
    format: 'esm',
    mainFields: ['module', 'main'],
    outfile: program,
    // As in scripts/build.mjs.
    banner: { js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);" },
  }),
);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function install(child: ChildProcess, options: InstallOptions): Promise<unknown> {
  const answer = once(child, 'message');
  child.send(options);
  return (await answer)[0];
}

test.each(HARNESSES)('$id: two installs at once both take effect', { timeout: 60_000 }, async (harness) => {
  const start = (chosen: Partial<InstallOptions>): ChildProcess =>
    fork(program, [harness.id, JSON.stringify(chosen)], { stdio: 'inherit' });
  const [file, text] = MINE[harness.id]!;
  const children = [start({ mcp: false }), start({ approveSend: true })] as const;
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const box = sandbox();
      box.write(file, text);
      // Every fifth round finds the lock of a process that died.
      if (round % 5 === 0) box.write('.agentbus/run/install.lock', '999999999 gone\n');
      expect(await Promise.all(children.map((child) => install(child, box.options)))).toEqual(['done', 'done']);
      const seen = await inspectHarness(harness, box.options);
      expect(seen).toMatchObject({ missing: [], mcp: { current: true } });
      expect(seen.hooks).toHaveLength(harness.install.registrations(null).length);
      expect(box.read(file)).toMatch(/mcp__agentbus__send|tools\.send/);
      expect(existsSync(box.path('.agentbus/run/install.lock'))).toBe(false);
      // A receipt that the other one overwrote would leave something behind.
      await uninstallHarness(harness, box.options);
      expect(box.read(file)).toBe(text);
      expect(existsSync(box.path(harness.id === 'codex' ? '.codex/hooks.json' : '.claude.json'))).toBe(false);
    }
  } finally {
    for (const child of children) child.disconnect();
  }
});
