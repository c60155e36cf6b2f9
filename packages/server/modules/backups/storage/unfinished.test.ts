// @module-tag long
import { type S3Sandbox, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { startLockingBucket } from '../../../testing/locking-bucket.ts';
import { asOwner } from '../../../testing/people.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

/** What a backup that was called off has stored, where it cannot be removed at once. */
let bench: BackupBench;
let s3: S3Sandbox;
let bucket: Awaited<ReturnType<typeof startLockingBucket>>;

beforeAll(async () => {
  s3 = await startS3Sandbox({ buckets: ['backups'] });
  bucket = await startLockingBucket();
  bench = await startBackupBench({ ...hasty, OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8', ...bucket.environment });
  await bench.firestore.doc('users/ada').set({ n: 1 });
});
afterAll(async () => {
  await bench.close();
  await Promise.all([s3.stop(), bucket.close()]);
});
afterEach(() => {
  s3.faults.clear();
  bucket.faults.clear();
});

const call = (method: string, path: string, body?: object) =>
  bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body ? { body } : {}) });
const sql = async (text: string, values: unknown[] = []) =>
  await asOwner(bench.app.databaseUrl, (client) => client.query(text, values));
const bringOn = (id: string, state: string) =>
  sql(
    `update pgboss.job set start_after = now() where name = 'backup-remove' and state = $2 and data->>'backupId' = $1`,
    [id, state],
  );
const tomorrow = async (id: string) =>
  (
    await sql(
      `select data from pgboss.job where name = 'backup-remove' and data->>'backupId' = $1
          and state = 'created' and start_after > now() + interval '20 hours'`,
      [id],
    )
  ).rows.map(({ data }) => data.left);

async function lockingPlace(prefix: string): Promise<string> {
  const created = await call('POST', '/storage-destinations', { ...bucket.place(30), prefix });
  expect(created.body.data?.status, created.text).toBe('connected');
  return created.body.data.id;
}

/** Cancelled when it has stored its first object in the last of these places. */
async function cancelledBackup(prefix: string, storageDestinationIds: string[], before = () => {}): Promise<string> {
  // The manifest, which would make it whole, takes as long again as the first object did.
  bucket.faults.set({ delayRate: 1, delayMsMin: 3000, delayMsMax: 3000 });
  const body = { projectId: bench.shop.projectId, storageDestinationIds };
  const { id } = (await call('POST', '/backups', body)).body.data;
  await expect.poll(() => bucket.objectsIn(`${prefix}/backups/`).length).toBeGreaterThan(0);
  before();
  expect((await call('POST', `/backups/${id}/cancel`)).status).toBe(200);
  bucket.faults.clear();
  await untilEnded(bench.app, `/api/v1/backups/${id}`, bench.as);
  return id;
}

test('that is locked stays when its destination is removed, and the audit log says where', async () => {
  const storageDestinationId = await lockingPlace('removed');
  const id = await cancelledBackup('removed', [storageDestinationId]);
  await expect.poll(() => tomorrow(id)).toEqual([[storageDestinationId]]);
  expect((await call('DELETE', `/storage-destinations/${storageDestinationId}`)).status).toBe(200);
  await bringOn(id, 'created');
  const told = async () =>
    (await bench.get(`/audit-logs?resourceId=${id}`)).filter(({ action }: { action: string }) =>
      action.startsWith('backup.objects'),
    );
  await expect
    .poll(told)
    // Once for each job that had it to remove: the one that was called off, and whoever called it off.
    .toContainEqual(
      expect.objectContaining({
        action: 'backup.objects_left',
        details: expect.objectContaining({ storageDestinationIds: [storageDestinationId] }),
      }),
    );
  expect(bucket.objectsIn('removed/backups/').length).toBeGreaterThan(0);
  expect(await tomorrow(id)).toEqual([]);
});

test('is removed from one place while another is away, and from that one once it is back', async () => {
  const away = await bench.addBucket(s3);
  const id = await cancelledBackup('here', [away, await lockingPlace('here')], () => s3.faults.set({ errorRate: 1 }));
  // Also of the manifest, which may have been on its way when the backup was called off.
  const unlocked = () => {
    bucket.lock('here/backups/', new Date(0));
    return bucket.objectsIn('here/backups/');
  };
  await expect.poll(unlocked).toEqual([]);
  const lastTry = `update pgboss.job set retry_count = 99, start_after = now()
                    where name = 'backup-remove' and state = 'retry' and data->>'backupId' = $1`;
  const leftTomorrow = async () => {
    await sql(lastTry, [id]);
    return await tomorrow(id);
  };
  await expect.poll(leftTomorrow).toContainEqual([away]);
  const folder = `backups/${id}/`;
  const all = () => [...s3.objects.bucket('backups').keys.entriesFrom(folder)].map(([key]) => key);
  const keys = () => all().filter((key) => key.startsWith(folder));
  expect(keys().length).toBeGreaterThan(0);
  s3.faults.clear();
  const lookAgain = async () => {
    await bringOn(id, 'created');
    return keys();
  };
  await expect.poll(lookAgain).toEqual([]);
  await expect.poll(() => tomorrow(id)).toEqual([]);
});
