#!/usr/bin/env node
if (process.argv[2] === 'hook') await import('../dist/hook.cjs');
else await import('../dist/cli.mjs');
