import { defineCommand } from 'citty';
import type { AgentView } from '../daemon/presence.ts';
import { ask, currentCaller, jsonArg, print } from './context.ts';

export const whoamiCommand = defineCommand({
  meta: { name: 'whoami', description: 'The address that you send from here' },
  args: jsonArg,
  async run({ args }) {
    const view = await ask<AgentView & { standby: boolean }>('/whoami', { caller: currentCaller() });
    print(
      args.json,
      view,
      () => `${view.address}${view.standby ? ' (standing by: another session holds it)' : ''}\n${view.presence}, ${view.unread} unread`,
    );
  },
});
