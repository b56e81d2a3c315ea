import { defineCommand } from 'citty';
import { PRIORITIES, type Priority } from '../core/envelope.ts';
import { newId } from '../core/ids.ts';
import { parseStrictJson } from '../core/strict-json.ts';
import { wellFormed } from '../core/unicode.ts';
import type { SendAnswer } from '../daemon/messages.ts';
import { ask, currentCaller, jsonArg, parseDuration, print, usageError } from './context.ts';

export const messageArgs = {
  priority: { type: 'string', description: `One of ${PRIORITIES.join(', ')}`, valueHint: 'priority' },
  data: { type: 'string', description: 'A JSON value instead of text', valueHint: 'json' },
  stdin: { type: 'boolean', description: 'Read the text from standard input', default: false },
  ...jsonArg,
} as const;

export function checkPriority(value: string | undefined): Priority | undefined {
  if (value === undefined || (PRIORITIES as readonly string[]).includes(value)) return value as Priority | undefined;
  throw usageError(`no such priority: ${value.slice(0, 40)}`, `priorities are ${PRIORITIES.join(', ')}`);
}

/** What is sent: the words of the command line, standard input, or a JSON value. */
export async function messageData(words: readonly string[], options: { data?: string | undefined; stdin: boolean }): Promise<unknown> {
  const ways = [words.length > 0, options.data !== undefined, options.stdin].filter(Boolean).length;
  if (ways !== 1)
    throw usageError(ways === 0 ? 'nothing to send' : 'more than one text to send', 'give the text as words, or --stdin, or --data <json>');
  if (options.data !== undefined) return parseStrictJson(options.data);
  if (!options.stdin) {
    const text = wellFormed(words.join(' '));
    if (text === '') throw usageError('the text is empty', 'give the text as words, or --stdin, or --data <json>');
    return text;
  }
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) chunks.push(chunk);
  const text = new TextDecoder().decode(Buffer.concat(chunks)).replace(/\n$/, '');
  if (text === '') throw usageError('standard input is empty', 'give the text as words, or on standard input');
  return text;
}

export function describeSent(answer: SendAnswer): string {
  return `${answer.id} ${answer.state} for ${answer.to}\nseen: ${answer.seen}`;
}

export const sendCommand = defineCommand({
  meta: {
    name: 'send',
    description:
      'Send a message to an agent. Examples: agentbus send claude "tests are red" · git diff | agentbus send backend/codex --stdin --priority high',
  },
  args: {
    to: { type: 'positional', description: 'Address, group/name, or a unique name', required: true },
    text: { type: 'positional', description: 'The text', required: false },
    conversation: { type: 'string', description: 'Continue a conversation', valueHint: 'id' },
    expires: { type: 'string', description: 'How long it is worth reading (10m, 2h, 7d)', valueHint: 'duration' },
    ...messageArgs,
  },
  async run({ args }) {
    const [to, ...words] = args._;
    const data = await messageData(words, args);
    const answer = await ask<SendAnswer>('/send', {
      caller: currentCaller(),
      id: newId('msg'),
      to,
      data,
      priority: checkPriority(args.priority),
      conversation: args.conversation,
      ...(args.expires === undefined ? {} : { expiresIn: parseDuration(args.expires) }),
    });
    print(args.json, answer, describeSent);
  },
});
