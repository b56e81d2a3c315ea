import type { Step } from '../lab/model.ts';
import type { Cli } from './cli.ts';
import { HOOK_FAULTS, type HookFault } from './shim.ts';

/** Numbers in [0, 1) that depend on the seed alone (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export interface Turn {
  /** Answers to the turn's requests in order; beyond them the model is done. */
  answers: Step[];
  hook: { event: string; fault: HookFault } | null;
  /** Interrupt when the answer of this number waits: before its first byte, within its text, or with all blocks sent. */
  interrupt: { answer: number; place: 'before' | 'middle' | 'after' } | null;
  /** Send a message before the turn (-1), or while this request waits for its answer. */
  sends: { answer: number; priority: string }[];
}

/** One turn with the troubles of real ones. A turn has at most one hook fault and one interrupt. */
export function planTurn(random: () => number, cli: Cli): Turn {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const chance = (part: number): boolean => random() < part;
  const answers: Step[] = [];
  for (let batch = Math.floor(random() * 3); batch > 0; batch -= 1) {
    const tools = Array.from({ length: 1 + Math.floor(random() * 3) }, (_, at) => cli.shell(`echo tool ${at}`));
    answers.push({ text: chance(0.5) ? 'Let me\nlook.' : undefined, tools });
  }
  answers.push({ text: 'That was\nthis turn.', pace: chance(0.3) ? 20 : undefined });
  const trouble = random();
  if (trouble < 0.12) answers.splice(Math.floor(random() * answers.length), 0, { status: 500 });
  else if (trouble < 0.2) answers.splice(Math.floor(random() * answers.length), 1, { status: 400 });
  else if (trouble < 0.26) answers.splice(Math.floor(random() * answers.length), 0, { text: 'Half an\nanswer', cut: 'early' });
  const whole = answers.flatMap((step, at) => (step.status || step.cut ? [] : [at]));
  const interrupt = chance(0.2) && whole.length > 0 ? { answer: pick(whole), place: pick(['before', 'middle', 'after'] as const) } : null;
  const hook = chance(0.5) ? { event: pick(cli.showing), fault: pick(Object.keys(HOOK_FAULTS) as HookFault[]) } : null;
  return { answers, hook, interrupt, sends: planSends(answers, hook?.event ?? null, pick, chance) };
}

/** Most messages are timed so that the hook that meets the fault has one to show; the others come at any moment. */
function planSends(
  answers: Step[],
  event: string | null,
  pick: <T>(list: readonly T[]) => T,
  chance: (part: number) => boolean,
): Turn['sends'] {
  if (event === null || chance(0.2)) {
    const moments = [-1, ...answers.keys()];
    return chance(0.5) ? [{ answer: pick(moments), priority: pick(['normal', 'high', 'urgent']) }] : [];
  }
  const tools = answers.findIndex((step) => step.tools);
  if (event === 'UserPromptSubmit') return [{ answer: -1, priority: 'normal' }];
  return [{ answer: event === 'Stop' || tools < 0 ? answers.length - 1 : tools, priority: 'high' }];
}
