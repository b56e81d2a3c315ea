import { afterEach, expect, test } from 'vitest';
import { addressOf, install, reached, statesOf } from './bus.ts';
import { CLAUDE, CODEX } from './cli.ts';
import { expectExact, framesIn } from './frames.ts';
import { openTui } from './tui.ts';
import { createWorld, type World } from './world.ts';

let world: World;
afterEach(() => world.close());

test('Claude asks by the command line, Codex answers by its MCP tool, Claude sees the answer', async () => {
  world = await createWorld();
  await install(world);
  const { claude, codex } = world.models;
  codex.play([{ text: 'Codex is here.' }]);
  const codexTui = await openTui(world, CODEX);
  await codexTui.prompt('hello there');
  await codexTui.see('Codex is here.');

  claude.play([{ tools: [CLAUDE.shell(`agentbus send ${addressOf(CODEX)} 'Which port?'`)] }, { text: 'Asked.' }]);
  const claudeTui = await openTui(world, CLAUDE);
  await claudeTui.prompt('ask the other one');
  await claudeTui.see('Asked.');

  codex.clear();
  codex.play(({ body, index }) => {
    const question = framesIn(body)[0];
    if (index > 0 || !question) return { text: 'Answered.' };
    return { tools: [CODEX.busTool('reply', { message_id: question.id, text: 'Port 4711.' })] };
  });
  await codexTui.prompt('anything new?');
  await codexTui.see('Answered.');
  const question = framesIn(codex.mainRequests()[0]!.body)[0]!;
  expectExact(question, 'Which port?');
  expect(question.text).toContain(`from="${addressOf(CLAUDE)}"`);

  claude.clear();
  claude.play([{ text: 'Thank you.' }]);
  await claudeTui.prompt('what did it say?');
  await claudeTui.see('Thank you.');
  const answer = framesIn(claude.mainRequests()[0]!.body)[0]!;
  expectExact(answer, 'Port 4711.');
  expect(answer.text).toContain(`from="${addressOf(CODEX)}"`);

  const presented = await reached(world, answer.id, 'presented');
  expect(presented.detail).toMatchObject({ evidence: expect.any(String) });
  expect(await statesOf(world, answer.id)).toEqual(expect.arrayContaining(['accepted', 'delivered', 'presented']));
  expect(await statesOf(world, question.id)).toEqual(expect.arrayContaining(['accepted', 'delivered', 'presented', 'replied']));
});
