import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { differences, fingerprint } from '../global-setup.ts';

test('tests run in a home of their own, with nothing of the session around them', () => {
  const { env } = process;
  expect(homedir()).not.toBe(userInfo().homedir);
  for (const name of ['AGENTBUS_HOME', 'CODEX_HOME', 'CLAUDE_CONFIG_DIR']) expect(env[name]!.startsWith(`${homedir()}/`)).toBe(true);
  const left = Object.keys(env).filter((name) => /^(?:AGENTBUS|CLAUDE|CODEX)/.test(name));
  expect(left.sort()).toEqual(['AGENTBUS_HOME', 'AGENTBUS_NO_AUTO_JOIN', 'CLAUDE_CONFIG_DIR', 'CODEX_HOME']);
});

test('the guard of the real home sees what appears, changes and goes, and nothing else', () => {
  const home = mkdtempSync(join(tmpdir(), 'ab-guard-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  mkdirSync(join(home, '.claude'));
  writeFileSync(join(home, '.claude', 'settings.json'), '{}');
  const before = fingerprint(home);
  writeFileSync(join(home, 'other'), 'x');
  expect(differences(before, fingerprint(home))).toEqual([]);
  writeFileSync(join(home, '.claude', 'settings.json'), '{ }');
  writeFileSync(join(home, '.claude.json'), '{}');
  mkdirSync(join(home, '.agentbus'));
  const changed = differences(before, fingerprint(home)).map((line) => line.slice(home.length + 1).split(':')[0]);
  expect(changed).toEqual(['.agentbus', '.claude.json', '.claude/settings.json']);
  rmSync(join(home, '.claude', 'settings.json'));
  expect(differences(before, fingerprint(home)).join('\n')).toMatch(/settings\.json: 2 bytes, changed .* -> absent/);
});
