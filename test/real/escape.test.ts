import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { Step } from '../lab/model.ts';
import { addressOf, install, reached, send, statesOf } from './bus.ts';
import { type Cli, CLIS, waitFor } from './cli.ts';
import { framesIn } from './frames.ts';
import { openTui } from './tui.ts';
import { gate } from './wait.ts';
import { createWorld, type World } from './world.ts';

let world: World;
afterEach(() => world.close());

/** The moments at which a person presses Esc, as the step that then is under way. */
const MOMENTS: Record<string, (cli: Cli, held: Promise<void>, file: string) => Step> = {
  'before the first byte of the answer': (_cli, held) => ({ text: 'Never.', before: held }),
  'within the answer': (_cli, held) => ({ text: 'A line and then\nnever this', middle: held }),
  'during a tool call': (cli, _held, file) => ({ tools: [cli.shell(waitFor(file))] }),
};

describe.each(CLIS)('$name', (cli) => {
  test('Esc at any moment: the message stands once in a request that was answered, and counts as seen only then', async () => {
    world = await createWorld(cli);
    await install(world);
    const model = world.model(cli);
    const tui = await openTui(world, cli);
    model.play([{ text: 'Good morning.' }]);
    await tui.prompt('hello there');
    await tui.see('Good morning.');
    const outcomes = [];
    for (const [at, [moment, step]] of Object.entries(MOMENTS).entries()) {
      const held = gate();
      const file = join(world.root, `released-${at}`);
      const id = await send(world, addressOf(cli), moment);
      model.clear();
      model.play([step(cli, held.opened, file), { text: `Answer ${at}.` }]);
      await tui.prompt(`prompt ${at}`);
      const first = await model.until(() => model.mainRequests()[0], 'the request');
      if (moment === 'within the answer') await tui.see('A line and then');
      if (moment === 'during a tool call') await model.until(() => first.done, 'the tool call');
      await tui.press('Escape');
      await model.until(() => first.done || first.aborted, 'the interrupt');
      held.open();
      writeFileSync(file, '');
      // Claude Code puts a prompt back into its box when Esc came before any answer.
      await tui.idle();
      await tui.clear();
      await tui.prompt(`and on ${at}`);
      await tui.see(`Answer ${at}.`);
      const inFirst = framesIn(first.body).some((frame) => frame.id === id);
      let tooEarly = false;
      if (!framesIn(model.mainRequests().at(-1)!.body).some((frame) => frame.id === id)) {
        // Claude Code took the prompt out of the conversation with all that came with it. The answer to
        // this prompt proves it, so the next one shows the message again.
        tooEarly = (await statesOf(world, id)).includes('presented');
        model.play([{ text: `Once more ${at}.` }]);
        await tui.prompt(`are you there ${at}`);
        await tui.see(`Once more ${at}.`);
      }
      const inLast = framesIn(model.mainRequests().at(-1)!.body).filter((frame) => frame.id === id).length;
      await reached(world, id, 'presented');
      outcomes.push({ moment, inFirst, tooEarly, inLast });
    }
    expect(outcomes).toEqual(Object.keys(MOMENTS).map((moment) => ({ moment, inFirst: true, tooEarly: false, inLast: 1 })));
  });
});
