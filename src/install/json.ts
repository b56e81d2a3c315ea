// Splices into JSON text. jsonc-parser says where things are; its own modify() reformats neighbours,
// so every edit here is one insertion or one replacement of exactly the value meant.
import { findNodeAtLocation, getNodeValue, parseTree, printParseErrorCode, type Node, type ParseError } from 'jsonc-parser';
import { AgentBusError } from '../core/errors.ts';
import { appendItem, removeItem, type ItemList, type NewItem } from './items.ts';
import { lineEnding, type Edit } from './text.ts';

export type JsonPath = readonly (string | number)[];

const COMMENT = /\/\/[^\r\n]*|\/\*[\s\S]*?\*\//g;
const LENIENT = { disallowComments: false, allowTrailingComma: true };

/** Refuses what the CLI itself could not read, and duplicate keys, of which an edit might meet the dead one. Undefined: an empty file. */
export function readJson(text: string, path: string, syntax: { comments: boolean } = { comments: false }): unknown {
  try {
    return readAny(text, path, syntax);
  } catch (error) {
    throw error instanceof RangeError ? unreadable(path, 'nested too deeply') : error;
  }
}

function readAny(text: string, path: string, syntax: { comments: boolean }): unknown {
  if (text.trim() === '') return undefined;
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { disallowComments: !syntax.comments, allowTrailingComma: syntax.comments });
  const [error] = errors;
  if (error || !root) {
    const line = text.slice(0, error?.offset ?? 0).split('\n').length;
    throw unreadable(path, `line ${line}: ${error ? printParseErrorCode(error.error) : 'no value'}`);
  }
  const twice = duplicateKey(root);
  if (twice !== null) throw unreadable(path, `the key ${JSON.stringify(twice)} is there twice`);
  if (!syntax.comments) {
    try {
      return JSON.parse(text);
    } catch (failure) {
      throw unreadable(path, (failure as Error).message);
    }
  }
  return getNodeValue(root);
}

export function unreadable(path: string, why: string): AgentBusError {
  return new AgentBusError('AB-2001', `${path}: ${why}; left as it is`, 'Repair the file by hand, then run install again.');
}

function duplicateKey(node: Node): string | null {
  if (node.type === 'object') {
    const seen = new Set<string>();
    for (const property of node.children ?? []) {
      const key = String(property.children?.[0]?.value);
      if (seen.has(key)) return key;
      seen.add(key);
    }
  }
  for (const child of node.children ?? []) {
    const found = duplicateKey(child);
    if (found !== null) return found;
  }
  return null;
}

function nodeAt(text: string, path: JsonPath): Node | undefined {
  const root = parseTree(text, [], LENIENT);
  return root && findNodeAtLocation(root, [...path]);
}

function listOf(node: Node): ItemList {
  const items = (node.children ?? []).map((child): [number, number] => [child.offset, child.offset + child.length]);
  return { open: node.offset + 1, close: node.offset + node.length - 1, items, comment: COMMENT };
}

interface Style {
  eol: string;
  unit: string;
  flat: boolean;
}

function styleOf(text: string): Style {
  const unit = /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ';
  return { eol: lineEnding(text), unit, flat: !text.trim().includes('\n') };
}

function render(value: unknown, indent: string, style: Style): string {
  if (style.flat) return JSON.stringify(value);
  return JSON.stringify(value, null, style.unit).replaceAll('\n', style.eol + indent);
}

function item(style: Style, key: string | null, value: unknown): NewItem {
  const name = key === null ? '' : `${JSON.stringify(key)}:`;
  const space = key === null ? '' : ' ';
  return {
    ...style,
    inline: name + (style.flat ? '' : space) + JSON.stringify(value),
    block: (indent) => name + space + render(value, indent, style),
    pad: '',
  };
}

/** Sets the value at a path, making the objects above it; an existing value is replaced where it stands. */
export function setJson(text: string, path: JsonPath, value: unknown): Edit {
  const style = text.trim() === '' ? { eol: lineEnding(text), unit: '  ', flat: false } : styleOf(text);
  const nest = (from: number): unknown => path.slice(from).reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
  for (let depth = path.length; depth >= 0; depth--) {
    const node = nodeAt(text, path.slice(0, depth));
    if (!node) continue;
    if (depth === path.length) {
      const indent = /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', node.offset - 1) + 1))?.[0] ?? '';
      const end = node.offset + node.length;
      const flat = style.flat || !text.slice(node.offset, end).includes('\n');
      return { start: node.offset, end, text: render(value, indent, { ...style, flat }) };
    }
    return appendItem(text, listOf(node), item(style, String(path[depth]), nest(depth + 1)));
  }
  return { start: 0, end: 0, text: render(nest(0), '', style) + (text === '' ? style.eol : '') };
}

/** Appends to the array at a path, making it if need be. */
export function appendJson(text: string, path: JsonPath, value: unknown): Edit {
  const array = nodeAt(text, path);
  return array ? appendItem(text, listOf(array), item(styleOf(text), null, value)) : setJson(text, path, [value]);
}

/** Removes the property or element at a path. */
export function removeJson(text: string, path: JsonPath): Edit {
  const node = nodeAt(text, path);
  const entry = typeof path.at(-1) === 'number' ? node : node?.parent;
  const list = entry?.parent;
  if (!entry || !list) return { start: 0, end: 0, text: '' };
  return removeItem(text, listOf(list), (list.children ?? []).indexOf(entry));
}
