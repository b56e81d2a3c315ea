// The official conformance suite against the installed server. The suite speaks HTTP only, so a bridge
// hands its messages through. 0.1.13 is the last version that loads in Node 20.
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { installed, type Installed } from '../support/installed.ts';
import { mcpOverHttp, type HttpBridge } from '../support/mcp-over-http.ts';

// `tools-call-error` calls a tool that does not exist here: such a call is an error result as well.
const APPLY = ['server-initialize', 'ping', 'tools-list', 'tools-call-error'];

/** What the server does not declare, and what would test the bridge or a tool made for the suite. */
const NOT_APPLICABLE: Record<string, string[]> = {
  'no logging': ['logging-set-level', 'tools-call-with-logging'],
  'no completion': ['completion-complete'],
  'no resources': [
    'resources-list',
    'resources-read-text',
    'resources-read-binary',
    'resources-templates-read',
    'resources-subscribe',
    'resources-unsubscribe',
  ],
  'no prompts': ['prompts-list', 'prompts-get-simple', 'prompts-get-with-args', 'prompts-get-embedded-resource', 'prompts-get-with-image'],
  'no sampling, no elicitation': [
    'tools-call-sampling',
    'tools-call-elicitation',
    'elicitation-sep1034-defaults',
    'elicitation-sep1330-enums',
  ],
  'a tool that only a server made for the suite has': [
    'tools-call-simple-text',
    'tools-call-image',
    'tools-call-audio',
    'tools-call-embedded-resource',
    'tools-call-mixed-content',
    'tools-call-with-progress',
    'json-schema-2020-12',
  ],
  'HTTP itself': ['server-sse-polling', 'server-sse-multiple-streams', 'dns-rebinding-protection'],
};

const require = createRequire(import.meta.url);
const SUITE = require.resolve('@modelcontextprotocol/conformance/dist/index.js');

let world: Installed;
let bridge: HttpBridge;

beforeAll(async () => {
  world = installed();
  bridge = await mcpOverHttp(world, 'claude');
});
afterAll(async () => {
  await bridge.close();
  world.close();
});

function suite(words: string[]): Promise<{ code: number; out: string }> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [SUITE, ...words], { env: world.env, cwd: world.project }, (_error, out) =>
      resolve({ code: child.exitCode ?? -1, out }),
    );
  });
}

interface Check {
  id: string;
  status: string;
  errorMessage?: string;
}

async function run(scenario: string): Promise<Check[]> {
  const folder = mkdtempSync(join(world.home, 'conformance-'));
  await suite(['server', '--url', bridge.url, '--scenario', scenario, '-o', folder]);
  const [result] = readdirSync(folder);
  return JSON.parse(readFileSync(join(folder, result!, 'checks.json'), 'utf8')) as Check[];
}

it('has no scenario that is neither run nor named as not applicable', async () => {
  const { out } = await suite(['list', '--server']);
  const listed = Array.from(out.matchAll(/^ {2}- (\S+)$/gm), ([, name]) => name!);
  expect(listed.sort()).toEqual([...APPLY, ...Object.values(NOT_APPLICABLE).flat()].sort());
});

it('notices a server that can not do what is asked', async () => {
  expect((await run('prompts-list')).map(({ status }) => status)).toContain('FAILURE');
});

it.each(APPLY)('passes %s', async (scenario) => {
  const checks = await run(scenario);
  expect(checks.length).toBeGreaterThan(0);
  expect(checks.filter(({ status }) => status !== 'SUCCESS')).toEqual([]);
});
