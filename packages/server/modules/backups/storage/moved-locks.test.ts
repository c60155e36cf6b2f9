// @module-tag long
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { startLockingBucket } from '../../../testing/locking-bucket.ts';
import { asOwner } from '../../../testing/people.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

/** Migrations out of a bucket that locks what is put into it, and into it. */
let bench: BackupBench;
let bucket: Awaited<ReturnType<typeof startLockingBucket>>;
let locking: string;
beforeAll(async () => {
  bucket = await startLockingBucket();
  bench = await startBackupBench({ ...hasty, ...bucket.environment });
  await bench.startOver();
  locking = (await call('POST', '/storage-destinations', bucket.place(30))).body.data.id;
});
afterAll(async () => {
  await bench.close();
  await bucket.close();
});

const call = (method: string, path: string, body?: object) =>
  bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body ? { body } : {}) });

async function runTask(id: string, kind: string, body?: object) {
  const started = await call('POST', `/storage-destinations/${id}/${kind}`, body);
  expect(started.status, started.text).toBe(202);
  return untilEnded(bench.app, started.headers.get('location') as string, bench.as);
}

const migrate = (from: string, to: string) => runTask(from, 'migrate', { toStorageDestinationId: to });

const folderOf = (id: string) => `backups/${id}/`;
const objectsOf = (id: string) => bucket.objectsIn(folderOf(id)).map(([, object]) => object);

test('a backup moved to a place without locks can be deleted, and what its former place kept under a lock is removed too', async () => {
  const { destinationId } = bench.shop;
  const id = await bench.backUp({ storageDestinationId: locking });
  expect((await call('DELETE', `/backups/${id}`)).body.error).toMatchObject({ code: 'INVALID_STATE' });
  const { result } = await migrate(locking, destinationId);
  expect(result).toMatchObject({ copied: 1, removed: 0, failures: [{ key: `backups/${id}/` }] });
  const deleted = await call('DELETE', `/backups/${id}`);
  expect(deleted.status, deleted.text).toBe(200);
  await expect.poll(() => bench.app.logged()).toContain('kept by a place that it was moved from');
  expect(objectsOf(id).length).toBeGreaterThan(1);
  expect((await runTask(locking, 'rescan')).result).toMatchObject({ registered: 0, relinked: 0, failures: [] });

  bucket.lock(folderOf(id), new Date(0));
  await bench.inDays(1, () => bench.app.tasks.runNow('remove leftovers'));
  await expect.poll(() => objectsOf(id)).toEqual([]);
  expect((await runTask(locking, 'rescan')).result).toMatchObject({ registered: 0, relinked: 0 });
});

test('a backup that is already in the target of a migration is locked there as long as its record says', async () => {
  const { destinationId } = bench.shop;
  const id = await bench.backUp({ storageDestinationId: locking });
  await migrate(locking, destinationId);
  bucket.lock(folderOf(id), new Date(0));
  const before = Date.now();
  expect((await migrate(destinationId, locking)).result).toMatchObject({ copied: 1, removed: 1, failures: [] });
  expect((await call('DELETE', `/backups/${id}`)).body.error).toMatchObject({ code: 'INVALID_STATE' });
  for (const { settings } of objectsOf(id))
    expect(Date.parse(settings.retention?.retainUntilTime ?? '')).toBeGreaterThan(before + 30 * 86_400_000);
});

test('locked objects that a merged increment left in another place do not keep its base from being removed', async () => {
  const { destinationId } = bench.shop;
  const at = (id: string) => ({ storageDestinationIds: [id] });
  const base = await bench.backUp({ type: 'full', ...at(locking) });
  const increment = await bench.backUp({ type: 'incremental', ...at(locking) });
  await migrate(locking, destinationId);
  // Only what the increment left is still locked.
  bucket.lock(folderOf(base), new Date(0));
  await bench.backUp({ type: 'synthetic', ...at(destinationId) });
  expect((await call('DELETE', `/backups/${base}`)).status).toBe(200);
  await expect.poll(() => objectsOf(base)).toEqual([]);
  expect(objectsOf(increment)).toHaveLength(1);
});

test('a backup found by a rescan is locked as long as its storage says, not by the current setting of its destination', async () => {
  const [long, ended] = [
    await bench.backUp({ storageDestinationId: locking }),
    await bench.backUp({ storageDestinationId: locking }),
  ];
  const until = new Date(Date.now() + 90 * 86_400_000);
  bucket.lock(folderOf(long), until);
  bucket.lock(folderOf(ended), new Date(0));
  await asOwner(bench.app.databaseUrl, (client) =>
    client.query('delete from backups where id in ($1, $2)', [long, ended]),
  );
  expect((await runTask(locking, 'rescan')).result).toMatchObject({ registered: 2, failures: [] });
  const refused = (await call('DELETE', `/backups/${long}`)).body.error;
  expect(refused.message).toContain(`locked by its storage until ${until.toISOString()}`);
  expect((await call('DELETE', `/backups/${ended}`)).status).toBe(200);
});
