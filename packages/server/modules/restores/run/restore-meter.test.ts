import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { asOwner } from '../../../testing/people.ts';
import { untilEnded } from '../../../testing/protected-project.ts';
import type { RestoresContext } from '../context.ts';
import { restoreStore } from '../restore-store.ts';
import { RestoreMeter, type RestoreWork } from './restore-meter.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench(hasty);
  await bench.firestore.doc('users/ada').set({ n: 1 });
});
afterAll(() => bench.close());

const sql = (text: string, values: unknown[] = []) =>
  asOwner(bench.app.databaseUrl, (client) => client.query(text, values));

test('how far the accounts are is not forgotten when the database was away for a moment', async () => {
  const body = { backupId: await bench.backUp() };
  const started = await bench.app.request('POST', '/api/v1/backups/restore', { ...bench.as, body });
  const { id } = started.body.data;
  await untilEnded(bench.app, `/api/v1/backups/restore/${id}`, bench.as);
  await sql(
    `update restores set status = 'running', completed_at = null, checkpoint = '{"stage":"users"}' where id = $1`,
    [id],
  );
  const { platform } = bench.app;
  const { organizationId } = bench.as;
  let isAway = false;
  const database = new Proxy(platform.database, {
    get: (target, name) => {
      if (name === 'tenant' && isAway) return () => Promise.reject(new Error('the database is away'));
      const value = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const row = await platform.database.tenant(organizationId, (transaction) =>
    restoreStore.get(transaction, organizationId, id),
  );
  const context = { platform: { ...platform, database, clock: platform.clock } } as RestoresContext;
  const meter = new RestoreMeter(context, { row, organization: { id: organizationId, name: '' } } as RestoreWork);
  const users = { settled: 2500, imported: 2497, refused: ['a', 'b', 'c'] };
  await meter.reach({ ...meter.row.checkpoint, users });
  isAway = true;
  await expect(meter.look(undefined)).rejects.toThrow('away');
  isAway = false;
  expect(await meter.look(undefined)).toBeUndefined();
  const { rows } = await sql('select checkpoint from restores where id = $1', [id]);
  expect(rows).toEqual([{ checkpoint: { stage: 'users', users } }]);
  await sql(`update restores set status = 'completed', completed_at = now() where id = $1`, [id]);
});
