// @module-tag long
import { join } from 'node:path';
import pg from 'pg';
import { expect, test } from 'vitest';
import { hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { runRetention } from '../../../testing/retention/run-retention.ts';

test('over random histories what has to stay stays and shows its snapshot, what is due goes, and no object is left behind', {
  timeout: 120_000,
}, async () => {
  const bench = await startBackupBench({ ...hasty, ANOMALY_SHRINK_PERCENT: '100' });
  const database = new pg.Pool({ connectionString: bench.app.databaseUrl, max: 2 });
  const service = {
    firestore: bench.sandbox,
    database,
    storageFolder: join(bench.app.folder, 'storage', bench.as.organizationId),
    call: (method: string, path: string, body?: object) =>
      bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body ? { body } : {}) }),
    hasten: () => bench.app.tasks.runNow('retention'),
  };
  const result = await runRetention(service, { histories: 1, seed: 7, steps: { least: 8, most: 8 } });
  await database.end();
  await bench.close();
  expect(result.faults).toEqual([]);
  expect(result.removed).toBeGreaterThan(0);
});
