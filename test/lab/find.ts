import type { Json } from './model.ts';

/** A string of a request body, with whom the model sees it come from. */
export interface Place {
  /** `system`, or the role of the message; a tool's result is `tool` in both APIs. */
  role: string;
  /** Path in the body, such as `messages[1].content[0]`. */
  where: string;
  text: string;
}

function* strings(value: unknown, role: string, where: string): Generator<Place> {
  if (typeof value === 'string') yield { role, where, text: value };
  else if (Array.isArray(value)) for (const [at, part] of value.entries()) yield* strings(part, role, `${where}[${at}]`);
  else if (typeof value === 'object' && value !== null) {
    const part = value as Json;
    const tool = part['type'] === 'tool_result' || String(part['type']).endsWith('_call_output');
    const speaker = tool ? 'tool' : typeof part['role'] === 'string' ? part['role'] : role;
    for (const [key, inner] of Object.entries(part)) {
      if (key === 'role' || key === 'type') continue;
      yield* strings(inner, speaker, key === 'text' ? where : `${where}.${key}`);
    }
  }
}

/** Every string that the model gets, in order. Tool declarations and metadata are not the conversation. */
export function placesOf(body: Json): Place[] {
  return [
    ...strings(body['system'] ?? body['instructions'], 'system', body['system'] === undefined ? 'instructions' : 'system'),
    ...strings(body['messages'], 'user', 'messages'),
    ...strings(body['input'], 'user', 'input'),
  ];
}

export interface Found {
  count: number;
  places: Place[];
}

/** Where `needle` stands in a request, as the harness sent it: its escaping is not undone. */
export function findInRequest(body: Json, needle: string): Found {
  const places = placesOf(body).filter((place) => place.text.includes(needle));
  return { count: places.reduce((sum, place) => sum + place.text.split(needle).length - 1, 0), places };
}
