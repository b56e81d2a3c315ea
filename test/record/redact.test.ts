import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DROPPED, redact, redactJson } from '../../src/record/redact.ts';
import { decoded, dotenvSecrets, piecesIn, toolResponse } from './secrets.ts';

// In two parts, so that no scanner takes this file for one that holds a key.
const HEADER = ['-----BEGIN RSA', 'PRIVATE KEY-----'].join(' ');

describe('a .env file', () => {
  test('loses its eleven secrets down to the last piece and keeps what is none', () => {
    const text = toolResponse('32-dotenv');
    const clean = redact(text);
    const secrets = dotenvSecrets();
    expect(secrets.size).toBe(11);
    expect([...secrets].flatMap(([name, secret]) => piecesIn(clean, secret).map(() => name))).toEqual([]);
    for (const kept of ['PORT=3000', 'NODE_ENV=development', 'GITHUB_TOKEN=', 'export OPENAI_API_KEY=']) expect(clean).toContain(kept);
    expect(clean.split('\n')).toHaveLength(text.split('\n').length);
  });

  test('keys in the text of an exception are masked, the rest of it stays', () => {
    const clean = redact(toolResponse('32-exception'));
    for (const secret of dotenvSecrets().values()) expect(piecesIn(clean, secret)).toEqual([]);
    expect(clean).toContain('urllib.error: HTTP 401 headers=');
  });
});

describe('a private key', () => {
  test.each(['real-newlines', 'crlf', 'escaped-twice', 'stripped', 'truncated', 'openssh-pgp'])(
    'loses every line of its body: %s',
    (shape) => {
      const text = toolResponse(`33-${shape}`);
      for (const clean of [redact(text), redact(JSON.stringify(text)), redact(JSON.stringify(JSON.stringify(text)))]) {
        const body = text.match(/[A-Za-z0-9+/]{12,}/g)!.filter((run) => !/^(?:PRIVATE|OPENSSH)/.test(run));
        expect(body.filter((run) => piecesIn(clean, run).length > 0)).toEqual([]);
        expect(clean).toContain('[redacted:private-key]');
      }
    },
  );

  test('that was cut off ends at the first line that is none of it', () => {
    expect(redact(toolResponse('33-truncated'))).toBe('[redacted:private-key]\nnormal text follows\n');
    expect(redact(toolResponse('33-real-newlines'))).toBe('key:\n[redacted:private-key]\nafter');
  });

  test('of which only the header stands there costs nothing else', () => {
    expect(redact(toolResponse('33-lone-header'))).toBe('docs: `[redacted:private-key]` is the header\nkeep me 1\nkeep me 2');
    expect(redact(`${HEADER}\nhello\nworld`)).toBe('[redacted:private-key]\nhello\nworld');
  });
});

test('URLs lose their passwords and signatures and keep user, host, path and other parameters', () => {
  const clean = redact(toolResponse('34-urls')).split('\n');
  const mask = (kind: string): string => `[redacted:${kind}]`;
  expect(clean).toEqual([
    `postgres://alice:${mask('url-password')}@db.example:5432/app?sslmode=require`,
    `postgres://${mask('url-password')}@db.example/app`,
    `postgresql://ro@db.example/app?password=${mask('named-secret')}&sslmode=require`,
    `IO Error: Unable to connect to "mysql://root:${mask('url-password')}@10.0.0.5/x": refused`,
    `redis://:${mask('url-password')}@cache:6379/0`,
    `https://user:${mask('url-password')}@git.example/r.git`,
    `https://bucket.s3.example/k?X-Amz-Signature=${mask('named-secret')}&X-Amz-Date=1`,
    `host=db user=ro password='${mask('named-secret')}' dbname=app`,
    `amqp://guest:${mask('url-password')}@mq/%2f`,
    `ws://hub.example/ws?token=${mask('named-secret')}`,
    'http://[::1]:8080/a:b@c',
  ]);
});

test.each([
  'https://registry.example/@scope/pkg/-/pkg-1.0.0.tgz',
  'http://localhost:3000/users/@me',
  'git@github.example:org/repo.git',
  'ssh://git@host.example/repo',
  'file:///home/dev/a@b',
])('a URL without a password stays as it is: %s', (url) => {
  expect(redact(`see ${url} there`)).toBe(`see ${url} there`);
});

test('references to secrets stay, literal defaults do not', () => {
  const text = toolResponse('38-placeholders');
  const clean = redact(text).split('\n');
  const lines = text.split('\n');
  const literal = lines.findIndex((line) => line.startsWith('TOKEN='));
  expect(clean.filter((_, at) => at !== literal)).toEqual(lines.filter((_, at) => at !== literal));
  expect(clean[literal]).toMatch(/^TOKEN=\$\{TOKEN:-\[redacted:[a-z-]+\]\}$/);
  expect(redact('PASSWORD=${PASSWORD:-plain words}')).toBe('PASSWORD=${PASSWORD:-[redacted:named-secret]}');
});

test.each([
  ['{"password": "hunter22"}', '{"password": "[redacted:named-secret]"}'],
  [String.raw`{\"api_key\":\"abcdefgh\"}`, String.raw`{\"api_key\":\"[redacted:named-secret]\"}`],
  ["secret: 'two words'", "secret: '[redacted:named-secret]'"],
  ['--token=abcdefgh --verbose', '--token=[redacted:named-secret] --verbose'],
  ['db.password = abc"def ghi', 'db.password = [redacted:named-secret]'],
  ['AWS_SECRET_ACCESS_KEY=abcdefgh', 'AWS_SECRET_ACCESS_KEY=[redacted:named-secret]'],
  ['curl -H "Authorization: Bearer abcdefgh12345678" x', 'curl -H "Authorization: [redacted:named-secret]" x'],
  ['Authorization: Basic dXNlcjpwYXNz', 'Authorization: [redacted:named-secret]'],
  [String.raw`A=1\nDB_PASSWORD=two words\nB=2`, String.raw`A=1\nDB_PASSWORD=[redacted:named-secret]\nB=2`],
  [String.raw`a\tpass=abcdefgh`, String.raw`a\tpass=[redacted:named-secret]`],
  [String.raw`C:\token=abcdefgh`, String.raw`C:\token=[redacted:named-secret]`],
  ['password: no-abcdefgh', 'password: [redacted:named-secret]'],
  ['sent Bearer abcdefgh12345678 there', 'sent Bearer [redacted:named-secret] there'],
  ['Cookie: session=abcdefgh; theme=dark', 'Cookie: [redacted:named-secret]'],
  ['deploy --token abcdefgh --verbose', 'deploy --token [redacted:named-secret] --verbose'],
])('%j becomes %j', (text, clean) => {
  expect(redact(text)).toBe(clean);
});

test.each([
  'max_tokens: 4096, input_tokens=1500',
  'the token is missing; author: Jane',
  'signature verification failed',
  'Bearer of bad news',
  'tests passed: 12, password: none',
  'password: ',
  'password: null, {"token":null} # none',
  String.raw`x\nhttp://localhost:3000/users/@me`,
  'const token = process.env.GITHUB_TOKEN;',
  "key = os.environ['API_KEY']",
  'Authorization: Bearer $TOKEN',
  'sk-learn and task-runner-configuration',
])('%j stays as it is', (text) => {
  expect(redact(text)).toBe(text);
});

const MILLION = 1_000_000;
const HOSTILE: Readonly<Record<string, (n: number) => string>> = {
  upper: (n) => 'A'.repeat(n),
  under: (n) => 'A_'.repeat(n / 2),
  dots: (n) => 'a.'.repeat(n / 2),
  quotes: (n) => `grep ${'"a" '.repeat(n / 5)}`,
  braces: (n) => `${'{'.repeat(n / 2)}"type":`,
  pem: (n) => `${HEADER}${String.raw`\n`.repeat(n / 2)}`,
  pems: (n) => HEADER.repeat(n / 31),
  slash: (n) => `://${'a:'.repeat(n / 2)}`,
  schemes: (n) => 'a://'.repeat(n / 4),
  eq: (n) => 'TOKEN='.repeat(n / 6),
  b64: (n) => 'ab+/'.repeat(n / 4),
  space: (n) => `password${' '.repeat(n)}`,
  jwts: (n) => 'eyJ-'.repeat(n / 4),
  backslashes: (n) => `token${'\\'.repeat(n)}`,
  colours: (n) => `[${';'.repeat(n)}msk-`,
  tokens: (n) => 'ghp_'.repeat(n / 4),
  sendgrid: (n) => `SG.${'a.'.repeat(n / 2)}`,
  hooks: (n) => 'hooks.slack.com/services/'.repeat(n / 25),
  escapes: (n) => String.raw`\npass`.repeat(n / 6),
  dashes: (n) => '-'.repeat(n),
  weak: (n) => 'token|'.repeat(n / 6),
  lists: (n) => 'password: ['.repeat(n / 11),
  blocks: (n) => 'password: |\n  '.repeat(n / 14),
  pairs: (n) => 'name=password value='.repeat(n / 20),
  curls: (n) => 'curl -u '.repeat(n / 8),
  elements: (n) => '<password>'.repeat(n / 10),
  counts: (n) => 'tokens=1/'.repeat(n / 9),
  paths: (n) => 'PWD=/a/'.repeat(n / 7),
  percent: (n) => 'a%3D'.repeat(n / 4),
  escapes3: (n) => String.raw`token\\\"`.repeat(n / 9),
  colons: (n) => 'a:12:b:'.repeat(n / 7),
  keyLines: (n) => `${HEADER}${'a1B2'.repeat(5)}\n`.repeat(n / 48),
};

describe.each(Object.keys(HOSTILE))('an endless run of %s', (kind) => {
  test('is dropped when it is too long to check, never passed on', () => {
    expect(redact(HOSTILE[kind]!(MILLION))).toBe(DROPPED);
  });

  test('is checked in a moment when it is just short enough', () => {
    const secret = dotenvSecrets().get('GITHUB_TOKEN')!;
    const text = `${HOSTILE[kind]!(250_000)} ${secret}`;
    for (let round = 0; round < 20; round++) expect(piecesIn(redact(text), secret)).toEqual([]);
  });
});

test('a secret that holds the beginning of another kind is masked whole', () => {
  const run = 'A1b2'.repeat(5);
  for (const secret of [`glrt${run}+${run}`, `${['glrt', run].join('-')}+${run}`]) {
    expect(redact(`"SecretAccessKey": "${secret}"`)).toBe('"SecretAccessKey": "[redacted:named-secret]"');
  }
});

test('every string of a value is cleaned, keys and nested JSON too', () => {
  const text = JSON.stringify(redactJson(decoded('40-record')));
  for (const secret of dotenvSecrets().values()) expect(piecesIn(text, secret)).toEqual([]);
  expect(JSON.parse(text)).toMatchObject({ session_id: 's', argv: ['deploy', '--token', '[redacted:openai-key]'] });
});

test('a value under a telling name is masked whatever it looks like', () => {
  expect(
    redactJson({ apiKey: 'plain words', nested: [{ password: 'x y z' }], tokens: 12, token_count: 3, password: '${PASSWORD}' }),
  ).toEqual({
    apiKey: '[redacted:named-secret]',
    nested: [{ password: '[redacted:named-secret]' }],
    tokens: 12,
    token_count: 3,
    password: '${PASSWORD}',
  });
});

test('a value that nests without end is cut off, and other values come back as they are', () => {
  let deep: unknown = 'x';
  for (let level = 0; level < 5_000; level++) deep = { deep };
  expect(JSON.stringify(redactJson(deep))).toContain(DROPPED);
  expect(redactJson([null, true, 1.5, 'plain'])).toEqual([null, true, 1.5, 'plain']);
});

test('a secret is found whatever plain text stands around it, and cleaning twice changes nothing', () => {
  const secrets = [...dotenvSecrets()]
    .filter(([name]) => name !== 'DB_PASSWORD' && name !== 'AWS_SECRET_ACCESS_KEY')
    .map(([, secret]) => secret);
  const around = fc.stringMatching(/^[ \n\t"'(){}[\],:;=<>|a-z]{0,30}[ \n"'(=:,]$/);
  fc.assert(
    fc.property(around, fc.constantFrom(...secrets), fc.constantFrom(' ', '\n', '"', "'", ')', ',', ''), (before, secret, after) => {
      const clean = redact(`${before}${secret}${after}`);
      expect(piecesIn(clean, secret)).toEqual([]);
      expect(redact(clean)).toBe(clean);
    }),
  );
});
