// Adding to and removing from a comma-separated list. JSON and TOML write lists alike but for comments,
// so both editors hand over the ranges of the items and get one splice back.
import { indentAt, lineEnd, startsLine, type Edit } from './text.ts';

export interface ItemList {
  /** Offset just after the opening bracket, and that of the closing one. */
  open: number;
  close: number;
  items: readonly (readonly [start: number, end: number])[];
  comment: RegExp;
}

export interface NewItem {
  /** The item as one line, and written out for an indentation. */
  inline: string;
  block(indent: string): string;
  unit: string;
  eol: string;
  /** Whether the whole document stands on one line. */
  flat: boolean;
  /** What stands inside the brackets around an only item on one line: a space in TOML's inline tables. */
  pad: string;
}

function blankComments(text: string, comment: RegExp): string {
  return text.replace(comment, (match) => match.replace(/[^\r\n]/g, ' '));
}

/** Appends one item after the last. */
export function appendItem(text: string, list: ItemList, item: NewItem): Edit {
  const last = list.items.at(-1);
  const at = (offset: number, added: string): Edit => ({ start: offset, end: offset, text: added });
  if (!last) {
    if (item.flat) return at(list.open, item.pad + item.inline + item.pad);
    const base = indentAt(text, list.open);
    const closing = text.slice(list.open, list.close).includes('\n') ? '' : item.eol + base;
    return at(list.open, item.eol + base + item.unit + item.block(base + item.unit) + closing);
  }
  const [start, end] = last;
  const ownLine = startsLine(text, start) && !item.flat;
  const indent = indentAt(text, start);
  const added = ownLine ? item.eol + indent + item.block(indent) : (item.flat && item.pad === '' ? '' : ' ') + item.inline;
  const comma = blankComments(text.slice(end, list.close), list.comment).indexOf(',');
  if (comma < 0) return at(end, `,${added}`);
  const after = end + comma + 1;
  if (!ownLine) return at(after, added);
  const rest = lineEnd(text, after);
  const free = rest < list.close && blankComments(text.slice(after, rest), list.comment).trim() === '';
  return at(free ? rest : after, `${added},`);
}

/** Takes one item out, with the comma that goes with it. */
export function removeItem(text: string, list: ItemList, index: number): Edit {
  const [start, end] = list.items[index] as readonly [number, number];
  const previous = list.items[index - 1];
  const next = list.items[index + 1];
  if (previous) return { start: previous[1], end, text: '' };
  if (next) return { start, end: next[0], text: '' };
  const around = text.slice(list.open, start) + text.slice(end, list.close).replace(',', '');
  if (around.trim() === '') return { start: list.open, end: list.close, text: '' };
  const comma = /^\s*,/.exec(text.slice(end, list.close))?.[0].length ?? 0;
  return { start, end: end + comma, text: '' };
}
