// Runs the tests against the real CLIs: fetches them, then runs vitest inside namespaces of its own.
// Network: loopback only, so nothing a CLI does leaves the machine. PIDs: whatever a test leaves behind ends with the run.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { fetchClis } from './fetch-clis.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));

await fetchClis();
const asRoot = process.getuid?.() === 0;
const namespaces = ['--net', '--pid', '--fork', '--mount-proc', '--kill-child', ...(asRoot ? [] : ['--user', '--map-root-user'])];
// The shell stays as the namespace's first process: it reaps orphans, which Node would leave as zombies that look alive.
const inside = 'ip link set lo up || exit 1; "$0" "$@"; exit $?';
const command = [process.execPath, vitest, 'run', '--config', 'vitest.real.config.ts', ...process.argv.slice(2)];
const child = spawn('unshare', [...namespaces, 'sh', '-c', inside, ...command], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, AGENTBUS_REAL: '1', AGENTBUS_NO_AUTO_JOIN: '1' },
});
child.on('error', (error) => {
  console.error(`unshare (util-linux) is needed: ${error.message}`);
  process.exitCode = 1;
});
child.on('exit', (code) => {
  process.exitCode = code ?? 1;
});
