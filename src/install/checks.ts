// What doctor looks at, one line each.
import type { Via } from '../hook/probe.ts';

export type Level = 'ok' | 'warn' | 'fail';

export interface Check {
  level: Level;
  /** `agentbus` for what all harnesses share, else the harness's id. */
  about: string;
  what: string;
  /** What to do about it; empty when all is well. */
  fix: string;
  /** Of a hook that was run. */
  event?: string;
  via?: Via | null;
  ms?: number;
}

export interface Checker {
  checks: Check[];
  ok(what: string, more?: Partial<Check>): void;
  warn(what: string, fix: string, more?: Partial<Check>): void;
  fail(what: string, fix: string, more?: Partial<Check>): void;
}

export function createChecker(about: string): Checker {
  const checks: Check[] = [];
  const add =
    (level: Level) =>
    (what: string, fix: string, more: Partial<Check> = {}): void =>
      void checks.push({ level, about, what, fix, ...more });
  return { checks, ok: (what, more) => add('ok')(what, '', more), warn: add('warn'), fail: add('fail') };
}
