/**
 * The doctor's probe: a payload that takes a hook's whole way and that nobody acts on. The daemon says
 * where it came in, so that what worked is known from the answer itself.
 */
export type Via = 'nc' | 'relay';

const NONCE = /^[0-9a-f]{32}$/;

export function probePayload(nonce: string, event: string): string {
  return JSON.stringify({ agentbus_probe: nonce, hook_event_name: event });
}

/** The whole answer to a probe, as it has to arrive at the harness. */
export function probeText(nonce: string, harness: string, via: Via): string {
  return JSON.stringify({ agentbus_probe: nonce, harness, via });
}

/** The answer, or null for a payload that is no probe. */
export function answerProbe(payload: Readonly<Record<string, unknown>>, harness: string, via: Via): string | null {
  const nonce = payload['agentbus_probe'];
  return typeof nonce === 'string' && NONCE.test(nonce) ? probeText(nonce, harness, via) : null;
}
