import { priorityRank } from '../core/envelope.ts';
import { LIMITS } from '../core/limits.ts';
import type { InboxRow, InstanceRow } from '../store/contract.ts';
import { selectMessages } from './select.ts';

export interface WakeState {
  /** The setting `<harness>.push`. */
  push: string;
  /** The live holder of the address. */
  instance: InstanceRow;
  paused: boolean;
  /** When this instance was woken last. */
  wokenAt: number | null;
  now: number;
}

const NORMAL = priorityRank('normal');
const HIGH = priorityRank('high');

/** The least priority that reaches into this session now, without its person; null: none does. */
export function wakesFrom({ push, instance, paused, wokenAt, now }: WakeState): number | null {
  if (push === 'off' || paused || instance.headless || instance.standby || instance.state === 'ended') return null;
  // A busy session may have a permission dialog open; only Codex's own daemon can tell, which `steer` asks.
  if (instance.state === 'busy' && push !== 'steer') return null;
  if (instance.stopTotal >= LIMITS.stopExtensionsPerPrompt) return null;
  const outstanding = wokenAt !== null && wokenAt >= instance.turnAt && now - wokenAt < LIMITS.wakeOutstanding;
  if (outstanding) return null;
  return instance.state === 'busy' ? HIGH : NORMAL;
}

/**
 * The messages that a session is woken for: of those that its next prompt would show, were it made by
 * a program. Pure; docs/architecture.md has the rules.
 */
export function chooseWake(state: WakeState, rows: readonly InboxRow[]): InboxRow[] {
  const least = wakesFrom(state);
  if (least === null) return [];
  return selectMessages({ kind: 'prompt', human: false }, rows, new Set()).filter((row) => row.priority >= least);
}
