import { expect } from 'vitest';
import { renderFrame } from '../../src/core/frame.ts';
import { codex } from '../../src/harness/codex/harness.ts';
import { placesOf } from '../lab/find.ts';
import type { Json, ModelRequest } from '../lab/model.ts';

export interface ShownFrame {
  id: string;
  offer: string;
  role: string;
  text: string;
  redelivery: boolean;
}

const FRAME = /<agentbus-message [\s\S]*?<\/agentbus-message>/g;

function attribute(frame: string, name: string): string {
  return new RegExp(`[ \\n]${name}="([^"]*)"`).exec(frame)?.[1] ?? '';
}

/** All frames that stand whole in a request, in order, after undoing what the harness declares to escape. */
export function framesIn(body: Json): ShownFrame[] {
  return placesOf(body).flatMap(({ role, text }) => {
    const plain = text.includes('<hook_prompt') ? codex.unescape!(text) : text;
    return [...plain.matchAll(FRAME)].map(([frame]) => ({
      id: attribute(frame, 'id'),
      offer: attribute(frame, 'offer'),
      role,
      text: frame,
      redelivery: attribute(frame, 'redelivery') === 'true',
    }));
  });
}

/** The frame is what core/frame renders for this content, byte for byte, with the attributes it carries itself. */
export function expectExact(frame: ShownFrame, data: unknown): void {
  const of = (name: string): string => attribute(frame.text, name);
  const input = {
    id: frame.id,
    type: of('type'),
    from: of('from'),
    conversation: of('conversation'),
    traceparent: `00-${of('trace')}-0000000000000001-01`,
    receivedAt: Date.parse(of('received')),
    expires: of('expires'),
    redelivery: frame.redelivery,
    offer: frame.offer,
    data,
  };
  expect(frame.text).toBe(renderFrame(input, 9_000, 'utf8').text);
}

/** Which messages each request shows: an id twice in one list is a message shown twice. */
export function idsIn(requests: readonly ModelRequest[]): string[][] {
  return requests.map((request) => framesIn(request.body).map((frame) => frame.id));
}
