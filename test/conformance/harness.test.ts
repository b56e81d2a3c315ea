import { expect, test } from 'vitest';
import { claude } from '../../src/harness/claude/harness.ts';
import { codex } from '../../src/harness/codex/harness.ts';
import { HARNESSES } from '../../src/harness/registry.ts';
import { codexSchema, evidenceOf } from './fixtures.ts';
import { harnessConformance, type HarnessExpectations } from './harness.ts';
import { schemaErrors } from './json-schema.ts';

type Output = { hookSpecificOutput?: Record<string, unknown>; reason?: unknown };

const EXPECTATIONS: Readonly<Record<string, HarnessExpectations>> = {
  claude: {
    hardCap: 10_000,
    outputErrors(native, output) {
      const wanted = { hookSpecificOutput: { hookEventName: native, additionalContext: expect.any(String) as unknown } };
      try {
        expect(output).toEqual(wanted);
        return [];
      } catch (error) {
        return [String(error)];
      }
    },
    contextOf: (output) => (output as Output).hookSpecificOutput?.['additionalContext'],
  },
  codex: {
    hardCap: 10_000,
    outputErrors: (native, output) => schemaErrors(codexSchema(native), output),
    contextOf: (output) => (output as Output).hookSpecificOutput?.['additionalContext'] ?? (output as Output).reason,
  },
};

test('every harness of the registry has its expectations here', () => {
  expect(HARNESSES.map(({ id }) => id)).toEqual(Object.keys(EXPECTATIONS));
});

for (const harness of HARNESSES) harnessConformance(harness, EXPECTATIONS[harness.id]!);

test('a run without a person is told from one with a person by the record', () => {
  const facts = (harness: typeof claude, name: string) => {
    const rows = evidenceOf(harness.id).find((fixture) => fixture.name === name)!.rows;
    return rows.map((row, pos) => harness.evidence.project(row, pos)).filter((fact) => fact !== null);
  };
  expect(claude.evidence.headless!(facts(claude, '2.1.332.accepted'))).toBe(true);
  expect(claude.evidence.headless!(facts(claude, '2.1.332.typed-ahead'))).toBe(false);
  expect(codex.evidence.headless!(facts(codex, '0.171.0.accepted'))).toBe(true);
  expect(codex.evidence.headless!(facts(codex, '0.171.0.interrupt-then-next'))).toBe(false);
  for (const harness of HARNESSES) expect(harness.evidence.headless!([])).toBeNull();
});

test('the schema check refuses what Codex refuses', () => {
  const stop = codexSchema('Stop');
  expect(schemaErrors(stop, { decision: 'block', reason: 'x' })).toEqual([]);
  expect(schemaErrors(stop, { hookSpecificOutput: { hookEventName: 'Stop', additionalContext: 'x' } })).toEqual([
    '$.hookSpecificOutput: unknown',
  ]);
  expect(schemaErrors(stop, { decision: 'allow' })).toHaveLength(1);
  expect(schemaErrors(codexSchema('PostToolUse'), { hookSpecificOutput: { hookEventName: 'Stop' } })).toHaveLength(1);
});
