import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hookSocket } from '../../src/core/paths.ts';
import { installed, type Installed } from '../support/installed.ts';
import { fakeClaude } from '../support/sessions.ts';

/** Generated payloads, most of them almost right: exit 0, whole JSON or nothing, the daemon alive and its memory bounded. */
const SOCKET = Number(process.env['FUZZ_SOCKET'] ?? 100_000);
const COMMAND = Number(process.env['FUZZ_COMMAND'] ?? 1_000);
const RELAY = Number(process.env['FUZZ_RELAY'] ?? 200);
const SEED = Number(process.env['FUZZ_SEED'] ?? 42);

let world: Installed;
beforeAll(async () => {
  world = installed();
  await fakeClaude(world).start();
});
afterAll(() => world.close());

const EVENTS = [
  'SessionStart',
  'UserPromptSubmit',
  'PostToolUse',
  'PostToolBatch',
  'PostToolUseFailure',
  'Stop',
  'StopFailure',
  'SubagentStop',
  'PostCompact',
  'SessionEnd',
  'Interrupt',
  'PostModelRequest',
  'Unknown',
];
const odd = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.double(),
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.array(fc.anything(), { maxLength: 3 }),
  fc.dictionary(fc.string(), fc.anything(), { maxKeys: 3 }),
);

function field<T>(usual: fc.Arbitrary<T>): fc.Arbitrary<unknown> {
  return fc.oneof({ arbitrary: usual, weight: 8 }, { arbitrary: odd, weight: 2 });
}

const payloads = fc.record(
  {
    session_id: field(fc.constantFrom('s1', 's2', 's3', 's4')),
    transcript_path: field(fc.constantFrom('/nowhere/x.jsonl', '/etc/passwd', '/home/dev/.codex/sessions/rollout-1.jsonl', '')),
    cwd: field(fc.constantFrom('/', '/tmp', '/nowhere')),
    hook_event_name: field(fc.constantFrom(...EVENTS)),
    prompt: field(fc.string({ unit: 'binary', maxLength: 200 })),
    prompt_id: field(fc.uuid()),
    turn_id: field(fc.uuid()),
    source: field(fc.constantFrom('startup', 'resume', 'clear', 'compact', 'fork')),
    tool_name: field(fc.string()),
    tool_input: field(fc.dictionary(fc.string(), fc.string(), { maxKeys: 4 })),
    tool_response: field(fc.string({ unit: 'binary', maxLength: 500 })),
    tool_calls: field(fc.array(fc.dictionary(fc.constantFrom('tool_name', 'tool_input', 'tool_use_id'), odd), { maxLength: 3 })),
    stop_hook_active: field(fc.boolean()),
    agent_id: field(fc.string()),
    token_usage: field(fc.dictionary(fc.string(), fc.double(), { maxKeys: 3 })),
  },
  { requiredKeys: [] },
);

const bytes: fc.Arbitrary<Buffer> = fc.oneof(
  { arbitrary: payloads.map((payload) => Buffer.from(JSON.stringify(payload))), weight: 12 },
  { arbitrary: fc.tuple(payloads, fc.nat(60)).map(([payload, cut]) => Buffer.from(JSON.stringify(payload)).subarray(0, cut)), weight: 1 },
  { arbitrary: fc.uint8Array({ maxLength: 200 }).map((raw) => Buffer.from(raw)), weight: 1 },
  {
    arbitrary: fc
      .tuple(payloads, fc.uint8Array({ maxLength: 4 }))
      .map(([payload, tail]) => Buffer.concat([Buffer.from(JSON.stringify(payload)), Buffer.from(tail)])),
    weight: 2,
  },
);

function overSocket(harness: string, payload: Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(hookSocket(world.bus, harness));
    let out = '';
    socket.on('data', (chunk: Buffer) => (out += chunk.toString('utf8')));
    // The daemon may answer and close before it has read everything.
    socket.on('error', () => {});
    socket.on('close', () => resolve(out));
    socket.end(payload);
  });
}

function expectWhole(output: string): void {
  if (output !== '') expect(() => JSON.parse(output) as unknown).not.toThrow();
}

function memory(): number {
  const status = readFileSync(join('/proc', String(world.daemonPid()), 'status'), 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024;
}

describe('generated payloads', () => {
  it(`through the hook sockets: ${SOCKET}`, async () => {
    const pid = world.daemonPid();
    // A fixed stock, shuffled over both sockets: generating costs more than sending.
    const stock = fc.sample(bytes, { numRuns: Math.min(SOCKET, 20_000), seed: SEED });
    const lanes = Array.from({ length: 8 }, async (_, lane) => {
      for (let n = lane; n < SOCKET; n += 8) expectWhole(await overSocket(n % 2 === 0 ? 'claude' : 'codex', stock[n % stock.length]!));
    });
    await Promise.all(lanes);
    expect(world.daemonPid()).toBe(pid);
    expect(world.json<{ pid: number }>(['daemon', 'status']).pid).toBe(pid);
    expect(memory()).toBeLessThan(200);
  });

  it(`through the installed command: ${COMMAND}, and the relay: ${RELAY}`, async () => {
    const stock = fc.sample(
      bytes.filter((raw) => raw.length > 2),
      { numRuns: COMMAND + RELAY, seed: SEED + 1 },
    );
    const lanes = Array.from({ length: 4 }, async (_, lane) => {
      for (let n = lane; n < stock.length; n += 4) {
        const harness = n % 2 === 0 ? 'claude' : 'codex';
        const ran = await world.hook(harness, n < COMMAND ? 'Stop' : 'SessionStart', stock[n]!);
        expect(ran).toMatchObject({ code: 0, err: '' });
        expectWhole(ran.out);
      }
    });
    await Promise.all(lanes);
    expect(world.json<{ pid: number }>(['daemon', 'status']).pid).toBe(world.daemonPid());
  });
});
