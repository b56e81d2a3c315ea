import { maskCarried } from './carriers.ts';
import { maskEncoded } from './encoded.ts';
import { maskNamedSecrets } from './named-secrets.ts';
import { isTelling } from './names.ts';
import { maskPrivateKeys } from './private-keys.ts';
import { isReference } from './references.ts';
import { BEARER, SHAPES } from './shapes.ts';
import { maskUrlKeys, maskUrlPasswords } from './urls.ts';

/**
 * The one place through which every string of a record, a log line or a diagnostic passes before it
 * leaves the process. Records are secret-free by their allow-list already; this is the second line.
 * Messages between agents are the live channel and never come here.
 *
 * Every pattern is linear: bounded repetitions and one start for each run of characters. Over the
 * budget a text is dropped, never passed on. Where in doubt, more is masked.
 */
const MOST_CHARS = 256 * 1024;
export const DROPPED = '[dropped: too long to check]';
const DEEPEST = 20;
const MOST_ENCODED = 2_000;

const mask = (kind: string): string => `[redacted:${kind}]`;

/** What stands in the text as it is. */
function redactPlain(text: string): string {
  let out = maskPrivateKeys(text, mask('private-key'));
  for (const [kind, pattern] of SHAPES) out = out.replace(pattern, mask(kind));
  out = maskUrlKeys(maskUrlPasswords(out, mask('url-password')), mask('url-key'));
  return maskNamedSecrets(maskCarried(out, mask('named-secret')), mask('named-secret')).replace(BEARER, mask('bearer'));
}

/** The text without anything that looks like a secret. */
export function redact(text: string): string {
  if (text.length < 8) return text;
  if (text.length > MOST_CHARS) return DROPPED;
  const out = maskEncoded(
    maskPrivateKeys(text, mask('private-key')),
    mask('encoded'),
    (decoded) => redactPlain(decoded) === decoded,
    MOST_ENCODED,
  );
  return out === null ? DROPPED : redactPlain(out);
}

/** Every string inside a JSON value, keys included; deeper than 20 levels is dropped. */
export function redactJson(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return redact(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > DEEPEST) return DROPPED;
  if (Array.isArray(value)) return value.map((item) => redactJson(item, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [redact(key), member(key, item, depth)]));
}

function member(key: string, item: unknown, depth: number): unknown {
  const clean = redactJson(item, depth + 1);
  return isTelling(key) ? maskStrings(clean) : clean;
}

/** What stands under a telling name, with every string of it masked that says more than where the secret is. */
function maskStrings(clean: unknown): unknown {
  if (typeof clean === 'string') return clean === '' || isReference(clean) ? clean : mask('named-secret');
  if (typeof clean !== 'object' || clean === null) return clean;
  if (Array.isArray(clean)) return clean.map(maskStrings);
  return Object.fromEntries(Object.entries(clean).map(([key, item]) => [key, maskStrings(item)]));
}
