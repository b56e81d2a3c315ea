/**
 * The first command that a session's model runs joins its harness, so that nobody has to know about
 * `install`. A joined session pays for it by reading one small file; whatever goes wrong, the command goes on.
 */
import { homedir } from 'node:os';
import { AgentBusError } from '../core/errors.ts';
import type { Harness } from '../core/harness.ts';
import { agentbusHome, homePaths } from '../core/paths.ts';
import { HARNESSES } from '../harness/registry.ts';
import { distDirectory, isTransient, targetsOf, type Place } from '../install/options.ts';
import { projectPlace, projectRoot } from '../install/project.ts';
import { readReceipt } from '../install/receipt.ts';
import { isUninstalled } from '../install/tombstone.ts';

const FACING = new Set(['send', 'reply', 'inbox', 'drain', 'pending', 'wait', 'agents', 'whoami', 'join', 'status', 'trace']);

function currentHarness(): Harness | null {
  return HARNESSES.find((harness) => harness.sessionOf(process.env)) ?? null;
}

/** Whether a receipt says that install has been at a place's files; a person may have taken its entries out since, and that counts. */
function hasReceipt(harness: Harness, place: Place, receipts: string): boolean {
  const paths = targetsOf(harness, place).map(({ path }) => path);
  return readReceipt(receipts, harness.id, place).files.some(({ path, after }) => after !== null && paths.includes(path));
}

async function join(harness: Harness, place: Place): Promise<string> {
  // The installer's parsers are not for every command to load.
  const [{ hookFiles, installHarness }, { commandOptions }] = await Promise.all([
    import('../install/install.ts'),
    import('../install/command.ts'),
  ]);
  const byHand = [...hookFiles(harness, place), ...hookFiles(harness, projectPlace(harness, place))];
  if (byHand.length > 0) return '';
  const { files, trust } = await installHarness(harness, await commandOptions({}));
  const changed = files.filter(({ change }) => change !== 'unchanged').map(({ path }) => path);
  if (changed.length === 0) return '';
  const next = trust ? 'Start codex once more and trust its hooks' : 'Hooks work from the next prompt on, tools from the next session';
  return `${harness.title} joined AgentBus (${changed.join(', ')}). ${next}. Undo: agentbus uninstall --harness ${harness.id}`;
}

/** Adds AgentBus to the harness that runs this command, unless it is there, was taken out, or nobody wants it. */
export async function autoJoin(command: string): Promise<void> {
  if (!FACING.has(command) || process.env['CI'] || process.env['AGENTBUS_NO_AUTO_JOIN'] === '1') return;
  const harness = currentHarness();
  if (!harness) return;
  const say = (line: string): void => void process.stderr.write(`agentbus: ${line}\n`);
  try {
    const bus = agentbusHome();
    const { receipts } = homePaths(bus);
    const home = process.env['HOME'] || homedir();
    const user: Place = { home, env: process.env };
    if (hasReceipt(harness, user, receipts) || isTransient(distDirectory()) || isUninstalled(bus, harness.id)) return;
    const place = { ...user, project: projectRoot(process.cwd(), home) };
    if (hasReceipt(harness, projectPlace(harness, place), receipts)) return;
    const line = await join(harness, place);
    if (line !== '') say(line);
  } catch (error) {
    const why = error instanceof AgentBusError ? error.message : String(error).split('\n', 1)[0];
    const readOnly = error instanceof AgentBusError && error.code === 'AB-2002';
    say(
      `${harness.title} could not join by itself: ${why}. ${readOnly ? 'Outside the sandbox' : 'Try'}: agentbus install --harness ${harness.id}`,
    );
  }
}
