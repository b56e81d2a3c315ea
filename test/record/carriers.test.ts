// The redactor against secrets that their surroundings tell, in the places where tools and people write them.
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { redact, redactJson } from '../../src/record/redact.ts';
import { piecesIn } from './secrets.ts';

// Of no known form. Made here, so that no scanner takes this file for one that holds secrets.
const SECRET = ['Zq7Rk2Lm', '9Xv4Wp8T'].join('');

const CARRIERS: Readonly<Record<string, readonly string[]>> = {
  'an environment': [
    'export DB_PASSWORD=%', "export DB_PASSWORD='% and words'", 'PGPASSWORD=% psql', 'env API_TOKEN=% x', '$env:API_TOKEN = "%"', 'setx API_TOKEN % /M', 'set -gx API_TOKEN %', 'setenv API_TOKEN "%"', 'API_KEY+=%', 'STRIPE_KEY=%', 'RAILS_MASTER_KEY=%', 'GITHUB_PAT=%', 'DB_PW=%', 'DBPASS=%', 'JWT=%', '# PASSWORD=%', '++ API_KEY=% x', 'declare -x API_KEY="%"', "export API_KEY=$'%'", 'PASSWORD=****%', 'PASSWORD=null-%', '[Environment]::SetEnvironmentVariable("API_TOKEN","%","User")', `${'A_'.repeat(60)}TOKEN=%`,
  ],
  'a command line': [
    'curl -u admin:% x', 'curl --user=admin:% x', 'curl -sS -u "admin:%" x', 'curl --proxy-user admin:% x', 'curl -b "session=%; a=b" x', "curl -H 'X-API-Key: %' x", 'curl --header="PRIVATE-TOKEN: %" x', 'sshpass -p % ssh x', 'mysql -uroot -p% db', 'redis-cli -a %', 'docker login -u me -p % reg', 'docker run -e DB_PASSWORD=% img', 'docker build --build-arg NPM_TOKEN=% .', 'kubectl create secret generic x --from-literal=foo=%', 'helm install --set auth.password=%,a=b', 'npm config set //registry.npmjs.org/:_authToken %', 'git config user.password %', 'openssl enc -pass pass:% -in x', 'gpg --passphrase % -c x', '7z a -p% x', 'echo "%" | docker login --password-stdin', 'New-Thing -Password % -Name x', 'ConvertTo-SecureString "%" -AsPlainText', 'gh secret set API_TOKEN --body %', 'x --password\t%', 'x --password \\\n  %', 'net use x /user:me %', 'login --password=%&%', 'login --password=%,%',
  ],
  'JSON': [
    '{"clientSecret":"%"}', '{"client-secret":"%"}', '{"APIKEY":"%"}', '{"masterKey":"%"}', '{"passwords":["%","b"]}', '{"password":{"value":"%"}}', '{"name":"DB_PASSWORD","value":"%"}', '["--password","%"]', '["authorization","%"]', String.raw`{"password":"%\"%"}`, String.raw`{"password":"%\\"}`,
  ],
  'YAML': [
    'password: |\n  %\n  %\nnext: 1', '  token: >-\n    %\n  b: 1', 'passwords:\n  - %\n  - x', 'password:\n  %', '- name: DB_PASSWORD\n  value: %', 'password: !!str %', 'password: &pw %', '{password: %, a: b}', 'users:\n- user:\n    client-key-data: %',
  ],
  'XML and HTML': [
    '<password>%</password>', '<wsse:Password Type="x">%</wsse:Password>', '<secret><![CDATA[%]]></secret>', '<add key="ApiKey" value="%" />', '<input name="password" value="%">', '<key>apiToken</key>\n<string>%</string>',
  ],
  'source code': [
    'const apiKey: string = "%"', 'let api_key: &str = "%";', 'password := "%"', "process.env['API_KEY'] = '%'", 'os.environ["API_KEY"] = "%"', "define('DB_PASSWORD', '%');", "password=b'%'", "[password] => %", 'if (password === "%")', 'password                    = "%"', 'api_key = """\n%"""', 'setPassword("%")', "CREATE USER a IDENTIFIED BY '%'", "ALTER USER a WITH PASSWORD '%'",
  ],
  'files of tools': [
    '//registry.npmjs.org/:_authToken=%', 'machine github.com\n  login me\n  password %\n', 'db.example.com:5432:app:alice:%', 'aws_session_token = %', '[pypi]\nusername = __token__\npassword = %', 'storePassword "%"', '+DB_PASSWORD=one %', '.env:3:API_KEY=%', '     3\tAPI_KEY=%', '    3→DB_PASSWORD=one %', 'AccountName=x;AccountKey=%==;EndpointSuffix=y', '| password | % |', '+postgres://u:%@h/db', '-redis://:%@h',
  ],
  'links': [
    'https://%@github.com/o/r.git', 'https://x/?access_token=%&y=1', 'https://maps/?key=%&y=1', 'https://x/#access_token=%', 'https://x/?to=https%3A%2F%2Fy%2F%3Ftoken%3D%%26a%3D1', 'https%3A%2F%2Fu%3A%%40h%2F', 'postgres://u:p@x#%@h/db', 'https://discord.com/api/webhooks/123456789012345678/%', 'https://hooks.zapier.com/hooks/catch/123456/%/',
  ],
  'sentences': ['the password is %', 'Your password: %', 'Error: invalid token "%"', 'using token % now', 'BEARER %', 'password -> %', '\u001B[32mpassword\u001B[0m: \u001B[33m%\u001B[0m'],
}; // prettier-ignore

const PLACES: Readonly<Record<string, (text: string) => string>> = {
  alone: (text) => text,
  'between lines': (text) => `first\r\n${text}\r\nlast`,
  'in a list': (text) => JSON.stringify({ stdout: `first\n${text}\nlast` }),
  'in JSON in JSON': (text) => JSON.stringify(JSON.stringify([`first\n${text}`])),
};

describe.each(Object.keys(CARRIERS))('in %s', (kind) => {
  test.each(CARRIERS[kind]!)('%j gives nothing away, and stays as it is when it is cleaned again', (form) => {
    const text = form.replaceAll(/%(?![0-9A-F]{2})/g, SECRET);
    // A password of one line in a file of fields is known by its line alone.
    const places = form.startsWith('db.example.com:') || form.includes('"""') ? ['alone'] : Object.keys(PLACES);
    for (const place of places) {
      const clean = redact(PLACES[place]!(text));
      expect([place, clean, piecesIn(clean, SECRET)]).toEqual([place, clean, []]);
      expect(redact(clean)).toBe(clean);
    }
  });
});

test('in base64 a secret is found by what is encoded', () => {
  const encoded = Buffer.from(JSON.stringify({ password: SECRET })).toString('base64');
  expect(redact(`blob ${encoded} end`)).toBe('blob [redacted:encoded] end');
  const plain = Buffer.from('nothing to hide in this text').toString('base64');
  expect(redact(`blob ${plain} end`)).toBe(`blob ${plain} end`);
});

test('everything under a telling name is masked, but for what says where it is', () => {
  const value = { passwords: ['two words', { value: 'x y z' }], tokens: [1, 2], token: null, secret: '${SECRET}' };
  const mask = '[redacted:named-secret]';
  expect(redactJson(value)).toEqual({ ...value, passwords: [mask, { value: mask }] });
});

const LINES: Readonly<Record<string, (line: string, at: number) => string>> = {
  'quoted in a mail': (line) => `> ${line}`,
  'with numbers': (line, at) => `${String(at + 1).padStart(6)}\t${line}`,
  'as the CLI’s own tool shows a file': (line, at) => `${String(at + 1).padStart(5)}→${line}`,
  'in a diff': (line) => `-${line}`,
  'found by grep': (line, at) => `keys/id:${at + 1}:${line}`,
  'in a comment': (line) => ` * ${line}`,
  'joined in code': (line) => `  '${line}\\n' +`,
  'in a list': (line) => `  "${line}",`,
  'continued by backslashes': (line) => `${line}\\`,
  'in markup': (line) => `${line}<br>`,
  'in colour': (line) => `\u001B[32m${line}\u001B[0m`,
  'cut into short ones': (line) => line.replaceAll(/([A-Za-z0-9+/]{20})/g, '$1\n'),
};

describe('a private key', () => {
  const pem = ({ privateKey }: { privateKey: KeyObject }): string => privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const keys = [
    pem(generateKeyPairSync('ed25519')),
    pem(generateKeyPairSync('ec', { namedCurve: 'P-256' })),
    pem(generateKeyPairSync('rsa', { modulusLength: 2048 })),
  ];
  test.each(Object.keys(LINES))('loses every line: %s', (shape) => {
    for (const key of keys) {
      const lines = key.trimEnd().split('\n');
      const text = lines.map(LINES[shape]!).join('\n');
      for (const whole of [`before\n${text}\nafter it`, JSON.stringify(`before\n${text}\nafter it`)]) {
        const clean = redact(whole);
        expect(lines.slice(1, -1).flatMap((line) => piecesIn(clean, line))).toEqual([]);
        expect(clean).toContain('before');
        expect(clean).toContain('after it');
      }
    }
  });

  test.each(['base64', 'base64url'] as const)('in %s, whole or in lines, is one mask', (encoding) => {
    const encoded = Buffer.from(keys[2]!).toString(encoding);
    expect(redact(`a: ${encoded}\nb: 1`)).toBe('a: [redacted:private-key]\nb: 1');
    expect(redact(`${encoded.replaceAll(/(.{76})/g, '$1\n')}\n\nthe end`)).toMatch(/^\[redacted:private-key\]\s+the end$/);
  });
});

test.each([
  '* fix-token-refresh 5f3c2a1b9 Merge the token refresh',
  'session: 3f2504e0-4f89-11d3-9a0c-0305e82c3301',
  `SyntaxError: Unexpected token '<', "<!DOCTYPE "... is not valid JSON`,
  'SyntaxError: Unexpected token } in JSON at position 1234',
  '    at Object.password (/home/dev/shop/src/password.ts:120:15)',
  '/home/dev/shop/src/auth/token-store.ts',
  'PWD=/home/dev/shop',
  'password_file: /run/secrets/db_password',
  "fetch(url, { credentials: 'same-origin' })",
  'function login(user: string, password: string): Promise<Token> {',
  'if (token === undefined) return null;',
  'cache_key: user-1234-abcd, primary_key: user_id1',
  'the password must have at least 8 characters',
  'Bearer authentication is required',
  'secretary: Jane Doe 1234',
  'docker run -p 8080:80 -u 1000:1000 nginx',
  'curl -u "$USER:$PASS" x',
  'https://example.com/?key=name&sort=key',
  'https://user@host.example/ and ssh://git@github.com/x',
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ',
  'key-frames-animation-2x-export and secret_manager_client_v2_config_option',
  '<token> and <T extends Token>(x: Token)',
  '00:11:22:33:44:55 2001:0db8:85a3:0000:0000:8a2e:0370:7334',
  'ALTER TABLE users ADD COLUMN password_hash VARCHAR(255)',
  'token expired at 2026-12-01, cookie max-age=31536000',
  'a%20b%2Fc%3Fd and 100%25 sure',
  'secrets:\n  - db_password\n  - api_key',
  '-----BEGIN PUBLIC KEY-----',
])('%j stays as it is', (text) => {
  expect(redact(text)).toBe(text);
});
