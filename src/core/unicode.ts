/** The text with every lone surrogate replaced by U+FFFD (String.prototype.toWellFormed, typed). */
export function wellFormed(text: string): string {
  return (text as string & { toWellFormed(): string }).toWellFormed();
}

/** The first `units` UTF-16 units of the text, never cutting a surrogate pair in two. */
export function cutUtf16(text: string, units: number): string {
  if (text.length <= units) return text;
  const end = Math.max(0, units);
  const last = text.charCodeAt(end - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? end - 1 : end);
}

/** The longest prefix of the text that is at most `bytes` long in UTF-8. */
export function cutUtf8(text: string, bytes: number): string {
  const buffer = Buffer.from(text, 'utf8');
  if (buffer.length <= bytes) return text;
  let end = Math.max(0, bytes);
  while (end > 0 && (buffer[end]! & 0xc0) === 0x80) end--;
  return buffer.toString('utf8', 0, end);
}
