import { isTelling } from './names.ts';
import { isReference } from './references.ts';
import { START } from './shapes.ts';

/** Secrets that only the program or the markup around them tells. Each pattern: what stands before, then the value. */
const VALUE = String.raw`(\\{0,15}["'])?((?<=["'])[^"'\n\\]{1,500}|[^\s"'|;&\\]{1,500})`;
const command = (program: string, flag: string): RegExp =>
  new RegExp(String.raw`(${START}(?<!-)${program}\b[^\n|;&]{0,200}?[ \t]${flag})${VALUE}`, 'g');

const COMMANDS: readonly RegExp[] = [
  command('curl', String.raw`(?:-[uU]|--user|--proxy-user)(?:=|[ \t]{0,4})\\{0,15}["']?[^\s:"'\\]{0,100}:`),
  command('curl', String.raw`(?:-b|--cookie)(?:=|[ \t]{0,4})(?=\\{0,15}["']?[^\s"'=]{1,100}=)`),
  command('(?:sshpass|docker login|podman login|7za?)', '-p ?'),
  command(String.raw`(?:mysql\w{0,10}|mariadb\w{0,10})`, '-p(?! )'),
  command('redis-cli', '-a ?'),
  command('zip', '-P ?'),
  command('openssl', '-[kK] '),
  command('secret set', String.raw`(?:-b|--body)(?:=|[ \t]{0,4})`),
  command('net use', String.raw`/user:\S{1,100} `),
  new RegExp(String.raw`(--from-literal(?:=|[ \t]{1,4})["']?[\w.-]{1,100}=)${VALUE}`, 'g'),
  new RegExp(String.raw`((?:IDENTIFIED BY|ConvertTo-SecureString) )${VALUE}`, 'g'),
  new RegExp(String.raw`((?:echo|printf) (?:-n )?)${VALUE}(?=\\{0,15}["']? {0,4}\|[^\n|]{0,100}-stdin\b)`, 'g'),
];
const ELEMENT =
  /(<key>([\w.-]{2,100})<\\?\/key>(?:\s|\\{1,8}[nr]){0,20}<string>|<(?:[\w-]{1,60}:)?([\w.-]{2,100})(?: [^<>\n]{0,200})?>(?:<!\[CDATA\[)?)([^<\]]{4,4096})(?=<\\?\/|\]\]>)/g;

/** Passwords given to programs by short flags or by position, and the contents of XML elements with telling names. */
export function maskCarried(text: string, mask: string): string {
  let out = text.replace(ELEMENT, (all: string, before: string, key: string | undefined, name: string | undefined, value: string) =>
    isTelling(name ?? key ?? '') && !isReference(value.trim()) ? before + mask : all,
  );
  for (const pattern of COMMANDS) {
    out = out.replace(pattern, (all: string, before: string, quote: string | undefined, value: string) =>
      isReference(value) ? all : `${before}${quote ?? ''}${mask}`,
    );
  }
  return out;
}
