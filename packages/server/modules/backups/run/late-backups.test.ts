import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from '../../../testing/backup-bench.ts';
import { asOwner } from '../../../testing/people.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench();
  await bench.startOver();
});
afterAll(() => bench.close());

const sql = (text: string, values: unknown[] = []) =>
  asOwner(bench.app.databaseUrl, (client) => client.query(text, values));

test('a backup whose time is up and that cannot be ended keeps no other from ending and none from beginning', async () => {
  const [stuck, late] = [await bench.backUp(), await bench.backUp()];
  await sql(`create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$`);
  await sql(
    `create trigger refused before update on backups for each row
       when (old.id = '${stuck}' and new.status = 'failed') execute function refuse()`,
  );
  await sql(
    `update backups set status = 'running', completed_at = null, deadline_at = now() - interval '1 hour', admitted_at = now()
      where id = any($1)`,
    [[stuck, late]],
  );
  await bench.app.tasks.runNow('requeue lost backups');
  expect(await bench.get(`/backups/${late}`)).toMatchObject({ status: 'failed', error: { code: 'BACKUP_TIMEOUT' } });
  expect((await bench.get(`/backups/${stuck}`)).status).not.toBe('failed');
  await sql('drop trigger refused on backups');
});
