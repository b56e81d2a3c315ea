/**
 * The one place through which every string of a record, a log line or a diagnostic passes before it
 * leaves the process. Records are secret-free by their allow-list already; this is the second line.
 * Messages between agents are the live channel and never come here.
 *
 * Every pattern is linear: bounded repetitions, no nested quantifiers. Over the budget a text is
 * dropped, never passed on.
 */
const MOST_CHARS = 256 * 1024;
export const DROPPED = '[dropped: too long to check]';

interface Rule {
  kind: string;
  pattern: RegExp;
  /** Keeps what stands before the secret. */
  replace?: (match: string, ...groups: string[]) => string;
}

const mask = (kind: string): string => `[redacted:${kind}]`;

const RULES: readonly Rule[] = [
  {
    kind: 'private-key',
    pattern:
      /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[\sA-Za-z0-9+/=:,.\\-]{0,16000}?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|(?:\\+[rn]|\s|[A-Za-z0-9+/=]{16,80}(?![A-Za-z0-9+/=])){0,400})/g,
  },
  { kind: 'anthropic-key', pattern: /\bsk-ant-[A-Za-z0-9_-]{10,200}/g },
  { kind: 'openai-key', pattern: /\bsk-[A-Za-z0-9_-]{16,200}/g },
  { kind: 'github-token', pattern: /\b(?:gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255})/g },
  { kind: 'gitlab-token', pattern: /\bglpat-[A-Za-z0-9_-]{16,100}/g },
  { kind: 'slack-token', pattern: /\bxox[abeoprs]-[A-Za-z0-9-]{10,250}/g },
  { kind: 'aws-key-id', pattern: /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g },
  { kind: 'google-key', pattern: /\bAIza[A-Za-z0-9_-]{35}/g },
  { kind: 'npm-token', pattern: /\bnpm_[A-Za-z0-9]{36}/g },
  { kind: 'stripe-key', pattern: /\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,100}/g },
  { kind: 'jwt', pattern: /\beyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{0,1000}/g },
  {
    kind: 'url-password',
    pattern: /(\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:@/]{0,100}:)[^\s/]{1,300}@/gi,
    replace: (_match, before) => `${before}${mask('url-password')}@`,
  },
  {
    kind: 'named-secret',
    pattern:
      /((?:^|[^A-Za-z0-9])[A-Za-z0-9_-]{0,40}(?:api[_-]?key|secret|token|passw(?:or)?d|credential|authorization|signature|\bsig)["']{0,2}\s{0,4}[=:]\s{0,4}["']?)(?!\$|<|process\.env|os\.environ|\[redacted)((?:Bearer |Basic )?[^\s"'&,;]{4,500})/gi,
    replace: (_match, before) => `${before}${mask('named-secret')}`,
  },
  {
    kind: 'bearer',
    pattern: /(\bBearer )(?!\$|<|\[redacted)[A-Za-z0-9._~+/-]{8,2000}=*/g,
    replace: (_match, before) => `${before}${mask('bearer')}`,
  },
];

/** The text without anything that looks like a secret. */
export function redact(text: string): string {
  if (text.length < 8) return text;
  if (text.length > MOST_CHARS) return DROPPED;
  return RULES.reduce((out, rule) => out.replace(rule.pattern, rule.replace ?? (() => mask(rule.kind))), text);
}

/** Every string inside a JSON value, keys included; deeper than 20 levels is dropped. */
export function redactJson(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return redact(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > 20) return DROPPED;
  if (Array.isArray(value)) return value.map((item) => redactJson(item, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [redact(key), redactJson(item, depth + 1)]));
}
