import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { installed, type Installed } from '../support/installed.ts';

let world: Installed;
beforeAll(() => {
  world = installed({ install: ['install', '--harness', 'claude'] });
});
afterAll(() => world.close());

const lines = (): string[] => world.agentbus(['status']).out.trimEnd().split('\n');

it('names what stands in the project, and only then', () => {
  const before = lines();
  expect(before.filter((line) => line.includes('project'))).toEqual([]);
  expect(before).toContainEqual(expect.stringMatching(/^Claude Code: \d+ hooks, MCP registered$/));

  world.agentbus(['install', '--harness', 'claude,codex', '--scope', 'project', '--trust-codex-hooks']);
  const at = (name: string): string => join(world.project, name);
  const now = lines();
  expect(now.slice(0, before.length).slice(1)).toEqual(before.slice(1));
  expect(now.slice(before.length)).toEqual([
    expect.stringMatching(/^Claude Code in the project, .*: \d+ hooks, MCP registered$/),
    expect.stringMatching(/^Codex in the project, .*: \d+ hooks, MCP registered$/),
    expect.stringMatching(/^ {2}trust: (\d+) of \1 hooks trusted$/),
  ]);
  expect(now.join('\n')).toContain(`${at('.claude/settings.json')} and ${at('.mcp.json')}: `);
  expect(now.join('\n')).toContain(`${at('.codex/hooks.json')} and ${at('.codex/config.toml')}: `);
  const { project } = world.json<{ project: { harness: string; mcp: { path: string } }[] }>(['status']);
  expect(project).toMatchObject([{ harness: 'claude', mcp: { path: at('.mcp.json') } }, { harness: 'codex' }]);

  world.agentbus(['uninstall', '--scope', 'project']);
  expect(lines().slice(1)).toEqual(before.slice(1));
});

it('takes a project with nothing but our MCP server into account, and none of others', () => {
  mkdirSync(join(world.project, '.claude'));
  writeFileSync(join(world.project, '.claude/settings.json'), '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}]}}');
  writeFileSync(join(world.project, '.mcp.json'), '{"mcpServers":{"other":{"command":"x"}}}');
  expect(world.json<{ project: unknown[] }>(['status']).project).toEqual([]);
  writeFileSync(join(world.project, '.mcp.json'), '{"mcpServers":{"agentbus":{"command":"/gone/agentbus-mcp","args":["claude"]}}}');
  expect(lines().at(-1)).toMatch(/^Claude Code in the project, .*\.mcp\.json: 0 hooks, missing .*, MCP registered$/);
  rmSync(join(world.project, '.mcp.json'));
});

it('names what the hooks need and is gone, with the remedy of whatever is wrong', () => {
  const launcher = join(world.bus, 'bin/agentbus-hook');
  const text = readFileSync(launcher, 'utf8');
  writeFileSync(launcher, text.replaceAll(`'${process.execPath}'`, "'/gone/node'"));
  expect(lines()).toContain('/gone/node is gone, which the hooks need: run `agentbus install`');
  rmSync(launcher);
  expect(world.json(['status'])).toMatchObject({ gone: launcher });
  world.agentbus(['install', '--harness', 'claude']);
  expect(world.json(['status'])).toMatchObject({ gone: null });
  writeFileSync(join(world.home, '.claude.json'), '{ broken');
  expect(lines().join('\n')).toMatch(/AB-2001 .*\.claude\.json: .*Repair the file by hand/);
});
