import { defineConfig } from 'vitest/config';

// The suite runs inside namespaces that scripts/real-tests.mjs makes; without them a CLI could reach the network.
if (process.env['AGENTBUS_REAL'] !== '1') throw new Error('Run this suite by `npm run test:real`.');

export default defineConfig({
  test: {
    include: ['test/real/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 60_000,
    // Each worker drives several heavy programs; two at once is what two cores carry.
    maxWorkers: 2,
    pool: 'forks',
    reporters: ['default', './test/summary-reporter.ts'],
  },
});
