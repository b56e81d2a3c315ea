import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { build } from 'esbuild';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const SOURCE = new URL('../../src/daemon/watchdog.ts', import.meta.url).pathname;

async function run(body: string): Promise<{ code: number | null; signal: string | null; out: string }> {
  const entry = join(process.env['HOME'] ?? tmpdir(), 'watched.ts');
  writeFileSync(entry, `import { startWatchdog } from ${JSON.stringify(SOURCE)};\nconst watchdog = startWatchdog();\n${body}`);
  const outfile = `${entry}.mjs`;
  await build({ entryPoints: [entry], outfile, bundle: true, platform: 'node', format: 'esm' });
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [outfile], { stdio: ['ignore', 'pipe', 'ignore'] });
    let out = '';
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString('utf8')));
    child.on('exit', (code, signal) => resolve({ code, signal, out }));
  });
}

it('ends a process whose work never comes to an end', async () => {
  const ran = await run('watchdog.guard(() => { for (;;); });');
  expect(ran.signal).toBe('SIGKILL');
});

it('leaves alone a busy one, and one that does nothing', async () => {
  const ran = await run(`
    let n = 0;
    const timer = setInterval(() => {
      watchdog.guard(() => { const until = Date.now() + 90; while (Date.now() < until); });
      if (++n === 60) { clearInterval(timer); setTimeout(() => console.log('done'), 8000); }
    }, 100);
  `);
  expect(ran).toMatchObject({ code: 0, out: 'done\n' });
});
