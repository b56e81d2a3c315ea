import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { findInRequest } from '../lab/find.ts';
import { CLIS } from './cli.ts';
import { openTui } from './tui.ts';
import { gate } from './wait.ts';
import { createWorld, type World } from './world.ts';

// The lab itself, without AgentBus: if these fail, no other result here means anything.

let world: World;
afterEach(() => world.close());

/** One plain hook for three events, that prints a context for each. */
function plainHooks(at: World, harness: 'claude' | 'codex'): void {
  const script = join(at.root, 'hook.sh');
  writeFileSync(
    script,
    `#!/bin/sh
cat >/dev/null
case "$1" in
  Stop) [ -e '${at.root}/stopped' ] && exit 0; : >'${at.root}/stopped' ;;
esac
if [ "${harness}$1" = codexStop ]; then echo '{"decision":"block","reason":"CONTEXT <Stop>"}'
else echo '{"hookSpecificOutput":{"hookEventName":"'$1'","additionalContext":"CONTEXT <'$1'>"}}'; fi
`,
  );
  chmodSync(script, 0o755);
  const hooks = Object.fromEntries(
    ['UserPromptSubmit', 'PostToolUse', 'Stop'].map((event) => [
      event,
      [{ hooks: [{ type: 'command', command: `${script} ${event}`, timeout: 10 }] }],
    ]),
  );
  writeFileSync(harness === 'claude' ? join(at.claudeHome, 'settings.json') : join(at.codexHome, 'hooks.json'), JSON.stringify({ hooks }));
}

describe.each(CLIS)('$name', (cli) => {
  test('contexts of a plain hook stand in the next request', async () => {
    world = await createWorld(cli);
    plainHooks(world, cli.harness);
    const model = world.model(cli);
    model.play([{ tools: [cli.shell('echo one'), cli.shell('echo two')] }, { text: 'First answer.' }, { text: 'Last answer.' }]);
    const ran = await world.headless(cli, 'hello there', { extra: cli.harness === 'codex' ? ['--dangerously-bypass-hook-trust'] : [] });
    expect(ran).toMatchObject({ code: 0 });
    expect(ran.stdout).toContain('Last answer.');
    const bodies = model.mainRequests().map((request) => request.body);
    expect(bodies.length).toBe(3);
    const stop = cli.harness === 'codex' ? 'CONTEXT &lt;Stop&gt;' : 'CONTEXT <Stop>';
    const counts = (needle: string): number[] => bodies.map((body) => findInRequest(body, needle).count);
    expect(counts('hello there')).toEqual([1, 1, 1]);
    expect(counts('CONTEXT <UserPromptSubmit>')).toEqual([1, 1, 1]);
    expect(counts('CONTEXT <PostToolUse>')).toEqual([0, 2, 2]);
    expect(counts(stop)).toEqual([0, 0, 1]);
  });

  test('the interactive program is driven by keys', async () => {
    world = await createWorld(cli);
    const model = world.model(cli);
    const held = gate();
    model.play([
      { tools: [cli.shell('echo one')] },
      { text: 'First answer.' },
      { text: 'A line and then\nnever this', middle: held.opened },
      { text: 'Third answer.' },
    ]);
    const tui = await openTui(world, cli);
    await tui.prompt('hello there');
    await tui.see('First answer.');
    await tui.prompt('now wait');
    await tui.see('A line and then');
    await tui.press('Escape');
    await tui.see(/interrupted/i);
    held.open();
    await tui.prompt('and a third');
    await tui.see('Third answer.');
    const bodies = model.mainRequests();
    expect(bodies.map((request) => request.aborted)).toEqual([false, false, true, false]);
    expect(findInRequest(bodies[3]!.body, 'now wait').count).toBe(1);
  });
});
