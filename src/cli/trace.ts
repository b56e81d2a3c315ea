import { defineCommand } from 'citty';
import type { TraceView } from '../daemon/trace.ts';
import { ask, jsonArg, print } from './context.ts';

/** A message's timeline for people. */
export function describeTrace(view: TraceView): string {
  const start = Date.parse(view.sent);
  const steps = view.steps.map((step) => {
    const seconds = ((Date.parse(step.at) - start) / 1000).toFixed(3);
    const { event, evidence, reason, by, reply, redelivery } = step.detail as Record<string, string | boolean | undefined>;
    const notes = [
      event && `at ${event}`,
      redelivery === true && 'again',
      evidence && `proof: ${evidence}`,
      reason && `because ${reason}`,
      by && `by ${by}`,
      reply && `with ${reply}`,
    ];
    return `  +${seconds.padStart(9)} s  ${step.state.padEnd(11)}${notes.filter(Boolean).join(', ')}`.trimEnd();
  });
  return [`${view.id} (${view.priority}) is ${view.state}`, `from ${view.from}`, `to   ${view.to}`, `sent ${view.sent}`, ...steps].join(
    '\n',
  );
}

export const traceCommand = defineCommand({
  meta: { name: 'trace', description: 'What became of a message, step by step, with the proof that it was seen' },
  args: { id: { type: 'positional', description: 'Id of the message', required: true }, ...jsonArg },
  async run({ args }) {
    print(args.json, await ask<TraceView>('/trace', { id: args.id }), describeTrace);
  },
});
