import { AgentBusError } from './errors.ts';

const SEGMENT = /^[a-z0-9][a-z0-9._-]{0,62}$/;
const ADDRESS = /^agent:\/\/([a-z0-9][a-z0-9._-]{0,62})\/([a-z0-9][a-z0-9._-]{0,62})\/([a-z0-9][a-z0-9._-]{0,62})$/;

export interface Address {
  workspace: string;
  group: string;
  name: string;
}

/** `agent://<workspace>/<group>/<name>`, or null when the text is anything else. */
export function parseAddress(text: string): Address | null {
  const match = ADDRESS.exec(text);
  if (!match) return null;
  return { workspace: match[1]!, group: match[2]!, name: match[3]! };
}

export function isAddress(text: unknown): text is string {
  return typeof text === 'string' && ADDRESS.test(text);
}

export function formatAddress(address: Address): string {
  return `agent://${address.workspace}/${address.group}/${address.name}`;
}

export function isSegment(text: string): boolean {
  return SEGMENT.test(text);
}

/**
 * A segment made of any text: lower case, runs of other characters become one `-`.
 * Text without a single usable character gives `fallback`.
 */
export function toSegment(text: string, fallback = 'project'): string {
  const slug = text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replaceAll(/^[^a-z0-9]+|[^a-z0-9]+$/g, '')
    .slice(0, 48)
    .replaceAll(/[^a-z0-9]+$/g, '');
  return SEGMENT.test(slug) ? slug : fallback;
}

/**
 * Resolves what a person typed against the known addresses: a whole address, `group/name`, or a
 * bare name, as long as it fits exactly one of them.
 * Throws AB-7002 for text that can be no address, AB-5001 when nothing fits, AB-5002 when several do.
 */
export function resolveAddress(typed: string, known: readonly string[]): string {
  const wanted = typed.trim();
  if (ADDRESS.test(wanted)) return wanted;
  const segments = wanted.split('/');
  if (wanted.startsWith('agent:') || segments.length > 2 || !segments.every(isSegment)) {
    throw new AgentBusError(
      'AB-7002',
      `not an agent address: ${JSON.stringify(typed.slice(0, 100))}`,
      'write agent://workspace/group/name, group/name, or a name that is unique; `agentbus agents` lists them',
    );
  }
  const matches = known.filter((address) => address.endsWith(`/${wanted}`));
  if (matches.length === 1) return matches[0]!;
  if (matches.length === 0) {
    throw new AgentBusError(
      'AB-5001',
      `no agent called ${wanted}`,
      '`agentbus agents` lists who is known; a Codex session exists from its first prompt on',
    );
  }
  throw new AgentBusError(
    'AB-5002',
    `${wanted} fits ${matches.length} agents: ${matches.slice(0, 5).join(', ')}${matches.length > 5 ? ', …' : ''}`,
    'write more of the address',
  );
}
