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

// Secrets that their own form gives away.
const TOKENS: readonly [kind: string, pattern: RegExp][] = [
  ['anthropic-key', /\bsk-ant-[A-Za-z0-9_-]{10,}/g],
  ['openai-key', /\bsk-[A-Za-z0-9_-]{16,}/g],
  ['github-token', /\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})/g],
  ['gitlab-token', /\bglpat-[A-Za-z0-9_-]{16,}/g],
  ['slack-token', /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/g],
  ['aws-key-id', /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g],
  ['google-key', /\bAIza[A-Za-z0-9_-]{35,}/g],
  ['npm-token', /\bnpm_[A-Za-z0-9]{36,}/g],
  ['stripe-key', /\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}/g],
  ['jwt', /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?/g],
];
const BEARER = /(\bBearer )([A-Za-z0-9._~+/-]{8,}=*)/g;

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
