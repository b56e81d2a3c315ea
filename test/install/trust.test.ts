import { mkdirSync, symlinkSync } from 'node:fs';
import { parse } from 'smol-toml';
import { expect, test } from 'vitest';
import { codex } from '../../src/harness/codex/harness.ts';
import { inspectHarness, installHarness, uninstallHarness } from '../../src/install/install.ts';
import { codexHookHash, codexKeyDir } from '../../src/install/trust.ts';
import { sandbox, type Sandbox } from './sandbox.ts';

// Hashes that Codex 0.171.0 itself gave in hooks/list for these definitions.
test.each([
  [
    'Stop',
    { type: 'command', command: 'x', timeout: 10 },
    undefined,
    'sha256:aa97dbe2a6c27a9066eee45fdc1bab63c737ed51f3c6b3fee4b179e265afab8f',
  ],
  [
    'Stop',
    { type: 'command', command: 'y', timeout: 10, async: true },
    '',
    'sha256:eb37ce30edd53321fe0c935b84e12d32c689259fbac03bc8719ab4061ee4456a',
  ],
  [
    'Interrupt',
    { type: 'command', command: 'z', timeout: 3 },
    undefined,
    'sha256:4569ed8814a590d223177bd98333c5b62d0fb104cb3f551f30864c20a3c858a1',
  ],
  [
    'PostModelRequest',
    { type: 'command', command: 'w', timeout: 10, async: true },
    undefined,
    'sha256:53559b5393422704f3ca6d09110ab58a300af0712753e725e492c0c4feccdde7',
  ],
])('the hash of %s is what Codex says', (event, handler, matcher, hash) => {
  expect(codexHookHash(event, handler, matcher)).toBe(hash);
});

test('timeouts count as Codex applies them', () => {
  const hook = { type: 'command', command: 'x' };
  expect(codexHookHash('SessionEnd', { ...hook, timeout: 10 })).toBe(codexHookHash('SessionEnd', { ...hook, timeout: 3 }));
  expect(codexHookHash('Interrupt', hook)).toBe(codexHookHash('Interrupt', { ...hook, timeout: 1 }));
  expect(codexHookHash('Stop', hook)).toBe(codexHookHash('Stop', { ...hook, timeout: 600 }));
});

test('CODEX_HOME is resolved in keys, the default directory is not', () => {
  const box = sandbox();
  mkdirSync(box.path('real'));
  symlinkSync(box.path('real'), box.path('.codex'));
  expect(codexKeyDir(box.home, {})).toBe(box.path('.codex'));
  expect(codexKeyDir(box.home, { CODEX_HOME: box.path('.codex') })).toBe(box.path('real'));
  // Not there yet, and written with a slash at its end.
  expect(codexKeyDir(box.home, { CODEX_HOME: box.path('.codex/new/') })).toBe(box.path('real/new'));
});

const late = '{"hooks":[{"type":"command","command":"late"}]}';

function addLate(box: Sandbox): void {
  const root = JSON.parse(box.read('.codex/hooks.json')) as { hooks: Record<string, unknown[]> };
  root.hooks['Stop']?.push(JSON.parse(late));
  box.write('.codex/hooks.json', `${JSON.stringify(root, null, 2)}\n`);
}

test('trust is the gate of the user: nothing is written unasked, and ours alone when asked', async () => {
  const box = sandbox();
  box.write('.codex/hooks.json', '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"theirs"}]}]}}');
  const plain = await installHarness(codex, box.options);
  expect(new Set(plain.trust?.map(({ status }) => status))).toEqual(new Set(['untrusted']));
  expect(box.read('.codex/config.toml')).not.toContain('trusted_hash');
  const trusted = await installHarness(codex, { ...box.options, trustCodexHooks: true });
  expect(new Set(trusted.trust?.map(({ status }) => status))).toEqual(new Set(['trusted']));
  const { hooks } = parse(box.read('.codex/config.toml')) as { hooks: { state: Record<string, unknown> } };
  expect(Object.keys(hooks.state).sort()).toEqual(trusted.trust?.map(({ key }) => key).sort());
  expect(Object.keys(hooks.state)).toContain(`${box.path('.codex/hooks.json')}:stop:1:0`);
});

test('modified and disabled hooks are told apart, and a disabled one stays so', async () => {
  const box = sandbox();
  await installHarness(codex, { ...box.options, trustCodexHooks: true });
  const [stop, start] = ['stop', 'session_start'].map((event) => `${box.path('.codex/hooks.json')}:${event}:0:0"]\n`) as [string, string];
  const config = box.read('.codex/config.toml').replace(stop, `${stop}enabled = false\n`);
  box.write('.codex/config.toml', config.replace(`${start}trusted_hash = "sha256:`, `${start}trusted_hash = "sha256:0`));
  const { trust } = await inspectHarness(codex, box.options);
  const status = (event: string): string | undefined => trust?.find((entry) => entry.event === event)?.status;
  expect([status('Stop'), status('SessionStart'), status('Interrupt')]).toEqual(['disabled', 'modified', 'trusted']);
  await installHarness(codex, { ...box.options, trustCodexHooks: true });
  const again = await inspectHarness(codex, box.options);
  expect(again.trust?.map((entry) => entry.status).filter((one) => one !== 'trusted')).toEqual(['disabled']);
});

test('a group that follows ours keeps its place over uninstall, and a reinstall takes its old one', async () => {
  const box = sandbox();
  box.write('.codex/hooks.json', '{\n  "hooks": {}\n}\n');
  const first = await installHarness(codex, { ...box.options, trustCodexHooks: true });
  addLate(box);
  const report = await uninstallHarness(codex, box.options);
  expect(report.notes).toEqual([expect.stringContaining('Stop: an empty group stays')]);
  expect(JSON.parse(box.read('.codex/hooks.json'))).toEqual({ hooks: { Stop: [{ hooks: [] }, JSON.parse(late)] } });
  const second = await installHarness(codex, { ...box.options, trustCodexHooks: true });
  expect(second.trust?.map(({ key, hash }) => [key, hash]).sort()).toEqual(first.trust?.map(({ key, hash }) => [key, hash]).sort());
  expect((await installHarness(codex, box.options)).files.map(({ change }) => change)).toEqual(['unchanged', 'unchanged']);
});

test('hooks go where the user has theirs, and stay where ours are', async () => {
  const box = sandbox();
  box.write('.codex/config.toml', '[[hooks.Stop]]\nhooks = [{ type = "command", command = "mine" }]\n');
  await installHarness(codex, box.options);
  expect(() => box.read('.codex/hooks.json')).toThrow('ENOENT');
  box.write('.codex/hooks.json', '{"hooks":{"Stop":[{"hooks":[]}]}}');
  await installHarness(codex, box.options);
  expect(box.read('.codex/hooks.json')).toBe('{"hooks":{"Stop":[{"hooks":[]}]}}');
});
