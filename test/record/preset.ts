import fc, { type Arbitrary } from 'fast-check';

/** A text that secretlint's recommended preset objects to, and what in it has to go. */
export interface Sample {
  text: string;
  secrets: string[];
  /** Some rules look only into files of one name. */
  file: string;
}

const UPPER = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const DIGITS = '0123456789';
const ALNUM = UPPER + UPPER.toLowerCase() + DIGITS;
const HEX = `${DIGITS}abcdef`;

function run(alphabet: string, shortest: number, longest = shortest): Arbitrary<string> {
  return fc.string({ unit: fc.constantFrom(...alphabet.split('')), minLength: shortest, maxLength: longest });
}

/** Parts joined here, so that no scanner takes this file for one that holds secrets. */
function joined(separator: string, ...parts: (string | Arbitrary<string>)[]): Arbitrary<string> {
  return fc.tuple(...parts.map((part) => (typeof part === 'string' ? fc.constant(part) : part))).map((all) => all.join(separator));
}

function bare(secret: Arbitrary<string>): Arbitrary<Sample> {
  return secret.map((text) => ({ text, secrets: [text], file: 'notes.txt' }));
}

function within(secret: Arbitrary<string>, text: (secret: string) => string, file = 'notes.txt'): Arbitrary<Sample> {
  return secret.map((value) => ({ text: text(value), secrets: [value], file }));
}

const BODY_LINE = run(`${ALNUM}+/`, 64);

function pem(kind: string): Arbitrary<Sample> {
  return fc.array(BODY_LINE, { minLength: 2, maxLength: 6 }).map((lines) => ({
    text: [`-----BEGIN ${kind}-----`, ...lines, `-----END ${kind}-----`].join('\n'),
    secrets: lines,
    file: 'id',
  }));
}

const serviceAccount = pem(['PRIVATE', 'KEY'].join(' ')).map(({ text, secrets }): Sample => ({
  text: JSON.stringify({ type: 'service_account', private_key_id: 'b'.repeat(40), private_key: `${text}\n`, client_email: 'x@y.example' }),
  secrets,
  file: 'account.json',
}));

// Of such a length that it ends with fQ==, by which the rule knows it.
const serviceToken = fc
  .record({ email: run(ALNUM, 12), secretKey: run(ALNUM, 34), userAuth: fc.record({ salt: run(ALNUM, 22) }) })
  .map((token) => `ops_${Buffer.from(JSON.stringify(token)).toString('base64')}`);

const hardened = run(`${ALNUM}_-`, 58).chain((left) => run(ALNUM, 58).map((right) => `${left}${['T3Blbk', 'FJ'].join('')}${right}`));

/** Every kind of secret that a rule of the preset looks for, by that rule. An AWS account's number is no secret. */
export const SAMPLES: readonly (readonly [rule: string, kind: string, sample: Arbitrary<Sample>])[] = [
  ...['A3TX', 'AKIA', 'AGPA', 'AIDA', 'AROA', 'AIPA', 'ANPA', 'ANVA', 'ASIA'].map(
    (prefix) => ['aws', prefix, bare(joined('', prefix, run(UPPER + DIGITS, 16)))] as const,
  ),
  ...['AWS_SECRET_ACCESS_KEY=%', 'aws_secret_access_key = "%"', '"SecretAccessKey": "%"', "secretAccessKey => '%'"].map(
    (form) => ['aws', form, within(joined('', run(`${ALNUM}/+`, 39), run(ALNUM, 1)), (key) => form.replace('%', () => key))] as const,
  ),
  ['gcp', 'service account', serviceAccount],
  ...['RSA ', 'DSA ', 'EC ', 'OPENSSH ', 'ENCRYPTED ', ''].map(
    (kind) => ['privatekey', kind || 'PKCS 8', pem(`${kind}${['PRIVATE', 'KEY'].join(' ')}`)] as const,
  ),
  ['privatekey', 'PGP', pem(['PGP', 'PRIVATE', 'KEY', 'BLOCK'].join(' '))],
  ['npm', 'token', bare(joined('_', 'npm', run(ALNUM, 36)))],
  ['npm', 'token with an underscore', bare(joined('_', 'npm', run(ALNUM, 17), run(ALNUM, 18)))],
  ['npm', '.npmrc', within(fc.uuid(), (token) => `//registry.npmjs.org/:_authToken=${token}`, '.npmrc')],
  [
    'npm',
    'x-oauth-basic',
    within(run(HEX, 40), (token) => `{"dependencies":{"a":"git+https://${token}:x-oauth-basic@github.com/o/a"}}`, 'package.json'),
  ],
  [
    'npm',
    'x-oauth-basic of any form',
    within(run(ALNUM, 20, 60), (token) => `https://${token}:x-oauth-basic@github.com/o/a`, 'package.json'),
  ],
  ...['xoxb', 'xoxp', 'xoxa-2', 'xoxo', 'xoxr'].map(
    (prefix) => ['slack', prefix, bare(joined('-', prefix, run(DIGITS, 12), run(DIGITS, 12), run(ALNUM, 24)))] as const,
  ),
  ['slack', 'xapp', bare(joined('-', 'xapp', '1', run(UPPER + DIGITS, 11), run(DIGITS, 13), run(HEX, 40)))],
  [
    'slack',
    'webhook',
    within(
      joined('/', joined('', 'T', run(UPPER, 10)), joined('', 'B', run(UPPER, 10)), run(ALNUM, 24)),
      (path) => `https://hooks.slack.com/services/${path}`,
    ),
  ],
  ['basicauth', 'URL', within(run(`${ALNUM}-_`, 8, 40), (password) => `https://dev:${password}@db.example.com/x`)],
  ['basicauth', 'database URL', within(run(`${ALNUM}-_`, 8, 40), (password) => `postgresql://app:${password}@db.example.com:5432/x`)],
  ['basicauth', 'a word first', within(joined('-', 'no', run(ALNUM, 12)), (password) => `redis://dev:${password}@db.example.com/0`)],
  ['openai', 'classic', bare(joined('', 'sk-', run(ALNUM, 20), 'T3Blbk', 'FJ', run(ALNUM, 20)))],
  ...['proj', 'svcacct', 'admin'].map((kind) => ['openai', kind, bare(joined('-', 'sk', kind, hardened))] as const),
  ['linear', 'key', bare(joined('_', 'lin', 'api', run(ALNUM, 40)))],
  ['sendgrid', 'key', bare(joined('.', 'SG', run(ALNUM, 22), joined('-', run(ALNUM, 21), run(`${ALNUM}_`, 21))))],
  ...['shpat', 'shpca', 'shppa', 'shpss'].map((prefix) => ['shopify', prefix, bare(joined('_', prefix, run(ALNUM, 32, 64)))] as const),
  ...['ghp', 'gho', 'ghu', 'ghs', 'ghr'].map((prefix) => ['github', prefix, bare(joined('_', prefix, run(ALNUM, 36)))] as const),
  ['github', 'with an underscore', bare(joined('_', 'ghs', run(ALNUM, 10), run(ALNUM, 25)))],
  ['github', 'fine-grained', bare(joined('_', 'github', 'pat', run(ALNUM, 22), run(ALNUM, 59)))],
  ['1password', 'service account', bare(serviceToken)],
];

/** Kinds that the preset does not know, in the forms that their makers describe. */
export const FURTHER: readonly (readonly [kind: string, sample: Arbitrary<Sample>])[] = [
  ['Anthropic', bare(joined('-', 'sk', 'ant', 'api03', run(`${ALNUM}_-`, 93), joined('', run(ALNUM, 6), 'AA')))],
  ['Anthropic, OAuth', bare(joined('-', 'sk', 'ant', 'oat01', run(ALNUM, 86)))],
  ['GitLab', bare(joined('-', 'glpat', run(`${ALNUM}_`, 20)))],
  ['Google', bare(joined('', 'AI', 'za', run(`${ALNUM}_-`, 34), run(ALNUM, 1)))],
  ['Stripe', bare(joined('_', 'sk', 'live', run(ALNUM, 24, 99)))],
  ['Slack, refresh', bare(joined('-', 'xoxe', '1', run(ALNUM, 140)))],
  [
    'Slack, workflow',
    within(joined('/', run(UPPER, 11), run(UPPER, 11), run(ALNUM, 24)), (path) => `https://hooks.slack.com/workflows/${path}`),
  ],
  ['JWT', bare(joined('.', joined('', 'eyJ', run(ALNUM, 30)), run(ALNUM, 40, 90), run(`${ALNUM}_-`, 43)))],
  ...['mongodb+srv://app:%@c.example.net/x', 'mysql://root:%@10.0.0.5:3306/x', 'Server=db;User Id=sa;Password=%;Encrypt=true'].map(
    (form) => [form.split(':')[0]!, within(run(`${ALNUM}!+`, 12, 30), (password) => form.replace('%', () => password))] as const,
  ),
];
