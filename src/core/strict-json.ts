import { parseTree, type Node, type ParseError } from 'jsonc-parser';
import { AgentBusError } from './errors.ts';
import { wellFormed } from './unicode.ts';

// Deeper values overflow the stack of whoever writes them out again.
const DEEPEST = 200;

function refuse(what: string): never {
  throw new AgentBusError('AB-7001', `not acceptable JSON: ${what}`, 'send plain JSON: unique keys, well-formed text, integers up to 2^53');
}

function check(node: Node, text: string): void {
  if (node.type === 'object') {
    const seen = new Set<string>();
    for (const property of node.children ?? []) {
      const key = String(property.children?.[0]?.value);
      if (seen.has(key)) refuse(`the key ${JSON.stringify(key.slice(0, 60))} stands twice`);
      seen.add(key);
    }
  } else if (node.type === 'string' || node.type === 'property') {
    if (typeof node.value === 'string' && wellFormed(node.value) !== node.value) refuse('a lone surrogate in a string');
  } else if (node.type === 'number') {
    const value = Number(text.slice(node.offset, node.offset + node.length));
    if (!Number.isFinite(value)) refuse('a number out of range');
    if (Number.isInteger(value) && !Number.isSafeInteger(value)) refuse('an integer beyond 2^53');
  }
}

function parse(text: string): Node | undefined {
  const errors: ParseError[] = [];
  try {
    const tree = parseTree(text, errors, { disallowComments: true, allowTrailingComma: false, allowEmptyContent: false });
    return errors.length > 0 ? undefined : tree;
  } catch (error) {
    if (error instanceof RangeError) refuse('nested too deep');
    throw error;
  }
}

/**
 * Parses JSON that is going to be signed or was: what two parsers could read differently
 * (duplicate keys, lone surrogates, integers that do not fit) is refused with AB-7001.
 */
export function parseStrictJson(text: string): unknown {
  const tree = parse(text);
  if (!tree) return refuse('syntax');
  const open = [{ node: tree, depth: 0 }];
  while (open.length > 0) {
    const { node, depth } = open.pop()!;
    if (depth > 2 * DEEPEST) refuse('nested too deep');
    check(node, text);
    for (const child of node.children ?? []) open.push({ node: child, depth: depth + (node.type === 'array' ? 2 : 1) });
  }
  return JSON.parse(text);
}
