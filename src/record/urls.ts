import { isReference } from './references.ts';
import { isOpaque } from './values.ts';

// An escaped line break or a colour before the scheme looks like a part of it; the sign of a diff's line is none.
const URL_TEXT = /(?<![A-Za-z0-9])(?<![A-Za-z0-9][+.-])([A-Za-z0-9][A-Za-z0-9+.-]{0,30}:\/\/)([^\s"'<>`\\]+)/g;
const HOSTS = /^(?:\[[0-9A-Fa-f:.]{1,50}\]|[^:@[\],]{0,255})(?::\d{0,5})?(?:,[^:@[\],]{0,255}(?::\d{0,5})?){0,20}$/;

function maskOne(scheme: string, rest: string, mask: string): string {
  // A raw # can only stand in a password here: before the host ends nothing else may follow.
  if (rest.startsWith('[redacted:')) return scheme + rest;
  const cut = rest.search(/[/?]/);
  const authority = cut < 0 ? rest : rest.slice(0, cut);
  const at = authority.lastIndexOf('@');
  const last = rest.lastIndexOf('@');
  if (last < 0) return scheme + rest;
  const parsable = HOSTS.test(authority.slice(at + 1));
  // On the web an @ in a path is common; in a database's URL behind a colon it ends a password with a slash in it.
  const isWeb = /(?:https?|wss?):/i.test(scheme);
  if (!parsable || (at < 0 && !isWeb && authority.includes(':'))) return `${scheme}${mask}${rest.slice(last)}`;
  const colon = authority.slice(0, Math.max(0, at)).indexOf(':');
  // GitHub's old way to hand over a token: as the user's name.
  if (colon > 0 && authority.slice(colon + 1, at) === 'x-oauth-basic') return `${scheme}${mask}${rest.slice(colon)}`;
  const password = colon < 0 ? '' : authority.slice(colon + 1, at);
  // A token alone, as git and Sentry take one.
  if (colon < 0 && isOpaque(authority.slice(0, Math.max(0, at))) && at >= 16) return `${scheme}${mask}${rest.slice(at)}`;
  if (password === '' || isReference(password)) return scheme + rest;
  return `${scheme}${authority.slice(0, colon + 1)}${mask}${rest.slice(at)}`;
}

/** The passwords in URLs; of one that can't be taken apart everything up to its last @. */
export function maskUrlPasswords(text: string, mask: string): string {
  return text.replace(URL_TEXT, (_match, scheme: string, rest: string) => maskOne(scheme, rest, mask));
}

const KEY = /(?<=[?&#](?:key|code|k)=)[A-Za-z0-9_%.~-]{12,}/g;

/** What a link hands over under a short name. */
export function maskUrlKeys(text: string, mask: string): string {
  return text.replace(KEY, (value) => (isOpaque(value) ? mask : value));
}
