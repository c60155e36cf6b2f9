// @module-tag long
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from '../../../testing/backup-bench.ts';

/** A backup is put under legal hold at the moment when its organization is deleted. */
let bench: BackupBench;
let owner: pg.Client;
beforeAll(async () => {
  bench = await startBackupBench();
  owner = new pg.Client(bench.app.databaseUrl);
  await owner.connect();
  await bench.firestore.doc('users/ada').set({ n: 1 });
});
afterAll(async () => {
  await owner.end();
  await bench.close();
});

test('a hold that races with a deletion waits for it and is refused then', async () => {
  const backupId = await bench.backUp();
  const { organizationId } = bench.as;
  // Does what the deletion does: under the lock of the organization it looks for holds and finds none.
  await owner.query('begin');
  await owner.query('select 1 from organizations where id = $1 for no key update', [organizationId]);
  const asked = bench.app.request('POST', `/api/v1/backups/${backupId}/hold`, bench.as);
  const first = await Promise.race([asked, new Promise((resolve) => setTimeout(resolve, 1000, 'waits'))]);
  await owner.query(
    `update organizations set deleted_at = now(), recovery_deadline = now() + interval '1 day' where id = $1`,
    [organizationId],
  );
  await owner.query('commit');
  const answer = await asked;
  expect([answer.status, answer.body.error?.code]).toEqual([404, 'ORGANIZATION_NOT_FOUND']);
  expect(first).toBe('waits');
  const { rows } = await owner.query('select legal_hold from backups where id = $1', [backupId]);
  expect(rows).toEqual([{ legal_hold: false }]);
});
