// Puts the pinned CLIs of test/real/pinned.json into .cache/clis/<harness>-<version>/, from npm.
// The platform packages themselves: the wrapper packages would run install scripts, and pick a version by Node's.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

export async function fetchClis() {
  if (process.platform !== 'linux' || process.arch !== 'x64') throw new Error('The pinned CLIs are Linux x64 builds.');
  const pinned = JSON.parse(await readFile(join(root, 'test/real/pinned.json'), 'utf8'));
  for (const { harness, version, spec, bin } of pinned) {
    const folder = join(root, '.cache/clis', `${harness}-${version}`);
    if (existsSync(join(folder, bin))) continue;
    // Unpacked beside its place and moved there whole, so that an interrupted install is not taken for a finished one.
    const unpacking = `${folder}.${process.pid}`;
    await mkdir(unpacking, { recursive: true });
    console.error(`fetching ${spec}`);
    const options = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    const npm = spawnSync('npm', ['install', '--prefix', unpacking, ...options, spec], { stdio: ['ignore', 'inherit', 'inherit'] });
    if (npm.status !== 0 || !existsSync(join(unpacking, bin))) {
      await rm(unpacking, { recursive: true, force: true });
      throw new Error(`npm could not install ${spec}`);
    }
    await rm(folder, { recursive: true, force: true });
    await rename(unpacking, folder);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await fetchClis();
