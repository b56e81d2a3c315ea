// Every test file runs in a home of its own: nothing it does may meet the settings, sessions or keys
// of whoever runs it, and nothing of theirs may change what it sees.
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { homedir, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

// Short, since the names of sockets under it are bounded; without symlinks, since tests compare paths.
const home = realpathSync(mkdtempSync(join(tmpdir(), 'ab-')));

for (const name of Object.keys(process.env)) {
  if (/^(?:AGENTBUS|CLAUDE|CODEX|XDG)_/.test(name) || name === 'CLAUDECODE') delete process.env[name];
}
Object.assign(process.env, {
  HOME: home,
  AGENTBUS_HOME: join(home, '.agentbus'),
  CODEX_HOME: join(home, '.codex'),
  CLAUDE_CONFIG_DIR: join(home, '.claude'),
  AGENTBUS_NO_AUTO_JOIN: '1',
});
for (const name of ['CODEX_HOME', 'CLAUDE_CONFIG_DIR']) mkdirSync(process.env[name]!);

const real = userInfo().homedir;
if (homedir() === real || process.env['HOME'] === real) throw new Error(`tests would run in the real home ${real}`);

afterAll(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));
