const REFERENCE =
  /^(?:\$[A-Z_][A-Z0-9_]*(?![A-Za-z0-9])|\$\{[A-Za-z_]\w{0,100}(?::?[-=?+])?\}|\$\{\{[^{}\n]{0,200}\}\}|\{\{[^{}\n]{0,200}\}\}|<[^<>\n]{1,80}>|%[A-Z_]{2,60}%|process\.env\b|import\.meta\.env\b|os\.(?:environ|getenv)\b|ENV\[|\[redacted:[a-z0-9-]{1,30}(?:\](?![A-Za-z0-9+/_-])|$)|\*{3,}(?![*A-Za-z0-9]))/;
// Alone, or before what ends a value: a password may begin with such a word.
const WORDS =
  /^(?:true|false|null|none|undefined|void|yes|no|string|str|number|boolean|bool|required|optional|include|omit|same-origin)(?:$|\s*[\n,;)}\]#])/i;

/** Whether a value only says where a secret is to be found, or that there is none. */
export function isReference(value: string): boolean {
  return REFERENCE.test(value) || WORDS.test(value);
}
