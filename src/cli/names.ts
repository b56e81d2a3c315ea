import { defineCommand } from 'citty';
import type { Renamed } from '../daemon/names.ts';
import { ask, currentCaller, jsonArg, print } from './context.ts';

const counted = (count: number, what: string): string => (count === 0 ? '' : `${count} ${what}${count === 1 ? '' : 's'}`);

function describe(renamed: Renamed): string {
  const lines = [
    renamed.standby ? `standing by for ${renamed.address}: another session holds it` : `${renamed.before} is ${renamed.address} now`,
  ];
  const left = [counted(renamed.left, 'unread message'), counted(renamed.tasks, 'open task')].filter((part) => part !== '');
  if (left.length > 0) lines.push(`left with ${renamed.before}, for the next session there: ${left.join(', ')}`);
  return lines.join('\n');
}

export const joinCommand = defineCommand({
  meta: { name: 'join', description: 'Give this session a name of its own. Example: agentbus join --as reviewer' },
  args: {
    as: { type: 'string', description: 'The name', required: true, valueHint: 'name' },
    'take-over': { type: 'boolean', description: 'Also when another session holds it: that one stands by from now on', default: false },
    ...jsonArg,
  },
  async run({ args }) {
    print(args.json, await ask<Renamed>('/join', { caller: currentCaller(), name: args.as, takeOver: args['take-over'] }), describe);
  },
});

export const renameCommand = defineCommand({
  meta: { name: 'rename', description: 'Name a session from outside. Example: agentbus rename codex-2 reviewer' },
  args: {
    address: { type: 'positional', description: 'The session as it is called now', required: true },
    name: { type: 'positional', description: 'Its new name', required: true },
    ...jsonArg,
  },
  async run({ args }) {
    print(args.json, await ask<Renamed>('/rename', { address: args.address, name: args.name }), describe);
  },
});
