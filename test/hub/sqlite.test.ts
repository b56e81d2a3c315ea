import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openSqliteHubStore } from '../../src/hub/sqlite.ts';
import { hubStoreConformance } from '../conformance/hub-store.ts';

hubStoreConformance('SQLite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ab-hub-'));
  const file = join(folder, 'hub.db');
  let store = openSqliteHubStore(file);
  onTestFinished(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    store,
    async reopen() {
      await store.close();
      store = openSqliteHubStore(file);
      return store;
    },
  };
});
