import { defineCommand } from 'citty';
import { newId } from '../core/ids.ts';
import type { SendAnswer } from '../daemon/messages.ts';
import { ask, currentCaller, print } from './context.ts';
import { checkPriority, describeSent, messageArgs, messageData } from './send.ts';

export const replyCommand = defineCommand({
  meta: {
    name: 'reply',
    description: 'Answer a message in its conversation. Example: agentbus reply msg_01J9ZK6Q8R2M3N4P5Q6R7S8T9V "done"',
  },
  args: {
    id: { type: 'positional', description: 'Id of the message that you answer', required: true },
    text: { type: 'positional', description: 'The text', required: false },
    ...messageArgs,
  },
  async run({ args }) {
    const [id, ...words] = args._;
    const data = await messageData(words, args);
    print(
      args.json,
      await ask<SendAnswer>('/reply', { caller: currentCaller(), as: newId('msg'), id, data, priority: checkPriority(args.priority) }),
      describeSent,
    );
  },
});
