import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';

export const ROOT = new URL('../../', import.meta.url).pathname;

/** Every TypeScript file below a folder of the repository, by its path from there. */
export function filesIn(folder: string): string[] {
  return readdirSync(`${ROOT}${folder}`, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name}`)
    .sort();
}

export function read(path: string): string {
  return readFileSync(`${ROOT}${path}`, 'utf8');
}

export interface Import {
  from: string;
  /** A path from the repository's root, or the name of a module. */
  to: string;
  isType: boolean;
  isDynamic: boolean;
}

// Comments and strings are not parsed: an import stands at the start of a line or in an import() call.
const STATEMENT = /^(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?'([^']+)'/gm;
const CALL = /\bimport\(\s*'([^']+)'\s*\)/g;

export function importsOf(path: string): Import[] {
  const text = read(path);
  const resolve = (name: string): string => (name.startsWith('.') ? posix.join(posix.dirname(path), name) : name);
  return [
    ...Array.from(text.matchAll(STATEMENT), (match) => ({
      from: path,
      to: resolve(match[2]!),
      isType: match[1] !== undefined,
      isDynamic: false,
    })),
    ...Array.from(text.matchAll(CALL), (match) => ({ from: path, to: resolve(match[1]!), isType: false, isDynamic: true })),
  ];
}
