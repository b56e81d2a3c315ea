// Bundles dist/. Everything but better-sqlite3 (native) is inlined, so that the installed command
// loads a handful of files; hook.cjs is CommonJS because an ESM entry costs 5 ms more in Node 20.
import { rename, rm, writeFile } from 'node:fs/promises';
import { build } from 'esbuild';

const root = new URL('..', import.meta.url).pathname;
const common = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  metafile: true,
  logLevel: 'warning',
  external: ['better-sqlite3'],
  legalComments: 'none',
  // jsonc-parser's CommonJS entry requires its parts by names that no bundler can follow.
  mainFields: ['module', 'main'],
};
// The SDK's server loads Ajv to check the answers of people whom it asked something. Ours asks nobody; every
// session's start would pay for it.
const withoutAjv = {
  name: 'without-ajv',
  setup: ({ onLoad }) =>
    onLoad({ filter: /validation\/ajv-provider\.js$/ }, () => ({ contents: 'export class AjvJsonSchemaValidator {}' })),
};
// Built beside dist/ and swapped in, so that a running command never meets half a build.
const out = `dist.${process.pid}.tmp`;
const hook = await build({
  ...common,
  entryPoints: { hook: 'src/hook/relay.ts' },
  outdir: out,
  format: 'cjs',
  outExtension: { '.js': '.cjs' },
  minify: true,
});
await build({
  ...common,
  entryPoints: { cli: 'src/cli/main.ts', daemon: 'src/daemon/main.ts', mcp: 'src/mcp/main.ts' },
  outdir: out,
  format: 'esm',
  splitting: true,
  plugins: [withoutAjv],
  outExtension: { '.js': '.mjs' },
  chunkNames: 'chunks/[name]-[hash]',
  // Bundled CommonJS packages call require(); ESM output has none of its own.
  banner: { js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);" },
});
await writeFile(`${root}${out}/hook.meta.json`, JSON.stringify(hook.metafile));
await rename(`${root}dist`, `${root}${out}.old`).catch(() => {});
await rename(`${root}${out}`, `${root}dist`);
await rm(`${root}${out}.old`, { recursive: true, force: true });
