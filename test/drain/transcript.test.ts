import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import type { BaseFact, Evidence } from '../../src/core/harness.ts';
import { createTranscriptReader } from '../../src/drain/transcript.ts';

interface Row extends BaseFact {
  n: unknown;
}

/** A record of rows {"n":…}; `projected` counts how often one was parsed. */
function evidence(): Evidence & { projected: number[] } {
  const projected: number[] = [];
  return {
    projected,
    roots: () => [],
    skip: ['{"skip'],
    project(row, pos): Row | null {
      projected.push(row['n'] as number);
      return row['n'] === undefined ? null : { pos, n: row['n'] };
    },
    judge: () => ({ state: 'unknown' }),
    flushDelay: 0,
  };
}

function folder(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'ab-transcript-')));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

const line = (n: unknown): string => `${JSON.stringify({ n })}\n`;
const numbers = (facts: readonly BaseFact[] | null): unknown[] | null => facts && facts.map((fact) => (fact as Row).n);

test('rows are read as they come, each once, at their place in the file', () => {
  const [root, reader, proof] = [folder(), createTranscriptReader(), evidence()];
  const path = join(root, 's.jsonl');
  writeFileSync(path, line(1) + line(2));
  expect(reader.facts(proof, [root], path, 0)).toEqual([
    { pos: 0, n: 1 },
    { pos: 8, n: 2 },
  ]);
  appendFileSync(path, line('é') + line(4).slice(0, 5));
  expect(numbers(reader.facts(proof, [root], path, 0))).toEqual([1, 2, 'é']);
  appendFileSync(path, line(4).slice(5));
  expect(reader.facts(proof, [root], path, 0)!.at(-1)).toEqual({ pos: 16 + Buffer.byteLength(line('é')), n: 4 });
  expect(proof.projected).toEqual([1, 2, 'é', 4]);
});

test('however the file grows, all whole rows are read once and in order', () => {
  const root = folder();
  let file = 0;
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'binary', maxLength: 30 }), { maxLength: 12 }),
      fc.array(fc.nat(300), { maxLength: 8 }),
      (values, cuts) => {
        const [reader, proof] = [createTranscriptReader(), evidence()];
        const path = join(root, `${file++}.jsonl`);
        const bytes = Buffer.from(values.map(line).join(''));
        const ends = [...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
        writeFileSync(path, '');
        let written = 0;
        for (const end of ends) {
          appendFileSync(path, bytes.subarray(written, end));
          written = Math.max(written, end);
          reader.facts(proof, [root], path, 0);
        }
        expect(numbers(reader.facts(proof, [root], path, 0))).toEqual(values.map((value) => JSON.parse(JSON.stringify(value)) as unknown));
        expect(proof.projected).toHaveLength(values.length);
      },
    ),
    { numRuns: 50 },
  );
});

test('large and broken rows are passed over, and what follows is still read', () => {
  const [root, reader, proof] = [folder(), createTranscriptReader(), evidence()];
  const path = join(root, 's.jsonl');
  writeFileSync(path, `{"skip":"${'x'.repeat(3_000_000)}"}\n${line(1)}not json\n\n[1]\n"text"\nnull\n{"other":1}\n${line(2)}`);
  expect(numbers(reader.facts(proof, [root], path, 0))).toEqual([1, 2]);
  expect(proof.projected).not.toContain('x');
});

test('of a long file only the end is read, with a little of what stands before the offer', () => {
  const [root, reader, proof] = [folder(), createTranscriptReader(), evidence()];
  const path = join(root, 's.jsonl');
  writeFileSync(path, Array.from({ length: 100_000 }, (_, n) => line(n)).join(''));
  const from = reader.size([root], path);
  appendFileSync(path, line('offered'));
  const found = numbers(reader.facts(proof, [root], path, from))!;
  expect(found.at(-1)).toBe('offered');
  expect(found).toContain(99_999);
  expect(found.length).toBeLessThan(10_000);
});

test('an earlier offer than the first one looked at is served from its own place', () => {
  const [root, reader, proof] = [folder(), createTranscriptReader(), evidence()];
  const path = join(root, 's.jsonl');
  writeFileSync(path, Array.from({ length: 50_000 }, (_, n) => line(n)).join(''));
  reader.facts(proof, [root], path, reader.size([root], path));
  expect(numbers(reader.facts(proof, [root], path, 0))![0]).toBe(0);
});

test('a file that shrank is no proof; one that was replaced is read anew', () => {
  const [root, reader, proof] = [folder(), createTranscriptReader(), evidence()];
  const path = join(root, 's.jsonl');
  writeFileSync(path, line(1) + line(2) + line(3));
  reader.facts(proof, [root], path, 16);
  truncateSync(path, 8);
  expect(reader.facts(proof, [root], path, 16)).toBeNull();
  expect(numbers(reader.facts(proof, [root], path, 0))).toEqual([1]);
  writeFileSync(`${path}.new`, line(7) + line(8));
  renameSync(`${path}.new`, path);
  expect(numbers(reader.facts(proof, [root], path, 0))).toEqual([7, 8]);
});

test('only regular files under the given folders are opened', () => {
  const [root, outside, reader, proof] = [folder(), folder(), createTranscriptReader(), evidence()];
  const secret = join(outside, 's.jsonl');
  writeFileSync(secret, line('secret'));
  symlinkSync(secret, join(root, 'link.jsonl'));
  symlinkSync(outside, join(root, 'linked'));
  mkdirSync(join(root, 'folder.jsonl'));
  execFileSync('mkfifo', [join(root, 'pipe.jsonl')]);
  const refused = [secret, join(root, 'link.jsonl'), join(root, 'linked', 's.jsonl'), join(root, 'folder.jsonl'), join(root, 'pipe.jsonl'), root,
    join(root, '..', outside.split('/').at(-1)!, 's.jsonl'), `${root}-sibling/s.jsonl`, join(root, 'none.jsonl'), '/dev/zero', 'relative.jsonl']; // prettier-ignore
  for (const path of refused) {
    expect([path, reader.facts(proof, [root], path, 0)]).toEqual([path, null]);
    expect([path, reader.size([root], path)]).toEqual([path, 0]);
  }
  expect(proof.projected).toEqual([]);
});

test('a folder that is itself reached by a link serves the files inside it', () => {
  const [root, elsewhere, reader, proof] = [folder(), folder(), createTranscriptReader(), evidence()];
  writeFileSync(join(elsewhere, 's.jsonl'), line(1));
  symlinkSync(elsewhere, join(root, 'projects'));
  const roots = [join(root, 'none'), join(root, 'projects')];
  expect(numbers(reader.facts(proof, roots, join(root, 'projects', 's.jsonl'), 0))).toEqual([1]);
});

test('what is forgotten is read again from the file', () => {
  const [root, reader, proof] = [folder(), createTranscriptReader(), evidence()];
  const path = join(root, 's.jsonl');
  writeFileSync(path, line(1));
  reader.facts(proof, [root], path, 0);
  reader.forget(path);
  expect(numbers(reader.facts(proof, [root], path, 0))).toEqual([1]);
  expect(proof.projected).toEqual([1, 1]);
});
