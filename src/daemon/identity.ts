import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { formatAddress, isAddress, isSegment, parseAddress, toSegment } from '../core/address.ts';
import type { HandedEnv, Harness, HookEvent } from '../core/harness.ts';
import { newId } from '../core/ids.ts';
import { LIMITS } from '../core/limits.ts';
import type { AgentKind, InstanceRow, Store } from '../store/contract.ts';

/** The workspace of a machine that has joined no remote hub. */
export const WORKSPACE = 'local';

export interface IdentityContext {
  store: Store;
  now(): number;
  /** Whether a process of this machine is alive; replaced in tests. */
  alive(pid: number): boolean;
}

/** The git root around a directory, else the directory itself; symlinks resolved. */
export function projectRoot(cwd: string): string {
  let start: string;
  try {
    start = realpathSync(cwd);
  } catch {
    return cwd;
  }
  for (let at = start; ; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) return at;
    if (dirname(at) === at) return start;
  }
}

/** Whether an instance still speaks for its address: not ended, its process (where known) alive, else heard lately (a slot 24 h, a name 15 min). */
export function holds(context: IdentityContext, instance: InstanceRow): boolean {
  if (instance.state === 'ended') return false;
  if (instance.pid !== null) return context.alive(instance.pid);
  return context.now() - instance.seenAt < (instance.named ? LIMITS.silentName : LIMITS.silentSlot);
}

interface Claim {
  address: string;
  kind: AgentKind;
}

function isFree(context: IdentityContext, address: string, except: string | null): boolean {
  const holder = context.store.lastHolder(address);
  return !holder || holder.id === except || !holds(context, holder);
}

function lowestSlot(context: IdentityContext, group: string, harness: string): Claim {
  for (let n = 1; ; n++) {
    const address = formatAddress({ workspace: WORKSPACE, group, name: n === 1 ? harness : `${harness}-${n}` });
    if (isFree(context, address, null)) return { address, kind: 'slot' };
  }
}

/** A name given by a person: a whole address, or one segment inside the project's group. */
function explicitName(store: Store, handed: HandedEnv, group: string): Claim | null {
  const wanted = handed.AGENTBUS_AGENT?.trim();
  if (!wanted) return null;
  const address = isSegment(wanted) ? formatAddress({ workspace: WORKSPACE, group, name: wanted }) : wanted;
  if (!isAddress(address) || parseAddress(address)!.workspace !== WORKSPACE) return null;
  // Nobody becomes the person: their mail is not a session's.
  return store.agent(address)?.kind === 'person' ? null : { address, kind: 'name' };
}

/** The instance whose place a cleared session takes: the same process, or the one that said so just now. */
function clearedPredecessor(
  context: IdentityContext,
  harness: Harness,
  root: string,
  event: HookEvent,
  pid: number | null,
): InstanceRow | null {
  if (event.source !== 'clear') return null;
  const { store, now } = context;
  const live = store.liveInstances().filter((row) => row.harness === harness.id && row.sessionKey !== event.sessionKey && !row.headless);
  if (pid !== null) {
    const same = live.find((row) => row.pid === pid);
    if (same) return same;
  }
  const here = live.filter((row) => row.root === root);
  if (pid === null && here.length === 1) return here[0]!;
  const ended = store.lastEnded(harness.id, root, now() - LIMITS.clearGrace);
  return ended?.endReason === 'clear' && isFree(context, ended.address, ended.id) ? ended : null;
}

function claimFor(
  context: IdentityContext,
  harness: Harness,
  event: HookEvent,
  handed: HandedEnv,
  headless: boolean,
  root: string,
  previous: InstanceRow | null,
): Claim {
  const { store } = context;
  const group = store.project(root, toSegment(basename(root)));
  const named = harness.trustsEnv(headless) ? explicitName(store, handed, group) : null;
  if (named) return named;
  if (headless) {
    const name = `${harness.id}-run-${newId('ins').slice(-6).toLowerCase()}`;
    return { address: formatAddress({ workspace: WORKSPACE, group, name }), kind: 'oneoff' };
  }
  const before = previous ?? clearedPredecessor(context, harness, root, event, harness.pid(handed));
  const agent = before && store.agent(before.address);
  if (
    before &&
    agent &&
    agent.kind !== 'oneoff' &&
    (before.sessionKey !== event.sessionKey || isFree(context, before.address, before.id))
  ) {
    return { address: before.address, kind: agent.kind };
  }
  return lowestSlot(context, group, harness.id);
}

/**
 * Joins a session: the agent it speaks for and a new instance, saved. One owner per address; a second
 * claimant of an explicit name stands by. Runs inside the caller's transaction.
 */
export function joinSession(
  context: IdentityContext,
  harness: Harness,
  event: HookEvent,
  handed: HandedEnv,
  headless: boolean,
): InstanceRow {
  const { store } = context;
  const now = context.now();
  const cwd = event.cwd ?? '/';
  const root = projectRoot(cwd);
  const previous = store.instance(harness.id, event.sessionKey);
  const claim = claimFor(context, harness, event, handed, headless, root, previous);
  store.addAgent({ address: claim.address, kind: claim.kind, harness: harness.id, epoch: 0, createdAt: now });

  const holder = store.lastHolder(claim.address);
  const samePlace = holder !== null && (holder.sessionKey === event.sessionKey || event.source === 'clear');
  const standby = claim.kind === 'name' && holder !== null && !samePlace && holds(context, holder);
  const epoch = store.agent(claim.address)!.epoch + (standby ? 0 : 1);
  if (!standby) {
    store.setEpoch(claim.address, epoch);
    if (holder && holder.state !== 'ended') store.saveInstance({ ...holder, state: 'ended', endedAt: now, endReason: 'replaced' });
  }
  const instance: InstanceRow = {
    id: newId('ins'),
    harness: harness.id,
    sessionKey: event.sessionKey,
    address: claim.address,
    epoch,
    state: 'idle',
    headless,
    named: claim.kind === 'name',
    standby,
    cwd,
    root,
    transcript: event.transcript,
    pid: harness.pid(handed),
    model: null,
    // The rest of what was handed over has been used by now.
    env: { CLAUDE_CONFIG_DIR: handed.CLAUDE_CONFIG_DIR, CODEX_HOME: handed.CODEX_HOME },
    turnAt: 0,
    turnHops: 0,
    midFrames: 0,
    midBytes: 0,
    stopInTurn: 0,
    stopTotal: 0,
    announced: null,
    startedAt: now,
    seenAt: now,
    endedAt: null,
    endReason: null,
  };
  store.saveInstance(instance);
  return instance;
}

/** A stand-by instance becomes the owner once the owner is gone. Runs inside the caller's transaction. */
export function promoteIfFree(context: IdentityContext, instance: InstanceRow): InstanceRow {
  if (!instance.standby || !isFree(context, instance.address, instance.id)) return instance;
  const epoch = context.store.agent(instance.address)!.epoch + 1;
  context.store.setEpoch(instance.address, epoch);
  const promoted = { ...instance, standby: false, epoch };
  context.store.saveInstance(promoted);
  return promoted;
}
