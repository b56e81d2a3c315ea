import fc from 'fast-check';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Harness } from '../../src/core/harness.ts';
import { claude } from '../../src/harness/claude/harness.ts';
import { codex } from '../../src/harness/codex/harness.ts';
import { installHarness, uninstallHarness } from '../../src/install/install.ts';
import { inProject, sandboxAt, type Sandbox } from './sandbox.ts';

// Whatever a user's file looks like: install, install again, uninstall, and every byte is back.

const gap = fc.constantFrom('', ' ', '\n', '\n  ', '\t', ' \n\n ');
const word = fc.string({ unit: fc.constantFrom('a', 'é', '"', '\\', '/', '{', ',', ']', '#', '山', ' ', "'"), maxLength: 6 });
const EVENTS = ['SessionStart', 'Stop', 'PreToolUse', 'FutureEvent', 'SubagentStop'];

const handler = fc.record({ type: fc.constant('command'), command: word, 'x-tag': word }, { requiredKeys: ['type', 'command'] });
const group = fc.oneof(fc.record({ matcher: word, hooks: fc.array(handler, { maxLength: 2 }) }, { requiredKeys: ['hooks'] }), handler);
const hooks = fc.dictionary(fc.constantFrom(...EVENTS), fc.array(group, { maxLength: 3 }), { maxKeys: 4 });

/** JSON with the white space that people and programs leave in it. */
function spaced(value: unknown, gaps: () => string): string {
  const list = (open: string, items: string[], close: string): string => open + gaps() + items.join(`${gaps()},${gaps()}`) + gaps() + close;
  if (Array.isArray(value))
    return list(
      '[',
      value.map((item) => spaced(item, gaps)),
      ']',
    );
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return list(
    '{',
    Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)}${gaps()}:${gaps()}${spaced(inner, gaps)}`),
    '}',
  );
}

function written(text: string, { bom, crlf, tail }: { bom: boolean; crlf: boolean; tail: string }): string {
  const whole = (bom ? '\uFEFF' : '') + text + tail;
  return crlf ? whole.replaceAll('\n', '\r\n') : whole;
}

const form = fc.record({ bom: fc.boolean(), crlf: fc.boolean(), tail: fc.constantFrom('', '\n', '\n\n', ' ') });
const json = (value: fc.Arbitrary<unknown>): fc.Arbitrary<string> =>
  fc.tuple(value, fc.array(gap, { minLength: 1, maxLength: 9 }), form).map(([root, gaps, shape]) => {
    let at = 0;
    return written(
      spaced(root, () => gaps[at++ % gaps.length] as string),
      shape,
    );
  });

const settings = json(
  fc.record(
    {
      model: word,
      hooks,
      permissions: fc.record({ allow: fc.array(word, { maxLength: 2 }), deny: fc.constant([]) }, { requiredKeys: [] }),
      env: fc.dictionary(word, word, { maxKeys: 2 }),
    },
    { requiredKeys: [] },
  ),
);
const servers = json(
  fc.record(
    {
      numStartups: fc.nat(),
      mcpServers: fc.dictionary(word, fc.record({ command: word }), { maxKeys: 2 }),
      projects: fc.constant({ '/p': { x: [1, 2] } }),
    },
    { requiredKeys: [] },
  ),
);
const codexHooks = json(fc.record({ description: word, hooks }, { requiredKeys: [] }));

const rootKeys = fc.subarray([
  'model = "a" # why',
  'notify = [\n  \'x\', # ] mine\n  "y",\n]',
  'a.b.c = 1_000',
  '"quoted key" = 2030-01-01',
  'text = """\n[mcp_servers.agentbus]\n[[hooks.Stop]]\n"""',
  'big = 9223372036854775807',
  '# only a comment',
]);
const tables = fc.shuffledSubarray([
  '[features]\nhooks = true',
  '[ "tui" . nux ]  # spaced\n  x = 4',
  '[projects.\'/home/u/a b\']\ntrust_level = "trusted"',
  '[mcp_servers.other]\ncommand = "other"\nenv = { A = "1", B = "2" }\n# after',
  '[[profiles]]\nname = "one"\n\n[[profiles]]\nname = "two"\n[profiles.inner]\nz = true',
  '[hooks.state."/h/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:aa"\nenabled = true',
]);
const hookTables = fc.constantFrom(
  '',
  '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "mine"\n\n',
  '[hooks]\nStop = [ { hooks = [{ type = "command", command = "a" }] }, ]\nSessionEnd = [\n  { hooks = [] } # last\n]\n',
  '[[hooks.FutureEvent]]\nhooks = []\n[[hooks."Stop"]]\nmatcher = "x"\nhooks = [{type="command",command="c"}]\n',
);
const toml = fc
  .tuple(rootKeys, hookTables, tables, fc.constantFrom('\n', '\n\n', '\n# between\n'), form)
  .map(([root, own, rest, between, shape]) => {
    const text = [...root, own + rest.join(between)].join('\n');
    // A final space would be the user's own line; TOML takes it.
    return written(text, shape);
  });

async function roundTrip(harness: Harness, files: Record<string, string | null>, trust: boolean, project = false): Promise<void> {
  const base = mkdtempSync(join(tmpdir(), 'ab-round-'));
  try {
    const box: Sandbox = project ? inProject(sandboxAt(base)) : sandboxAt(base);
    const given = Object.entries(files).filter((entry): entry is [string, string] => entry[1] !== null);
    for (const [name, content] of given) box.write(name, content);
    const options = { ...box.options, trustCodexHooks: trust };
    const first = await installHarness(harness, options);
    for (const entry of first.trust ?? []) expect(entry.status).toBe(trust ? 'trusted' : 'untrusted');
    const after = given.map(([name]) => box.read(name));
    for (const [at, text] of after.entries()) {
      const crlf = (given[at] as [string, string])[1].includes('\r\n');
      expect(text.split('\r\n').length).toBe(crlf ? text.split('\n').length : 1);
    }
    const second = await installHarness(harness, options);
    expect(second.files.map(({ change }) => change)).toEqual(['unchanged', 'unchanged']);
    expect(given.map(([name]) => box.read(name))).toEqual(after);
    await uninstallHarness(harness, options);
    for (const [name, content] of given) expect(box.bytes(name).equals(Buffer.from(content))).toBe(true);
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
}

test('claude: any settings.json and .claude.json come back to the byte', async () => {
  const run = fc.assert(
    fc.asyncProperty(fc.option(settings), fc.option(servers), (one, two) =>
      roundTrip(claude, { '.claude/settings.json': one, '.claude.json': two }, false),
    ),
    { numRuns: 50 },
  );
  await expect(run).resolves.toBeUndefined();
}, 60_000);

test('codex: any hooks.json and config.toml come back to the byte', async () => {
  const run = fc.assert(
    fc.asyncProperty(fc.option(codexHooks), fc.option(toml), fc.boolean(), (one, two, trust) =>
      roundTrip(codex, { '.codex/hooks.json': one, '.codex/config.toml': two }, trust),
    ),
    { numRuns: 50 },
  );
  await expect(run).resolves.toBeUndefined();
}, 60_000);

test('in a project: any files of it, and the config.toml of the user, come back to the byte', async () => {
  const inClaude = fc.asyncProperty(fc.option(settings), fc.option(servers), (one, two) =>
    roundTrip(claude, { 'project/.claude/settings.json': one, 'project/.mcp.json': two }, false, true),
  );
  const inCodex = fc.asyncProperty(fc.option(codexHooks), fc.option(toml), fc.option(toml), fc.boolean(), (one, two, user, trust) =>
    roundTrip(codex, { 'project/.codex/hooks.json': one, 'project/.codex/config.toml': two, '.codex/config.toml': user }, trust, true),
  );
  await expect(fc.assert(inClaude, { numRuns: 25 })).resolves.toBeUndefined();
  await expect(fc.assert(inCodex, { numRuns: 25 })).resolves.toBeUndefined();
}, 60_000);

test('claude: waiters switched on and off in any order, every byte comes back', async () => {
  const run = fc.assert(
    fc.asyncProperty(
      fc.option(settings),
      fc.array(fc.constantFrom('wake', 'off'), { minLength: 1, maxLength: 3 }),
      async (file, pushes) => {
        const base = mkdtempSync(join(tmpdir(), 'ab-round-'));
        try {
          const box = sandboxAt(base);
          box.program('claude', '2.1.332');
          if (file !== null) box.write('.claude/settings.json', file);
          for (const push of pushes) {
            box.write('.agentbus/config.toml', `[claude]\npush = "${push}"\n`);
            await installHarness(claude, box.options);
            expect(box.read('.claude/settings.json').split('asyncRewake').length - 1).toBe(push === 'wake' ? 2 : 0);
            const second = await installHarness(claude, box.options);
            expect(second.files.map(({ change }) => change)).toEqual(['unchanged', 'unchanged']);
          }
          await uninstallHarness(claude, box.options);
          if (file !== null) expect(box.bytes('.claude/settings.json').equals(Buffer.from(file))).toBe(true);
          else expect(existsSync(box.path('.claude'))).toBe(false);
        } finally {
          rmSync(base, { recursive: true, force: true });
        }
      },
    ),
    { numRuns: 30 },
  );
  await expect(run).resolves.toBeUndefined();
}, 60_000);
