import { defineCommand } from 'citty';
import { ask, jsonArg, print, usageError } from './context.ts';

type SessionRecord = Record<string, unknown>;

const HEAD = new Set(['id', 'time', 'agent', 'event', 'harness', 'instance', 'session', 'turn']);

function describe(records: SessionRecord[]): string {
  if (records.length === 0) return 'no records';
  return records
    .toReversed()
    .map((record) => {
      const rest = Object.entries(record).filter(([key]) => !HEAD.has(key));
      return `${String(record['time'])}  ${String(record['agent'])}  ${String(record['event'])}  ${rest.map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`).join(' ')}`.trimEnd();
    })
    .join('\n');
}

export const recordsCommand = defineCommand({
  meta: { name: 'records', description: 'What the sessions did: no text of prompts, no tool output, no arguments' },
  args: {
    limit: { type: 'string', description: 'How many, newest last', default: '50', valueHint: 'n' },
    agent: { type: 'string', description: 'Only of this address', valueHint: 'address' },
    event: { type: 'string', description: 'Only of this kind', valueHint: 'event' },
    ...jsonArg,
  },
  async run({ args }) {
    const limit = Number(args.limit);
    if (!Number.isInteger(limit) || limit < 1 || limit > 10_000)
      throw usageError('--limit takes a number from 1 to 10000', 'for instance --limit 200');
    const answer = await ask<{ records: SessionRecord[] }>('/records', { limit, agent: args.agent, event: args.event });
    print(args.json, answer, ({ records }) => describe(records));
  },
});
