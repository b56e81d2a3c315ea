// Splices into TOML text. toml-eslint-parser says where things are, smol-toml what they mean; nothing is ever
// written out from the parsed document, whose spelling, comments and order belong to the user.
import { parse } from 'smol-toml';
import { parseTOML, type AST } from 'toml-eslint-parser';
import { unreadable } from './json.ts';
import { appendItem, removeItem, type ItemList } from './items.ts';
import { indentAt, lineEnd, lineEnding, type Edit } from './text.ts';

export type TomlPath = readonly (string | number)[];

/** Something with a place in the text: a table, a key with its value, or an element of an array. */
export interface Site {
  kind: 'table' | 'key' | 'element';
  path: (string | number)[];
  node: AST.TOMLTable | AST.TOMLKeyValue | AST.TOMLContentNode;
  /** The table, inline table or array that it stands in; null for tables and for keys before the first header. */
  parent: AST.TOMLTable | AST.TOMLInlineTable | AST.TOMLArray | null;
}

const COMMENT = /#[^\r\n]*/g;

/** The parsed document; integers keep their precision. Refuses what does not parse. */
export function readToml(text: string, path: string): Record<string, unknown> {
  try {
    parseTOML(text);
    return parse(text, { integersAsBigInt: 'asNeeded' });
  } catch (failure) {
    throw unreadable(path, ((failure as Error).message.split('\n')[0] ?? '').trim());
  }
}

/** Every site of a document, in the order of the text. */
export function sitesOf(text: string): Site[] {
  const sites: Site[] = [];
  const value = (node: AST.TOMLContentNode, path: (string | number)[]): void => {
    if (node.type === 'TOMLInlineTable') for (const entry of node.body) key(entry, path, node);
    if (node.type !== 'TOMLArray') return;
    for (const [at, element] of node.elements.entries()) {
      sites.push({ kind: 'element', path: [...path, at], node: element, parent: node });
      value(element, [...path, at]);
    }
  };
  const key = (node: AST.TOMLKeyValue, base: (string | number)[], parent: Site['parent']): void => {
    const path = [...base, ...node.key.keys.map((part) => (part.type === 'TOMLBare' ? part.name : part.value))];
    sites.push({ kind: 'key', path, node, parent });
    value(node.value, path);
  };
  for (const node of parseTOML(text).body[0].body) {
    if (node.type === 'TOMLKeyValue') key(node, [], null);
    else {
      sites.push({ kind: 'table', path: [...node.resolvedKey], node, parent: null });
      for (const entry of node.body) key(entry, node.resolvedKey, node);
    }
  }
  return sites;
}

export function isUnder(path: TomlPath, prefix: TomlPath): boolean {
  return prefix.every((part, at) => path[at] === part);
}

export function isAt(path: TomlPath, wanted: TomlPath): boolean {
  return path.length === wanted.length && isUnder(path, wanted);
}

export function tomlKey(parts: TomlPath): string {
  return parts.map((part) => (/^[A-Za-z0-9_-]+$/.test(String(part)) ? String(part) : JSON.stringify(part))).join('.');
}

/** Strings, numbers, booleans, lists and tables on one line. JSON's string escapes are TOML's. */
export function tomlValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(tomlValue).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).map(([key, inner]) => `${tomlKey([key])} = ${tomlValue(inner)}`);
  return entries.length > 0 ? `{ ${entries.join(', ')} }` : '{}';
}

export function listOf(node: AST.TOMLInlineTable | AST.TOMLArray): ItemList {
  const items = node.type === 'TOMLArray' ? node.elements : node.body;
  return { open: node.range[0] + 1, close: node.range[1] - 1, items: items.map((item) => item.range), comment: COMMENT };
}

export function appendInline(text: string, node: AST.TOMLInlineTable | AST.TOMLArray, item: string): Edit {
  const own = text.slice(node.range[0], node.range[1]);
  const flat = node.type === 'TOMLInlineTable' || !own.includes('\n');
  return appendItem(text, listOf(node), {
    inline: item,
    block: () => item,
    unit: '  ',
    eol: lineEnding(text),
    flat,
    pad: node.type === 'TOMLArray' ? '' : ' ',
  });
}

/** Appends whole lines at the end of the file, a blank line before them. */
export function appendBlock(text: string, lines: readonly string[]): Edit {
  const eol = lineEnding(text);
  const block = lines.join(eol);
  const end = text.length;
  if (text.trim() === '') return { start: end, end, text: block + eol };
  return text.endsWith('\n') ? { start: end, end, text: eol + block + eol } : { start: end, end, text: eol + eol + block };
}

/** The lines of a table: its header and its own keys, not the tables under it nor comments after it. */
export function linesOf(text: string, node: AST.TOMLTable | AST.TOMLKeyValue): { start: number; end: number } {
  const [start, end] = node.range;
  return { start: start - indentAt(text, start).length, end: lineEnd(text, end) };
}

/** Takes lines out, with their line ending and, where a gap would be left, one blank line before them. */
export function removeLines(text: string, lines: { start: number; end: number }): Edit {
  const rest = text.slice(lines.end);
  const ending = /^\r?\n/.exec(rest)?.[0].length ?? 0;
  const gap = /^[ \t]*(?:\r?\n|\[|$)/.test(rest.slice(ending));
  const blank = gap ? (/(?:^|\n)([ \t]*\r?\n)$/.exec(text.slice(0, lines.start))?.[1]?.length ?? 0) : 0;
  const start = lines.start - blank;
  // Ours were the last lines of a file without a final newline.
  const before = ending === 0 ? (/\r?\n$/.exec(text.slice(0, start))?.[0].length ?? 0) : 0;
  return { start: start - before, end: lines.end + ending, text: '' };
}

/** Sets one key. It goes where its table is spelled already, else into a table of its own at the end. */
export function setToml(text: string, path: readonly string[], value: unknown): Edit {
  const sites = sitesOf(text);
  const raw = tomlValue(value);
  const parent = path.slice(0, -1);
  const exact = sites.find((site) => site.kind === 'key' && isAt(site.path, path));
  if (exact) {
    const [start, end] = (exact.node as AST.TOMLKeyValue).value.range;
    return { start, end, text: raw };
  }
  // The innermost: one around it would have the key of the inner one twice.
  const inline = sites.findLast(
    (site) => site.kind === 'key' && isUnder(path, site.path) && (site.node as AST.TOMLKeyValue).value.type === 'TOMLInlineTable',
  );
  if (inline) {
    const node = (inline.node as AST.TOMLKeyValue).value as AST.TOMLInlineTable;
    return appendInline(text, node, `${tomlKey(path.slice(inline.path.length))} = ${raw}`);
  }
  const table = sites.find((site) => site.kind === 'table' && isAt(site.path, parent));
  if (table) {
    const node = table.node as AST.TOMLTable;
    return appendLine(text, node, indentAt(text, (node.body.at(-1) ?? node).range[0]), path.slice(-1), raw);
  }
  for (let depth = parent.length; depth > 0; depth--) {
    const dotted = sites.findLast(({ kind, path: own, parent: where }) => {
      const base = where?.type === 'TOMLTable' ? where.resolvedKey.length : 0;
      return kind === 'key' && isUnder(own, path.slice(0, depth)) && base < depth && (where === null || where.type === 'TOMLTable');
    });
    if (!dotted) continue;
    const base = dotted.parent?.type === 'TOMLTable' ? dotted.parent.resolvedKey.length : 0;
    return appendLine(text, dotted.node, indentAt(text, dotted.node.range[0]), path.slice(base), raw);
  }
  return appendBlock(text, [`[${tomlKey(parent)}]`, `${tomlKey(path.slice(-1))} = ${raw}`]);
}

function appendLine(text: string, after: Site['node'], indent: string, key: TomlPath, raw: string): Edit {
  const end = lineEnd(text, after.range[1]);
  return { start: end, end, text: `${lineEnding(text)}${indent}${tomlKey(key)} = ${raw}` };
}

/**
 * One splice that takes away something of what is at or under a path; null when nothing is left. Repeat until `whole`:
 * the index of an element that went is the next one's.
 */
export function removeToml(text: string, path: TomlPath): { edit: Edit; whole: boolean } | null {
  const sites = sitesOf(text);
  const site =
    sites.findLast((candidate) => candidate.kind === 'table' && isUnder(candidate.path, path)) ??
    sites.find((candidate) => candidate.kind !== 'table' && isUnder(candidate.path, path));
  if (!site) return null;
  const whole = typeof path.at(-1) === 'number' && isAt(site.path, path);
  if (site.parent?.type === 'TOMLInlineTable' || site.parent?.type === 'TOMLArray') {
    const siblings: readonly unknown[] = site.parent.type === 'TOMLArray' ? site.parent.elements : site.parent.body;
    return { edit: removeItem(text, listOf(site.parent), siblings.indexOf(site.node)), whole };
  }
  return { edit: removeLines(text, linesOf(text, site.node as AST.TOMLTable | AST.TOMLKeyValue)), whole };
}
