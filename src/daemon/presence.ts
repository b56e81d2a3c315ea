import { priorityRank, TYPES, type Envelope } from '../core/envelope.ts';
import type { Harness } from '../core/harness.ts';
import { isStatus } from '../core/task.ts';
import { LIMITS } from '../core/limits.ts';
import { findHarness } from '../harness/registry.ts';
import type { AgentRow, InstanceRow } from '../store/contract.ts';
import { redact } from '../record/redact.ts';
import type { Bus } from './bus.ts';
import { holds } from './identity.ts';
import { pausedKey } from './overview.ts';

export type Presence = 'idle' | 'busy' | 'offline' | 'person';

export interface AgentView {
  address: string;
  kind: AgentRow['kind'];
  harness: string | null;
  title: string;
  presence: Presence;
  /** What can reach it without its person: prompt, post-tool, stop, and `wake` where that works right now. */
  badges: string[];
  unread: number;
  /** What the loop brakes keep from it until its person's next prompt, in words; null: nothing. */
  brake: string | null;
  /** ISO time, null for who was never there. */
  lastSeen: string | null;
  cwd: string | null;
  model: string | null;
  headless: boolean;
}

function liveHolder(bus: Bus, address: string): InstanceRow | null {
  const holder = bus.store.lastHolder(address);
  return holder && holds(bus, holder) ? holder : null;
}

/** Whether it is paused, or the loop brakes are on: messages past the hop limit, or no more turns without a person. */
export function brakeOf(bus: Bus, address: string, holder: InstanceRow | null): string | null {
  if (bus.store.meta(pausedKey(address)) === '1') return 'paused';
  const held = bus.store.heldCount(address, bus.now());
  if (held > 0) return `${held} held`;
  const spent = holder !== null && holder.state !== 'ended' && holder.stopTotal >= LIMITS.stopExtensionsPerPrompt;
  return spent ? 'budget of turns without a person used up' : null;
}

export function presenceOf(bus: Bus, address: string): Presence {
  if (bus.store.agent(address)?.kind === 'person') return 'person';
  const holder = liveHolder(bus, address);
  return !holder || holder.state === 'ended' ? 'offline' : holder.state;
}

function badgesOf(bus: Bus, harness: Harness, live: InstanceRow | null): string[] {
  const places = Object.keys(harness.inject).filter((place) => place !== 'session-start');
  return live && !live.headless && bus.waker.reaches(live) ? [...places, 'wake'] : places;
}

export function viewAgent(bus: Bus, agent: AgentRow): AgentView {
  const holder = bus.store.lastHolder(agent.address);
  const harness = agent.harness === null ? null : findHarness(agent.harness);
  return {
    address: agent.address,
    kind: agent.kind,
    harness: agent.harness,
    title: harness?.title ?? (agent.kind === 'person' ? 'you' : (agent.harness ?? '')),
    presence: presenceOf(bus, agent.address),
    badges: harness ? badgesOf(bus, harness, liveHolder(bus, agent.address)) : [],
    unread: bus.store.unreadCount(agent.address, bus.now()),
    brake: brakeOf(bus, agent.address, holder),
    lastSeen: holder ? new Date(holder.seenAt).toISOString() : null,
    cwd: holder?.cwd ? redact(holder.cwd) : null,
    model: holder?.model ?? null,
    headless: holder?.headless ?? false,
  };
}

/** Everyone who can be written to; one-off addresses of headless runs only while the run lasts. */
export function viewAgents(bus: Bus): AgentView[] {
  return bus.store
    .agents()
    .map((agent) => viewAgent(bus, agent))
    .filter((view) => view.kind !== 'oneoff' || view.presence !== 'offline');
}

export function ago(milliseconds: number): string {
  const minutes = Math.round(milliseconds / 60_000);
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${minutes} min ago`;
  return minutes < 48 * 60 ? `${Math.round(minutes / 60)} h ago` : `${Math.round(minutes / 1440)} days ago`;
}

/** When a message will be seen, in words: by what it is and the recipient's state. */
export function seenWhen(bus: Bus, { subject: address, priority, type, data }: Envelope): string {
  const presence = presenceOf(bus, address);
  if (presence === 'person') return 'person: when they run `agentbus inbox`';
  if (bus.store.meta(pausedKey(address)) === '1') return 'paused: once it is resumed';
  const holder = bus.store.lastHolder(address);
  const harness = holder && findHarness(holder.harness);
  if (presence === 'offline') {
    const unread = bus.store.unreadCount(address, bus.now());
    return `offline: queued, ${unread} unread${holder ? `, last seen ${ago(bus.now() - holder.seenAt)}` : ''}`;
  }
  const status = isStatus({ type, data });
  if (presence === 'idle') {
    const brake = brakeOf(bus, address, holder);
    if (brake !== null) return `idle, ${brake}: at the next prompt of its person`;
    const woken = !status && holder !== null && bus.waker.wakes(holder, priorityRank(priority));
    return woken ? 'idle: it is woken for it' : 'idle: at the next prompt';
  }
  const urgent = !status && (priority === 'high' || priority === 'urgent');
  const midTurn = (urgent || TASK_NEWS.has(type)) && harness?.inject['post-tool'] !== undefined;
  const atStop = (urgent || type === TYPES.taskRequest) && harness?.inject.stop !== undefined && bus.settings().stopInject(harness.id);
  if (midTurn && atStop) return `busy, ${priority}: at the next tool call, or when the turn ends`;
  if (midTurn) return `busy, ${priority}: at the next tool call`;
  if (atStop) return `busy, ${priority}: when the turn ends`;
  return `busy, ${status ? 'a status' : priority}: at the next prompt`;
}

const TASK_NEWS: ReadonlySet<string> = new Set([TYPES.taskInput, TYPES.taskResult, TYPES.taskError, TYPES.taskCancel]);
