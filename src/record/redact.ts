import { isTelling, maskNamedSecrets } from './named-secrets.ts';
import { maskPrivateKeys } from './private-keys.ts';
import { isReference } from './references.ts';
import { maskUrlPasswords } from './urls.ts';

/**
 * The one place through which every string of a record, a log line or a diagnostic passes before it
 * leaves the process. Records are secret-free by their allow-list already; this is the second line.
 * Messages between agents are the live channel and never come here.
 *
 * Every pattern is linear: bounded repetitions, no nested quantifiers, one start for each run of
 * characters. Over the budget a text is dropped, never passed on.
 */
const MOST_CHARS = 256 * 1024;
export const DROPPED = '[dropped: too long to check]';
const DEEPEST = 20;

const mask = (kind: string): string => `[redacted:${kind}]`;

// Behind the letter of an escaped line break or of a colour a word begins too: both stand in a tool's output.
const UNLESS_ESCAPE = String.raw`(?<!\\[nrt])(?<!\[[\d;]{0,12}m)`;
const START = `(?<![A-Za-z0-9_]${UNLESS_ESCAPE})`;

const JWT = String.raw`eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?`;

// Secrets that their own form gives away. Those whose beginning is no word are looked for everywhere.
const TOKENS: readonly [kind: string, pattern: RegExp][] = [
  ['anthropic-key', /sk-ant-[A-Za-z0-9_-]{10,}/g],
  ['openai-key', new RegExp(`${START}sk-[A-Za-z0-9_-]{16,}`, 'g')],
  ['github-token', /gh[pousr]_[A-Za-z0-9_]{20,}|github_pat_[A-Za-z0-9_]{20,}/g],
  ['gitlab-token', /glpat-[A-Za-z0-9_-]{16,}/g],
  ['slack-token', /(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}/g],
  ['slack-webhook', /(?<=hooks\.slack\.com\/(?:services|workflows|triggers)\/)[A-Za-z0-9/]{16,}/gi],
  ['aws-key-id', new RegExp(String.raw`${START}(?:A3T[A-Z0-9]|A(?:KI|GP|ID|RO|IP|NP|NV|SI)A)[A-Z0-9]{16}(?![A-Za-z0-9_])`, 'g')],
  ['google-key', /AIza[A-Za-z0-9_-]{35,}/g],
  ['npm-token', /npm_[A-Za-z0-9_]{36,}/g],
  ['stripe-key', /[rs]k_(?:live|test)_[A-Za-z0-9]{16,}/g],
  ['shopify-key', /shp(?:at|ca|pa|ss)_[A-Za-z0-9]{32,}/g],
  ['linear-key', /lin_api_[A-Za-z0-9_]{32,}/g],
  ['sendgrid-key', new RegExp(String.raw`${START}SG\.[A-Za-z0-9_-]{16,128}\.[A-Za-z0-9_-]{16,}`, 'g')],
  ['1password-token', /ops_eyJ[A-Za-z0-9+/_-]{50,}={0,2}/g],
  ['jwt', new RegExp(`(?<![A-Za-z0-9_-]${UNLESS_ESCAPE})${JWT}`, 'g')],
];
const BEARER = new RegExp(`(${START}Bearer )([A-Za-z0-9._~+/-]{8,}=*)`, 'g');

/** The text without anything that looks like a secret. */
export function redact(text: string): string {
  if (text.length < 8) return text;
  if (text.length > MOST_CHARS) return DROPPED;
  let out = maskPrivateKeys(text, mask('private-key'));
  for (const [kind, pattern] of TOKENS) out = out.replace(pattern, mask(kind));
  out = maskUrlPasswords(out, mask('url-password'));
  out = maskNamedSecrets(out, mask('named-secret'));
  return out.replace(BEARER, `$1${mask('bearer')}`);
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
  return typeof clean === 'string' && clean.length > 0 && isTelling(key) && !isReference(clean) ? mask('named-secret') : clean;
}
