// A unified diff for --dry-run: what would change, in a form that `patch` takes too.

const CONTEXT = 3;
const LARGEST = 4_000_000;

function lines(text: string): string[] {
  return text === '' ? [] : text.split(/(?<=\n)/);
}

type Op = { sign: ' ' | '-' | '+'; line: string };

/** The operations between two line lists: a longest common subsequence between what they share at both ends. */
function operations(before: readonly string[], after: readonly string[]): Op[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < Math.min(before.length, after.length) - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  const op =
    (sign: Op['sign']) =>
    (line: string): Op => ({ sign, line });
  const middle = between(before.slice(head, before.length - tail), after.slice(head, after.length - tail));
  return [...before.slice(0, head).map(op(' ')), ...middle, ...before.slice(before.length - tail).map(op(' '))];
}

function between(a: readonly string[], b: readonly string[]): Op[] {
  const ops: Op[] = [];
  const width = b.length + 1;
  let [i, j] = [0, 0];
  if (a.length * b.length <= LARGEST) {
    const common = new Uint32Array((a.length + 1) * width);
    const at = (row: number, column: number): number => common[row * width + column] as number;
    for (let row = a.length - 1; row >= 0; row--) {
      for (let column = b.length - 1; column >= 0; column--) {
        common[row * width + column] =
          a[row] === b[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
      }
    }
    while (i < a.length && j < b.length) {
      if (a[i] === b[j]) {
        ops.push({ sign: ' ', line: a[i++] as string });
        j++;
      } else if (at(i + 1, j) >= at(i, j + 1)) ops.push({ sign: '-', line: a[i++] as string });
      else ops.push({ sign: '+', line: b[j++] as string });
    }
  }
  while (i < a.length) ops.push({ sign: '-', line: a[i++] as string });
  while (j < b.length) ops.push({ sign: '+', line: b[j++] as string });
  return ops;
}

/** A unified diff; null stands for a file that is not there. Empty when nothing differs. */
export function unifiedDiff(path: string, before: string | null, after: string | null): string {
  const ops = operations(lines(before ?? ''), lines(after ?? ''));
  const changed = ops.flatMap((op, at) => (op.sign === ' ' ? [] : [at]));
  if (changed.length === 0) return '';
  const hunks: [number, number][] = [];
  for (const at of changed) {
    const last = hunks.at(-1);
    if (last && at - CONTEXT <= last[1]) last[1] = Math.min(ops.length, at + CONTEXT + 1);
    else hunks.push([Math.max(0, at - CONTEXT), Math.min(ops.length, at + CONTEXT + 1)]);
  }
  const name = (text: string | null): string => (text === null ? '/dev/null' : path);
  return [`--- ${name(before)}\n+++ ${name(after)}\n`, ...hunks.map(([from, to]) => hunk(ops, from, to))].join('');
}

function hunk(ops: readonly Op[], from: number, to: number): string {
  const count = (part: readonly Op[], sign: string): number => part.filter((op) => op.sign === ' ' || op.sign === sign).length;
  const part = ops.slice(from, to);
  const range = (sign: string): string => {
    const length = count(part, sign);
    return `${count(ops.slice(0, from), sign) + (length === 0 ? 0 : 1)},${length}`;
  };
  const body = part.map(({ sign, line }) => (line.endsWith('\n') ? sign + line : `${sign}${line}\n\\ No newline at end of file\n`));
  return `@@ -${range('-')} +${range('+')} @@\n${body.join('')}`;
}
