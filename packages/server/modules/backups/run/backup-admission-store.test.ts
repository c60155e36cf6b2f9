// @module-tag long
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from '../../../testing/backup-bench.ts';
import { asOwner } from '../../../testing/people.ts';
import { protectProject } from '../../../testing/protected-project.ts';
import { deletedBackups } from './backup-admission-store.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench();
  await bench.startOver();
});
afterAll(() => bench.close());

test('failed removals are tried again, however many of another organization have failed for longer', async () => {
  const id = await bench.backUp();
  const other = await protectProject(bench.app, { firestore: bench.sandbox });
  const copy = (values: string, count: number) =>
    asOwner(bench.app.databaseUrl, (client) =>
      client.query(
        `insert into backups select (jsonb_populate_record(b, ${values})).* from backups b, generate_series(1, $2) n where b.id = $1`,
        [id, count],
      ),
    );
  await copy(`jsonb_build_object('id', 'bkp_' || n, 'deleted_at', '2026-01-01')`, 1100);
  const { organizationId, projectId } = other;
  const single = { id: 'bkp_single', organization_id: organizationId, project_id: projectId, deleted_at: '2026-02-01' };
  await copy(`'${JSON.stringify(single)}'`, 1);
  const looked = await bench.app.platform.database.system((transaction) =>
    deletedBackups(transaction, new Date('2026-03-01')),
  );
  expect(looked).toHaveLength(1000);
  expect(looked).toContainEqual({ id: single.id, organizationId });
});
