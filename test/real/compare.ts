import { CONNECTED_PREFIX } from '../../src/core/frame.ts';
import type { Json, ModelRequest } from '../lab/model.ts';

/** What differs between two runs of the same CLI in any case. */
const NOISE: [RegExp, string][] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UUID'],
  [/\b(?:toolu|call|fc|msg)_lab\w*/g, 'LAB-ID'],
  [/Chunk ID: \w+|Wall time: [\d.]+/g, 'SHELL'],
  [/\bcch=\w+/g, 'BILLING'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, 'TIME'],
];

/** The bodies of a run's requests, side calls too, as text that a second run repeats. */
export function comparable(requests: readonly ModelRequest[]): string[] {
  return requests.map(({ body }) => {
    const { metadata: _1, client_metadata: _2, prompt_cache_key: _3, ...rest } = body;
    return NOISE.reduce((text, [noise, word]) => text.replaceAll(noise, word), JSON.stringify(rest, null, 1));
  });
}

const LINE = new RegExp(`${CONNECTED_PREFIX}agent://\\S+\\. \\d+ unread messages\\. Use the inbox tool to read them\\.`);
const CLAUDE_WRAP = /(?:<system-reminder>\n)?SessionStart hook additional context: LINE\n*(?:<\/system-reminder>\n*)?/g;

function without(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(LINE, 'LINE').replace(CLAUDE_WRAP, '');
  if (Array.isArray(value)) return value.filter((item) => !isLine(item)).map(without);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, without(inner)]));
}

/** An input item of Codex, or a content block of Claude Code, that holds the line and nothing else. */
function isLine(item: unknown): boolean {
  const content = (item as { content?: { text?: string }[] } | null)?.content;
  const text = Array.isArray(content) && content.length === 1 ? content[0]?.text : (item as { text?: string } | null)?.text;
  return typeof text === 'string' && text.replace(LINE, '') === '' && text !== '';
}

/** The same requests with the line of a session start taken out; `lines` counts the requests that had it. */
export function withoutLine(requests: readonly ModelRequest[]): { requests: ModelRequest[]; lines: number } {
  return {
    requests: requests.map((request) => ({ ...request, body: without(request.body) as Json })),
    lines: requests.filter((request) => LINE.test(JSON.stringify(request.body))).length,
  };
}
