// @module-tag long
import {
  type GcsSandbox,
  type GoogleSandbox,
  type S3Sandbox,
  sandboxS3Credential,
  startGcsSandbox,
  startGoogleSandbox,
  startS3Sandbox,
} from '@holdfast/sandbox';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { asOwner } from '../../../testing/people.ts';

let bench: BackupBench;
let s3: S3Sandbox;
let gcs: GcsSandbox;
let google: GoogleSandbox;

beforeAll(async () => {
  s3 = await startS3Sandbox({
    buckets: ['backups'],
    credentials: [
      sandboxS3Credential,
      { accessKeyId: 'full', secretAccessKey: 'f' },
      { accessKeyId: 'no-retention', secretAccessKey: 'n', deny: ['PutObjectRetention'] },
    ],
  });
  google = await startGoogleSandbox();
  gcs = await startGcsSandbox({ isTokenValid: (token) => google.control.verifyAccessToken(token) !== undefined });
  const now = Date.now();
  await gcs.objects.saveBucket({
    name: 'locking',
    project: 'sandbox',
    location: 'US',
    createdAtMs: now,
    updatedAtMs: now,
    metageneration: 1,
    objectRetention: true,
  });
  bench = await startBackupBench({
    ...hasty,
    OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8',
    GOOGLE_API_ENDPOINTS: JSON.stringify({ ...google.endpoints, storage: gcs.endpoint }),
  });
  await bench.firestore.doc('users/ada').set({ n: 1 });
});
afterAll(async () => {
  await bench.close();
  await Promise.all([s3.stop(), gcs.stop(), google.stop()]);
});
afterEach(() => s3.faults.clear());

async function destination(body: object): Promise<string> {
  const created = await bench.app.request('POST', '/api/v1/storage-destinations', { ...bench.as, body });
  expect([created.status, created.body.data?.status], created.text).toEqual([201, 'connected']);
  return created.body.data.id;
}

test('a bucket of Google’s that locks is a good second destination: nothing that is locked is put twice', async () => {
  const locking = await destination({
    name: 'Locking',
    type: 'gcs',
    bucket: 'locking',
    objectLock: { mode: 'compliance', days: 30 },
    credentials: { serviceAccountKey: google.control.createServiceAccount('sandbox') },
  });
  const backup = await bench.run({ storageDestinationIds: [bench.shop.destinationId, locking] });
  expect(backup.status, JSON.stringify(backup.error)).toBe('completed');
  expect(backup.copies.map(({ status }: { status: string }) => status)).toEqual(['completed', 'completed']);
});

test('what a cancelled backup has stored under a lock goes when the lock has ended', async () => {
  const storageDestinationId = await destination({
    name: 'Locking too',
    type: 'gcs',
    bucket: 'locking',
    prefix: 'cancelled',
    objectLock: { mode: 'governance', days: 30 },
    credentials: { serviceAccountKey: google.control.createServiceAccount('sandbox') },
  });
  const stored = () =>
    [...gcs.objects.bucket('locking').objects.entriesFrom('cancelled/backups/')].filter(([key]) =>
      key.startsWith('cancelled/backups/'),
    );
  const slow = (delayMs: number) => gcs.faults.set({ delayRate: 1, delayMsMin: delayMs, delayMsMax: delayMs });
  slow(500);
  const body = { projectId: bench.shop.projectId, storageDestinationId };
  const started = await bench.app.request('POST', '/api/v1/backups', { ...bench.as, body });
  const { id } = started.body.data;
  await expect.poll(() => stored().length).toBe(1);
  slow(3000);
  const cancelled = await bench.app.request('POST', `/api/v1/backups/${id}/cancel`, bench.as);
  expect(cancelled.status, cancelled.text).toBe(200);
  gcs.faults.clear();
  const jobs = (change: string) =>
    asOwner(bench.app.databaseUrl, async (client) => {
      const where = `name = 'backup-remove' and data->>'backupId' = $1 and start_after > now() + interval '20 hours'`;
      return (await client.query(`update pgboss.job set ${change} where ${where}`, [id])).rowCount;
    });
  await expect.poll(() => jobs('priority = priority')).toBe(1);
  expect(stored().length).toBeGreaterThan(0);
  for (const [, { settings }] of stored())
    settings.retention = { mode: 'Unlocked', retainUntilTime: new Date(0).toISOString() };
  await jobs('start_after = now()');
  await expect.poll(stored).toEqual([]);
});

test('a destination that fails at the very end loses its copy, not the backup, and that is told', async () => {
  const failing = await bench.addBucket(s3);
  s3.faults.set({ errorRate: 1, operations: ['GetObject'] });
  const backup = await bench.run({ storageDestinationIds: [failing, bench.shop.destinationId] });
  s3.faults.clear();
  expect(backup.status, JSON.stringify(backup.error)).toBe('completed');
  expect(backup.copies).toMatchObject([
    { storageDestinationId: failing, status: 'failed', error: { code: 'STORAGE_UNAVAILABLE' } },
    { storageDestinationId: bench.shop.destinationId, status: 'completed', error: null },
  ]);
  expect(backup.warnings).toMatchObject([{ code: 'COPY_FAILED', message: expect.stringContaining(failing) }]);
  expect((await bench.get(`/backups/${backup.id}/documents`)).length).toBe(1);
  const listed = async (id: string) =>
    (await bench.get(`/backups?storageDestinationId=${id}`)).map((one: { id: string }) => one.id);
  expect(await listed(bench.shop.destinationId)).toContain(backup.id);
  // A completed backup lies where its copy was completed, and nowhere else; a failed one is told where it was to lie.
  expect(await listed(failing)).toEqual([]);
  s3.faults.set({ errorRate: 1, operations: ['PutObject'] });
  const nowhere = await bench.run({ storageDestinationIds: [failing] });
  expect(nowhere.status).toBe('failed');
  expect(await listed(failing)).toEqual([nowhere.id]);
});

async function vault(bucket: string, days: number): Promise<string> {
  const settings = { region: 'us-east-1', createdAtMs: Date.now(), versioning: 'Enabled' as const, objectLock: true };
  await s3.objects.saveBucket({ ...settings, name: bucket });
  const place = { name: bucket, type: 's3', bucket, endpoint: s3.endpoint, forcePathStyle: true };
  const credentials = { accessKeyId: 'full', secretAccessKey: 'f' };
  return destination({ ...place, objectLock: { mode: 'compliance', days }, credentials });
}

/** Until when the objects of a backup are locked. */
function lockEnds(bucket: string, backupId: string): number[] {
  const times: number[] = [];
  for (const [key, versions] of s3.objects.bucket(bucket).keys.entriesFrom(`backups/${backupId}/`))
    if (key.startsWith(`backups/${backupId}/`)) times.push(versions[0]?.retention?.untilMs ?? 0);
  return times;
}

test.each([
  ['as long', 10],
  ['less long', 5],
])(
  'a younger increment prolongs the locks of its base in every destination, also in one that locks %s as the first',
  async (words, days) => {
    const buckets = [`first-${words.length}`, `second-${words.length}`] as const;
    const ids = [await vault(buckets[0], 10), await vault(buckets[1], days)];
    const base = await bench.backUp({ storageDestinationIds: ids });
    const increment = await bench.inDays(4, async () => {
      await bench.firestore.doc('users/eve').set({ n: Math.random() });
      return bench.run({ type: 'incremental', storageDestinationIds: ids });
    });
    expect(increment.type, JSON.stringify(increment.warnings)).toBe('incremental');
    for (const bucket of buckets) {
      const own = Math.min(...lockEnds(bucket, increment.id));
      expect(own).toBeGreaterThan(0);
      expect(Math.min(...lockEnds(bucket, base))).toBeGreaterThanOrEqual(own);
    }
  },
);

test('a younger increment prolongs the locks of its base; where that is refused, a full backup is made in time', async () => {
  const id = await vault('vault', 10);
  const base = await bench.backUp({ storageDestinationId: id });
  const ends = () => lockEnds('vault', base);
  const before = Math.max(...ends());
  await bench.firestore.doc('users/bob').set({ n: 1 });
  const increment = await bench.run({ type: 'incremental', storageDestinationId: id });
  expect(increment.type, JSON.stringify(increment.warnings)).toBe('incremental');
  expect(ends().length).toBeGreaterThan(1);
  const own = new Date(increment.completedAt).getTime() + 10 * 86_400_000;
  for (const end of ends()) expect(end).toBeGreaterThanOrEqual(Math.max(before, own));
  const credentials = { accessKeyId: 'no-retention', secretAccessKey: 'n' };
  const path = `/api/v1/storage-destinations/${id}`;
  expect((await bench.app.request('PATCH', path, { ...bench.as, body: { credentials } })).status).toBe(200);
  const later = await bench.inDays(5, () => bench.run({ type: 'incremental', storageDestinationId: id }));
  expect(later).toMatchObject({ status: 'completed', type: 'full', warnings: [{ code: 'BECAME_FULL' }] });
});

test('in a bucket that keeps versions a deleted backup is hidden, not gone, and the answer and the audit log say so', async () => {
  const settings = { region: 'us-east-1', createdAtMs: Date.now(), versioning: 'Enabled' as const, objectLock: false };
  await s3.objects.saveBucket({ ...settings, name: 'versions' });
  const place = { name: 'Versions', type: 's3', bucket: 'versions', endpoint: s3.endpoint, forcePathStyle: true };
  const id = await destination({ ...place, credentials: sandboxS3Credential });
  const backupId = await bench.backUp({ storageDestinationId: id });
  const versions = () =>
    [...s3.objects.bucket('versions').keys.entriesFrom(`backups/${backupId}/`)]
      .filter(([key]) => key.startsWith(`backups/${backupId}/`))
      .map(([, found]) => found.map(({ isDeleteMarker }) => isDeleteMarker).toSorted());
  const before = versions();
  expect(before.length).toBeGreaterThan(1);
  const answer = await bench.app.request('DELETE', `/api/v1/backups/${backupId}`, bench.as);
  expect(answer.body.message ?? answer.body.data?.message, answer.text).toContain('keeps versions hides them only');
  const removed = async () =>
    (await bench.get('/audit-logs?action=backup.objects_removed')).find(
      (entry: { resource: { id: string } }) => entry.resource.id === backupId,
    );
  await expect.poll(removed).toMatchObject({ details: { versionsKept: [id] } });
  expect(versions()).toEqual(before.map(() => [false, true]));
});
