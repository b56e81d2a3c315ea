// A look into a config that is only asked one question: what the CLI could not read either counts as empty.
import { readFileSync, statSync } from 'node:fs';
import { isTable } from './hook-plan.ts';

/** The object that a file holds; empty for a file that is absent, broken or none: opening a pipe would wait for its writer. */
export function peek(path: string, parse: (text: string) => unknown = JSON.parse): Record<string, unknown> {
  try {
    if (!statSync(path).isFile()) return {};
    const value = parse(readFileSync(path, 'utf8').replace(/^\uFEFF/, ''));
    return isTable(value) ? value : {};
  } catch {
    return {};
  }
}
