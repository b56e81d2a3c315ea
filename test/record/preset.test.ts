// The redactor against secrets in the forms that a public scanner knows.
import { lintSource } from '@secretlint/core';
import { creator, rules } from '@secretlint/secretlint-rule-preset-recommend';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { redact } from '../../src/record/redact.ts';
import { FURTHER, SAMPLES, type Sample } from './preset.ts';
import { piecesIn } from './secrets.ts';

const RULE = '@secretlint/secretlint-rule-';
const AWS_IDS = { id: `${RULE}aws`, options: { enableIDScanRule: true } };
const CONFIG = { rules: [{ id: `${RULE}preset-recommend`, rule: creator, rules: [AWS_IDS] }] };

async function found({ text, file }: Sample): Promise<string[]> {
  const ext = /\.\w+$/.exec(file)?.[0] ?? '';
  const source = { content: text, filePath: `/project/${file}`, ext, contentType: 'text' as const };
  const { messages } = await lintSource({ source, options: { config: CONFIG, noPhysicFilePath: true } });
  return messages.map(({ ruleId }) => ruleId.replace(RULE, ''));
}

/** As it may stand in a tool's output. */
const PLACES: Readonly<Record<string, (text: string) => string>> = {
  alone: (text) => text,
  'on a line of its own': (text) => `first\n${text}\nlast`,
  'in JSON': (text) => JSON.stringify({ stdout: `first\n${text}\nlast` }),
  'in JSON in JSON': (text) => JSON.stringify(JSON.stringify([`first\t${text}`])),
  'in colour': (text) => `\u001B[31m${text}\u001B[0m`,
  'in quotes': (text) => `x('${text}')`,
  'in a setting': (text) => `VALUE=${text};`,
};

function isGoneEverywhere(sample: fc.Arbitrary<Sample>): void {
  test.each(Object.keys(PLACES))('is gone: %s', (place) => {
    fc.assert(
      fc.property(sample, ({ text, secrets }) => {
        const clean = redact(PLACES[place]!(text));
        expect(secrets.flatMap((secret) => piecesIn(clean, secret))).toEqual([]);
      }),
    );
  });
}

test('a text without secrets is one for the scanner too', async () => {
  expect(await found({ text: 'nothing here', secrets: [], file: 'notes.txt' })).toEqual([]);
});

test('every rule of the preset has a sample', () => {
  const known = rules.map(({ meta }) => meta.id.replace(RULE, '')).filter((id) => id !== 'filter-comments');
  expect([...new Set(SAMPLES.map(([rule]) => rule))].sort()).toEqual(known.sort());
});

describe.each(SAMPLES)('%s: %s', (rule, _kind, sample) => {
  test('is found by the scanner', async () => {
    await fc.assert(
      fc.asyncProperty(sample, async (one) => {
        expect(await found(one)).toContain(rule);
      }),
      { numRuns: 20 },
    );
  });

  isGoneEverywhere(sample);
});

describe.each(FURTHER)('beyond the preset: %s', (_kind, sample) => {
  isGoneEverywhere(sample);
});
