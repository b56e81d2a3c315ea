import { defineCommand } from 'citty';
import { AgentBusError } from '../core/errors.ts';
import type { ReadAnswer } from '../daemon/inbox.ts';
import { ask, currentCaller, jsonArg, parseDuration, print } from './context.ts';
import { readOn } from './inbox.ts';

export const drainCommand = defineCommand({
  meta: { name: 'drain', description: 'Print what is waiting for this session, in frames, and mark it read' },
  args: jsonArg,
  async run({ args }) {
    const caller = currentCaller();
    const first = await ask<ReadAnswer & { unread: number }>('/drain', { caller });
    const read = await readOn(caller, first);
    // Asked for anew, since a session's last part counts as read at its next call.
    const unread = read.ids.length > first.ids.length ? (await ask<{ unread: number }>('/pending', { caller })).unread : first.unread;
    const answer = { ...read, unread };
    print(args.json, answer, () =>
      answer.unread > 0 ? `${answer.text}\n\n${answer.unread} more: run \`agentbus drain\` again` : answer.text,
    );
  },
});

export const pendingCommand = defineCommand({
  meta: { name: 'pending', description: 'How much is waiting; marks nothing' },
  args: jsonArg,
  async run({ args }) {
    const answer = await ask<{ address: string; unread: number; high: number }>('/pending', { caller: currentCaller() });
    print(
      args.json,
      answer,
      () => `${answer.unread} unread for ${answer.address}${answer.high > 0 ? `, ${answer.high} of high priority` : ''}`,
    );
  },
});

export const waitCommand = defineCommand({
  meta: {
    name: 'wait',
    description: 'Wait until something is unread; marks nothing, exit status 4 on time-out. Example: agentbus wait --timeout 10m',
  },
  args: { timeout: { type: 'string', description: 'How long (30s, 10m, 2h)', default: '10m', valueHint: 'duration' }, ...jsonArg },
  async run({ args }) {
    const caller = currentCaller();
    const until = Date.now() + parseDuration(args.timeout);
    let answer = await ask<{ address: string; unread: number }>('/pending', { caller });
    while (answer.unread === 0) {
      const left = until - Date.now();
      if (left <= 0)
        throw new AgentBusError(
          'AB-1004',
          `nothing came for ${answer.address} within ${args.timeout}`,
          'wait again, or look with `agentbus inbox`',
        );
      // Short calls, so that a restarted daemon is found again.
      answer = await ask<{ address: string; unread: number }>('/wait', { caller, timeout: Math.min(left, 5_000) });
    }
    print(args.json, answer, () => `${answer.unread} unread for ${answer.address}`);
  },
});

export const resolveCommand = defineCommand({
  meta: { name: 'resolve', description: 'Close messages without an answer' },
  args: { ids: { type: 'positional', description: 'Ids of the messages', required: true }, ...jsonArg },
  async run({ args }) {
    print(
      args.json,
      await ask<{ resolved: string[] }>('/resolve', { caller: currentCaller(), ids: args._ }),
      ({ resolved }) => `closed ${resolved.join(', ')}`,
    );
  },
});

function pauseCommandOf(paused: boolean) {
  const name = paused ? 'pause' : 'resume';
  const what = paused
    ? 'Show nothing to a session until it is resumed; messages queue and records go on'
    : 'Show messages to a paused session again';
  return defineCommand({
    meta: { name, description: what },
    args: { address: { type: 'positional', description: 'Which session; inside one, that one', required: false }, ...jsonArg },
    async run({ args }) {
      const answer = await ask<{ address: string; paused: boolean }>('/pause', {
        caller: currentCaller(),
        address: args.address,
        paused,
      });
      print(args.json, answer, () => `${answer.address} ${paused ? 'is paused' : 'is shown messages again'}`);
    },
  });
}

export const pauseCommand = pauseCommandOf(true);
export const resumeCommand = pauseCommandOf(false);
