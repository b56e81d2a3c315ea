import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineCommand } from 'citty';
import { homePaths } from '../core/paths.ts';
import { callDaemon } from '../daemon/client.ts';
import type { TraceView } from '../daemon/trace.ts';
import { findHarness } from '../harness/registry.ts';
import { commandOptions } from '../install/command.ts';
import { installHarness } from '../install/install.ts';
import { jsonArg, print } from './context.ts';
import { pretendClaude, pretendCodex, type PretendSession } from './pretend.ts';
import { describeTrace } from './trace.ts';

interface Exchange {
  steps: { who: string; what: string; text: string }[];
  trace: TraceView;
  reply: TraceView;
}

const FIRST_ID = /\bmsg_[0-9A-Z]{26}\b/;

function idIn(text: string): string {
  const id = FIRST_ID.exec(text)?.[0];
  if (!id) throw new Error(`the demo went wrong: no message id in ${JSON.stringify(text.slice(0, 200))}`);
  return id;
}

async function openSessions(
  base: string,
  env: Record<string, string>,
  home: string,
  bus: string,
): Promise<{ claude: PretendSession; codex: PretendSession }> {
  const options = { ...(await commandOptions({})), home, env, agentbusHome: bus };
  for (const id of ['claude', 'codex']) await installHarness(findHarness(id)!, options);
  const cwd = join(base, 'shop');
  mkdirSync(join(cwd, '.git'), { recursive: true });
  const { mcpLauncher } = homePaths(bus);
  const claude = pretendClaude({
    env,
    cwd,
    mcpLauncher,
    hooksFile: join(home, '.claude', 'settings.json'),
    transcript: join(home, '.claude', 'projects', 'shop', 'demo.jsonl'),
  });
  const codex = pretendCodex({
    env,
    cwd,
    mcpLauncher,
    hooksFile: join(home, '.codex', 'hooks.json'),
    transcript: join(home, '.codex', 'sessions', 'rollout-demo.jsonl'),
  });
  return { claude, codex };
}

async function exchange(claude: PretendSession, codex: PretendSession, bus: string): Promise<Exchange> {
  const steps: Exchange['steps'] = [];
  const note = (who: PretendSession, what: string, text: string): void => void steps.push({ who: who.title, what, text });
  note(claude, 'starts; its model sees', await claude.hook('SessionStart', { source: 'startup' }));
  note(codex, 'starts; its model sees', await codex.hook('SessionStart', { source: 'startup' }));

  const sent = await codex.tool('send', {
    to: 'claude',
    text: 'The price test fails since your last commit. Is rounding to be half-even now?',
  });
  note(codex, 'calls the send tool, which answers', sent);
  const prompt = 'Please go on with the invoices.';
  const seen = await claude.hook('UserPromptSubmit', { prompt });
  note(claude, `gets the prompt "${prompt}"; beside it its model sees`, seen);
  claude.answered('UserPromptSubmit', prompt, seen);
  const replied = await claude.tool('reply', {
    message_id: idIn(sent),
    text: 'Yes, half-even, as the tax office asks. I will mend the test.',
  });
  note(claude, 'calls the reply tool, which answers', replied);
  await claude.hook('Stop', { stop_hook_active: false });

  const next = 'What did the other one say?';
  const back = await codex.hook('UserPromptSubmit', { prompt: next, turn_id: 'turn-2' });
  note(codex, `gets the prompt "${next}"; beside it its model sees`, back);
  codex.answered('UserPromptSubmit', next, back);
  await codex.hook('Stop', { stop_hook_active: false, turn_id: 'turn-2' });
  const trace = (id: string): Promise<TraceView> => callDaemon<TraceView>(bus, '/trace', { id });
  return { steps, trace: await trace(idIn(sent)), reply: await trace(idIn(replied)) };
}

function describe({ steps, trace, reply }: Exchange): string {
  const told = steps.map(({ who, what, text }) => `${who} ${what}:\n${text.replaceAll(/^/gm, '    ')}`);
  return [
    ...told,
    'What became of the message, as its sender sees it:',
    describeTrace(trace),
    'And of the answer:',
    describeTrace(reply),
  ].join('\n\n');
}

export const demoCommand = defineCommand({
  meta: {
    name: 'demo',
    description:
      'Two sessions exchange a message through the installed hooks and tools in a temporary home. The CLIs are played, everything of AgentBus is real',
  },
  args: jsonArg,
  async run({ args }) {
    const base = mkdtempSync(join(tmpdir(), 'agentbus-demo-'));
    const [home, bus] = [join(base, 'home'), join(base, 'bus')];
    mkdirSync(home);
    const env = { HOME: home, AGENTBUS_HOME: bus, PATH: process.env['PATH'] ?? '/usr/bin:/bin', AGENTBUS_NO_AUTO_JOIN: '1' };
    try {
      const { claude, codex } = await openSessions(base, env, home, bus);
      print(args.json, await exchange(claude, codex, bus), describe);
    } finally {
      await callDaemon(bus, '/stop').catch(() => {});
      rmSync(base, { recursive: true, force: true, maxRetries: 5 });
    }
  },
});
