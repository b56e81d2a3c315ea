import type { Cli } from './cli.ts';
import { until } from './wait.ts';
import type { World } from './world.ts';

/** Commands of AgentBus as the tests use them, with the little of their answers that matters. */

export function addressOf(cli: Cli, number = 1): string {
  return `agent://local/shop/${cli.harness}${number > 1 ? `-${number}` : ''}`;
}

export async function install(world: World, options: string[] = []): Promise<void> {
  const ran = await world.agentbus(['install', '--harness', 'claude', '--harness', 'codex', '--trust-codex-hooks', ...options]);
  if (ran.code !== 0) throw new Error(`install: exit ${ran.code}\n${ran.stdout}${ran.stderr}`);
}

export interface TraceStep {
  state: string;
  at: string;
  detail?: Record<string, unknown>;
}

export interface Trace {
  steps: TraceStep[];
}

export function trace(world: World, id: string): Promise<Trace> {
  return world.ask<Trace>(['trace', id]);
}

export async function statesOf(world: World, id: string): Promise<string[]> {
  return (await trace(world, id)).steps.map((step) => step.state);
}

/** Waits until the sender's trace says so, and gives the step. */
export function reached(world: World, id: string, state: string, deadline?: number): Promise<TraceStep> {
  let last: Trace | undefined;
  return until(
    async () => (last = await trace(world, id)).steps.find((step) => step.state === state),
    () => `${id} to be ${state}; its trace: ${JSON.stringify(last)}`,
    deadline,
  );
}

/** Sends as the person at the terminal, and waits until the message lies in the recipient's inbox. */
export async function send(world: World, to: string, text: string, priority = 'normal'): Promise<string> {
  const { id } = await world.ask<{ id: string }>(['send', to, text, '--priority', priority]);
  await reached(world, id, 'delivered');
  return id;
}

/** The addresses of the sessions so far, in order. */
export async function sessions(world: World): Promise<string[]> {
  const { agents } = await world.ask<{ agents: { address: string }[] }>(['agents']);
  return agents
    .map((agent) => agent.address)
    .filter((address) => !address.includes('/people/'))
    .toSorted();
}

/** Waits until these sessions have joined: where the hook of a start was too slow for its CLI, a later one does it. */
export async function joined(world: World, expected: readonly string[]): Promise<void> {
  let last: string[] = [];
  await until(
    async () => (last = await sessions(world)).join() === expected.toSorted().join(),
    () => `${expected.join(', ')}; there are ${last.join(', ')}`,
  );
}
