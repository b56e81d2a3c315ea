import { callDaemon } from '../../src/daemon/client.ts';
import type { Connected, Unread } from '../../src/daemon/programs.ts';
import type { Installed } from './installed.ts';

/** A program that speaks the local surface, as a third party would write one. */
export interface Program {
  address: string;
  caller: { harness: string; session: string };
  call<T = Record<string, unknown>>(path: string, body?: Record<string, unknown>): Promise<T>;
  unread(place: 'prompt' | 'post-tool' | 'stop' | null, human?: boolean): Promise<Unread>;
}

export async function program(world: Installed, name: string, session = name): Promise<Program> {
  const connected = await callDaemon<Connected>(world.bus, '/connect', { program: name, session, cwd: world.project, pid: process.pid });
  const caller = { harness: name, session };
  const call = <T>(path: string, body: Record<string, unknown> = {}): Promise<T> => callDaemon<T>(world.bus, path, { caller, ...body });
  return { address: connected.address, caller, call, unread: (place, human = false) => call<Unread>('/unread', { place, human }) };
}

/** The ids of the frames in a text. */
export function framesIn(text: string): { id: string; redelivery: boolean }[] {
  return Array.from(text.matchAll(/<agentbus-message id="(msg_\w+)"[^>]*redelivery="(true|false)"/g), ([, id, again]) => ({
    id: id!,
    redelivery: again === 'true',
  }));
}
