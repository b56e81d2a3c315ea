import { isAddress, isSegment } from '../core/address.ts';
import type { EventKind, Harness, HookEvent, InjectPoint } from '../core/harness.ts';
import { AgentBusError } from '../core/errors.ts';
import { openTasksLine } from '../core/task.ts';
import { inject, progressed } from '../hook/handle.ts';
import { addReceipt } from '../drain/offer.ts';
import { acknowledge, settle } from '../drain/settle.ts';
import { findHarness } from '../harness/registry.ts';
import type { InstanceRow } from '../store/contract.ts';
import type { Bus } from './bus.ts';
import { ownMessage, requireOwner, type CallerIdentity } from './callers.ts';
import { joinSession } from './identity.ts';

/**
 * Programs that speak the local surface themselves: they connect under a name of their own, fetch what
 * is to be shown, and say what was seen; nobody else can prove it for them.
 */
const point: InjectPoint = { budget: 9_000, unit: 'utf8', render: (_native, text) => text };

/** A program as a harness: what it shows proves nothing by itself. */
export function programHarness(id: string, pid: number | null = null): Harness {
  return {
    id,
    title: id,
    versions: [],
    sessionOf: () => null,
    parse: () => null,
    isMachinePrompt: () => false,
    inject: { prompt: point, 'post-tool': point, stop: point },
    push: [],
    headless: () => false,
    pid: () => pid,
    trustsEnv: () => true,
    evidence: { roots: () => [], skip: [], project: () => null, judge: () => ({ state: 'unknown' }), flushDelay: 0 },
    install: { program: id, shell: 'any', configDir: () => '', registrations: () => [], format: 'claude' },
    caps: { push: 'poll', usageSource: 'native', usageConfidence: 'unverified', cancel: false, progress: 'tool' },
  };
}

function eventOf(instance: Pick<InstanceRow, 'sessionKey' | 'cwd'>, kind: EventKind): HookEvent {
  const { sessionKey, cwd } = instance;
  const nothing = { transcript: null, turn: null, source: null, reason: null, prompt: null, model: null, usage: null };
  return { kind, native: kind, sessionKey, cwd, subagent: false, tools: [], stopHookActive: false, ...nothing };
}

function programOf(who: CallerIdentity): InstanceRow {
  if (who.instance && !findHarness(who.instance.harness)) return who.instance;
  throw new AgentBusError(
    'AB-1002',
    'only a program that connected itself may call this',
    'a coding CLI is shown its messages by its hooks',
  );
}

export interface Connect {
  program: string;
  session: string;
  cwd: string;
  name?: string | undefined;
  pid?: number | undefined;
}

export interface Connected {
  address: string;
  instance: string;
  standby: boolean;
  unread: number;
  /** The open tasks in one line; empty without any. */
  tasks: string;
}

/** Joins a program, or takes it up again after a restart. Throws AB-7001 for the name of a coding CLI, AB-7002. */
export async function connect(bus: Bus, request: Connect): Promise<Connected> {
  if (request.name !== undefined && !isSegment(request.name) && !isAddress(request.name))
    throw new AgentBusError(
      'AB-7002',
      `not a name for an agent: ${JSON.stringify(String(request.name).slice(0, 80))}`,
      'lower-case letters, digits, dots, dashes',
    );
  if (findHarness(request.program))
    throw new AgentBusError('AB-7001', `program: ${request.program} joins by its hooks`, 'give the program a name of its own');
  const { store } = bus;
  const harness = programHarness(request.program, request.pid ?? null);
  const instance = store.mark(() => {
    const before = store.instance(request.program, request.session);
    // What it was shown before it ended can't be told any more.
    if (before) settle(bus, harness, before, 'ended');
    const event = { ...eventOf({ sessionKey: request.session, cwd: request.cwd }, 'session-start'), source: 'startup' as const };
    const handed = request.name === undefined ? {} : { AGENTBUS_AGENT: request.name };
    return joinSession(bus, harness, event, handed, false);
  });
  await bus.announce(instance.address);
  return {
    address: instance.address,
    instance: instance.id,
    standby: instance.standby,
    unread: store.unreadCount(instance.address, bus.now()),
    tasks: openTasksLine(store.openTasks(instance.address), instance.address),
  };
}

export function disconnect(bus: Bus, who: CallerIdentity): { address: string } {
  const instance = programOf(who);
  const ended = { ...instance, state: 'ended' as const, endedAt: bus.now(), endReason: 'disconnected' };
  bus.store.mark(() => {
    bus.store.saveInstance(ended);
    settle(bus, programHarness(instance.harness), ended, 'ended');
  });
  return { address: instance.address };
}

export interface Unread {
  address: string;
  unread: number;
  /** Whole frames, as every harness shows them; empty when there is nothing to show here. */
  text: string;
  offers: { id: string; offer: string }[];
}

/** What may be shown at a place now, by the same rules as a hook; without a place only how much waits. */
export function unread(bus: Bus, who: CallerIdentity, place: 'prompt' | 'post-tool' | 'stop' | null, human: boolean): Unread {
  const instance = programOf(who);
  const shown = bus.store.mark(() => {
    if (place === null) return null;
    const offered = inject(bus, programHarness(instance.harness), instance, eventOf(instance, place), human);
    if (offered.instance !== instance) bus.store.saveInstance(offered.instance);
    return offered;
  });
  return {
    address: instance.address,
    unread: bus.store.unreadCount(instance.address, bus.now()),
    text: shown?.output ?? '',
    offers: shown?.batch?.shown.map(({ row, nonce }) => ({ id: row.id, offer: nonce })) ?? [],
  };
}

/** What became of what was shown: seen by the model, or not; and which messages it has read. Throws AB-5003, AB-7001. */
export function injectAck(
  bus: Bus,
  who: CallerIdentity,
  request: { presented: string[]; missed: string[]; read: string[] },
): { presented: number; missed: number; read: number } {
  requireOwner(who);
  const instance = programOf(who);
  const open = new Map(bus.store.openOffers(instance.id).map((offer) => [offer.nonce, offer]));
  const offersOf = (nonces: readonly string[]) =>
    nonces.map((nonce) => {
      const offer = open.get(nonce);
      if (!offer) throw new AgentBusError('AB-7001', `no open offer ${nonce.slice(0, 20)}`, '`/unread` answers with the offers');
      return offer;
    });
  const [presented, missed] = [offersOf(request.presented), offersOf(request.missed)];
  const read = request.read.map((id) => ownMessage(bus, who, id));
  bus.store.mark(() => {
    for (const offer of presented) acknowledge(bus, offer, { state: 'presented', evidence: 'the program said so', truncated: false });
    for (const offer of missed) acknowledge(bus, offer, { state: 'miss', reason: 'the program said so' });
    for (const row of read) if (bus.store.advance(row.seq, 'read')) addReceipt(bus.store, row, 'read', { by: 'program' }, bus.now());
  });
  bus.pumpSoon();
  return { presented: presented.length, missed: missed.length, read: read.length };
}

/** A turn has begun, by a person or not, or has ended. */
export function turn(bus: Bus, who: CallerIdentity, state: 'started' | 'completed', human: boolean): { state: string } {
  requireOwner(who);
  const instance = programOf(who);
  const event = eventOf(instance, state === 'started' ? 'prompt' : 'stop');
  const next = progressed(instance, event, human, bus.now());
  bus.store.mark(() => bus.store.saveInstance(next));
  return { state: next.state };
}
