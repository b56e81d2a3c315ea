import { defineCommand } from 'citty';
import { PRIORITIES, TYPES } from '../core/envelope.ts';
import type { Caller } from '../daemon/callers.ts';
import type { InboxPage, ReadAnswer } from '../daemon/inbox.ts';
import { ask, currentCaller, jsonArg, print, table } from './context.ts';

function describe(page: InboxPage): string {
  if (page.entries.length === 0) return `${page.address}: nothing ${page.unread === 0 ? 'unread' : 'here'}`;
  const rows = page.entries.map((entry) => [
    entry.id,
    entry.state,
    PRIORITIES[entry.priority]!,
    entry.from,
    entry.received,
    `${entry.bytes} B`,
  ]);
  const more = page.cursor === null ? '' : `\nmore: --after ${page.cursor}`;
  return `${page.address}: ${page.unread} unread\n${table(['ID', 'STATE', 'PRIORITY', 'FROM', 'RECEIVED', 'SIZE'], rows)}${more}`;
}

/** The parts of a message that is larger than one answer: the last of them marks it. */
export async function readOn(caller: Caller, answer: ReadAnswer): Promise<ReadAnswer> {
  let { text, ids, remaining, nextOffset } = answer;
  while (nextOffset !== null) {
    const part: ReadAnswer = await ask('/read', { caller, ids: remaining.slice(0, 1), offset: nextOffset });
    text += `\n\n${part.text}`;
    ids = [...ids, ...part.ids];
    nextOffset = part.nextOffset;
    if (nextOffset === null) remaining = remaining.slice(1);
  }
  return { text, ids, remaining, nextOffset };
}

export const inboxCommand = defineCommand({
  meta: {
    name: 'inbox',
    description: 'What is waiting. Your own messages are printed whole and count as read; a session’s are only listed',
  },
  args: {
    all: { type: 'boolean', description: 'Also what has been seen', default: false },
    after: { type: 'string', description: 'Go on behind this cursor', valueHint: 'cursor' },
    ...jsonArg,
  },
  async run({ args }) {
    const caller = currentCaller();
    const page = await ask<InboxPage>('/inbox', { caller, all: args.all, after: args.after ?? null });
    const own = 'person' in caller && !args.all;
    if (!own || page.entries.length === 0) return print(args.json, page, describe);
    // Only what was printed whole is marked.
    const answer = await readOn(caller, await ask<ReadAnswer>('/read', { caller, ids: page.entries.map((entry) => entry.id) }));
    const rest = answer.remaining.length + (page.cursor === null ? 0 : 1);
    const tasks = page.entries.some(({ type }) => type === TYPES.taskRequest) ? ', `agentbus task finish <id> …` a task' : '';
    const more = rest > 0 ? '\nmore is waiting: run `agentbus inbox` again' : '';
    print(args.json, { ...page, read: answer }, () => `${answer.text}\n\n\`agentbus reply <id> …\` answers one${tasks}${more}`);
  },
});
