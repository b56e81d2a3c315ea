import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { defineCommand } from 'citty';
import { newId } from '../core/ids.ts';
import { LIMITS } from '../core/limits.ts';
import { AgentBusError } from '../core/errors.ts';
import { parseStrictJson } from '../core/strict-json.ts';
import type { Attachment } from '../core/task-data.ts';
import { cutUtf16 } from '../core/unicode.ts';
import type { TaskAnswer } from '../daemon/tasks.ts';
import type { TaskSummary, TaskView } from '../daemon/task-view.ts';
import { ask, currentCaller, jsonArg, parseDuration, print, usageError, visible } from './context.ts';
import { checkPriority, describeSent, messageData } from './send.ts';
import { describeTask, describeTasks } from './task-text.ts';

/** Every value of an option that may be given more than once. */
function allOf(raw: readonly string[], name: string): string[] {
  // What stands behind -- is text.
  const end = raw.indexOf('--');
  const words = end < 0 ? raw : raw.slice(0, end);
  return words.flatMap((word, at) => {
    if (word.startsWith(`--${name}=`)) return [word.slice(name.length + 3)];
    return word === `--${name}` && words[at + 1] !== undefined ? [words[at + 1]!] : [];
  });
}

async function attachFile(path: string): Promise<Attachment> {
  let bytes: Buffer;
  try {
    const stat = statSync(path);
    // A pipe may never end, and a device never does.
    if (!stat.isFile()) throw usageError(`can't attach ${path}: it is no regular file`, 'give --attach a file');
    if (stat.size > LIMITS.attachmentBytes)
      throw new AgentBusError('AB-7005', `${path} is larger than ${LIMITS.attachmentBytes} bytes`, 'attach a part of it');
    bytes = readFileSync(path);
  } catch (error) {
    if (error instanceof AgentBusError) throw error;
    throw usageError(`can't attach ${path}: ${(error as NodeJS.ErrnoException).code}`, 'give --attach a file');
  }
  return ask<Attachment>('/attach', {
    caller: currentCaller(),
    name: cutUtf16(basename(path), 200),
    base64: bytes.toString('base64'),
  });
}

async function attachAll(raw: readonly string[]): Promise<Attachment[]> {
  const attachments: Attachment[] = [];
  for (const path of allOf(raw, 'attach')) attachments.push(await attachFile(path));
  return attachments;
}

function positive(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value >= 0) return value;
  throw usageError(`--${name} takes a number`, `for instance --${name} 20000`);
}

interface TaskArgs {
  _: string[];
  input?: string;
  'budget-tokens'?: string;
  'budget-usd'?: string;
  percent?: string;
  question: boolean;
  outcome: string;
  output?: string;
  priority?: string;
  expires?: string;
  all: boolean;
  stdin: boolean;
  json: boolean;
}

type Action = (args: TaskArgs, words: string[], raw: readonly string[]) => Promise<void>;

const textOf = (args: TaskArgs, words: readonly string[]): Promise<string> => messageData(words, { stdin: args.stdin }) as Promise<string>;

async function textIfAny(args: TaskArgs, words: readonly string[]): Promise<string | undefined> {
  return words.length > 0 || args.stdin ? textOf(args, words) : undefined;
}

function idOf(words: readonly string[]): string {
  if (words[0] !== undefined) return words[0];
  throw usageError('no task named', '`agentbus task list` shows the ids');
}

function printStep(args: TaskArgs, answer: TaskAnswer): void {
  print(
    args.json,
    answer,
    () => `task ${answer.task.id} is ${answer.task.state}\n${answer.id} ${answer.state} for ${answer.to}\nseen: ${answer.seen}`,
  );
}

async function step(args: TaskArgs, path: string, body: Record<string, unknown>): Promise<void> {
  printStep(args, await ask<TaskAnswer>(path, { caller: currentCaller(), ...body }));
}

const OUTCOMES = ['completed', 'failed', 'rejected', 'canceled'];

const ACTIONS: Readonly<Record<string, Action>> = {
  async send(args, [to, ...words], raw) {
    const instructions = await textOf(args, words);
    const attachments = await attachAll(raw);
    const tokens = positive('budget-tokens', args['budget-tokens']);
    const usd = positive('budget-usd', args['budget-usd']);
    const answer = await ask<TaskAnswer>('/task/send', {
      caller: currentCaller(),
      id: newId('msg'),
      to,
      instructions,
      ...(args.input === undefined ? {} : { input: parseStrictJson(args.input) }),
      ...(attachments.length === 0 ? {} : { attachments }),
      ...(tokens === undefined && usd === undefined ? {} : { budget: { tokens, usd } }),
      priority: checkPriority(args.priority),
      ...(args.expires === undefined ? {} : { expiresIn: parseDuration(args.expires) }),
    });
    print(args.json, answer, () => `task ${describeSent(answer)}`);
  },
  async list(args) {
    const answer = await ask<{ tasks: TaskSummary[] }>('/task/list', { caller: currentCaller(), all: args.all });
    print(args.json, answer, ({ tasks }) => describeTasks(tasks, args.all));
  },
  async show(args, words) {
    print(args.json, await ask<TaskView>('/task/show', { caller: currentCaller(), task: idOf(words) }), describeTask);
  },
  async progress(args, words) {
    const text = await textIfAny(args, words.slice(1));
    if (args.question && text === undefined) throw usageError('no question', 'give the text as words, or --stdin');
    const percent = positive('percent', args.percent);
    const body = args.question ? { question: text } : { note: text };
    await step(args, '/task/progress', { task: idOf(words), id: newId('msg'), percent, ...body });
  },
  async finish(args, words, raw) {
    if (!OUTCOMES.includes(args.outcome))
      throw usageError(`no such outcome: ${args.outcome.slice(0, 40)}`, `outcomes are ${OUTCOMES.join(', ')}`);
    const text = await textOf(args, words.slice(1));
    if (args.outcome !== 'completed' && allOf(raw, 'attach').length > 0)
      throw usageError('files go with a result alone', 'leave --attach out, or finish the task as completed');
    const attachments = await attachAll(raw);
    const end = args.outcome === 'completed' ? { result: text, ...(attachments.length > 0 ? { attachments } : {}) } : { message: text };
    await step(args, '/task/finish', { task: idOf(words), id: newId('msg'), outcome: args.outcome, ...end });
  },
  answer: async (args, words) =>
    step(args, '/task/answer', { task: idOf(words), id: newId('msg'), answer: await textOf(args, words.slice(1)) }),
  async cancel(args, words) {
    const body = { caller: currentCaller(), task: idOf(words), reason: await textIfAny(args, words.slice(1)) };
    const answer = await ask<TaskAnswer>('/task/cancel', body);
    if (answer.task.state === 'canceled') return printStep(args, answer);
    print(args.json, answer, () => `task ${answer.task.id} is ${answer.task.state}: its agent was asked to end it (${answer.seen})`);
  },
  async fetch(args, [ref]) {
    if (ref === undefined) throw usageError('no attachment named', '`agentbus task show <id>` shows the refs');
    const blob = await ask<{ size: number; base64: string }>('/blob', { caller: currentCaller(), ref });
    const { size, base64 } = blob;
    const bytes = Buffer.from(base64, 'base64');
    if (args.output === undefined) {
      if (args.json) return print(true, blob, String);
      // A terminal must not obey what another agent sent.
      process.stdout.write(process.stdout.isTTY ? visible(bytes.toString('utf8')) : bytes);
      return;
    }
    try {
      writeFileSync(args.output, bytes, { flag: 'wx', mode: 0o600 });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // Half of it, on a disk that is full, must not be taken for the whole.
      if (code !== 'EEXIST') rmSync(args.output, { force: true });
      throw usageError(`can't write ${args.output}: ${code}`, 'give --output a file that is not there yet, in a directory of yours');
    }
    print(args.json, { size, file: args.output }, () => `${args.output}: ${size} bytes`);
  },
};

// How many words follow those that take no text.
const WORDS: Readonly<Record<string, number>> = { list: 0, show: 1, fetch: 1 };

const OPTIONS = {
  attach: { type: 'string', description: 'send, finish: a file that goes with it, up to ten times', valueHint: 'file' },
  input: { type: 'string', description: 'send: a JSON value beside the text', valueHint: 'json' },
  'budget-tokens': { type: 'string', description: 'send: the most tokens it should use', valueHint: 'number' },
  'budget-usd': { type: 'string', description: 'send: the most it should cost', valueHint: 'number' },
  priority: { type: 'string', description: 'send: low, normal, high, urgent', valueHint: 'priority' },
  expires: { type: 'string', description: 'send: how long it is worth doing (10m, 2h, 7d)', valueHint: 'duration' },
  percent: { type: 'string', description: 'progress: how much is done', valueHint: 'number' },
  question: { type: 'boolean', description: 'progress: the text is a question, and the task waits for the answer', default: false },
  outcome: { type: 'string', description: 'finish: completed, failed, rejected or canceled', default: 'completed' },
  output: { type: 'string', description: 'fetch: write to this file', valueHint: 'file' },
  all: { type: 'boolean', description: 'list: also what is over', default: false },
} as const;

/** An option of another action would be passed over: the descriptions say whose each is. */
function checkOptions(action: string, raw: readonly string[]): void {
  const words = raw.slice(0, raw.includes('--') ? raw.indexOf('--') : undefined);
  for (const [name, { description }] of Object.entries(OPTIONS)) {
    const actions = description.slice(0, description.indexOf(':')).split(', ');
    if (!actions.includes(action) && words.some((word) => word === `--${name}` || word.startsWith(`--${name}=`)))
      throw usageError(`--${name} goes with ${actions.join(' or ')}, not with ${action}`, '`agentbus task --help` lists the options');
  }
}

export const taskCommand = defineCommand({
  meta: {
    name: 'task',
    description:
      'Work that one agent asks of another: send, list, show, answer, cancel; for the one that does it progress, finish. Examples: agentbus task send codex "review this change" --attach change.diff · agentbus task show msg_01J9ZK6Q8R2M3N4P5Q6R7S8T9V',
  },
  args: {
    action: { type: 'positional', description: Object.keys(ACTIONS).join(', '), required: true },
    id: { type: 'positional', description: 'send: to whom; fetch: the ref of an attachment; else the id of the task', required: false },
    text: { type: 'positional', description: 'What to do, the note, the answer, the result', required: false },
    ...OPTIONS,
    stdin: { type: 'boolean', description: 'Read the text from standard input', default: false },
    ...jsonArg,
  },
  async run({ args, rawArgs }) {
    const [action = '', ...words] = args._;
    const run = Object.hasOwn(ACTIONS, action) ? ACTIONS[action]! : null;
    if (!run) throw usageError(`no such action: ${action.slice(0, 40)}`, `agentbus task ${Object.keys(ACTIONS).join(', ')}`);
    checkOptions(action, rawArgs);
    const extra = words[WORDS[action] ?? Infinity];
    if (extra !== undefined) throw usageError(`one word too many: ${JSON.stringify(extra.slice(0, 40))}`, 'options come with --');
    await run(args as unknown as TaskArgs, words, rawArgs);
  },
});

export const abandonCommand = defineCommand({
  meta: { name: 'abandon', description: 'Give up a task that this session was sent: it ends as failed' },
  args: { id: { type: 'positional', description: 'Id of the task', required: true }, ...jsonArg },
  async run({ args }) {
    const answer = await ask<TaskAnswer>('/task/abandon', { caller: currentCaller(), task: args.id });
    print(args.json, answer, () => `task ${answer.task.id} is ${answer.task.state} (${answer.task.reason})`);
  },
});
