// @module-tag long
import { createS3Store, isEngineError, KeyRing, manifestKey, openChain, SegmentCodec } from '@holdfast/engine';
import { type S3Sandbox, sandboxS3Credential, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

/** Whatever moves while keys change: where backups lie, the key in use opens them by itself. */
let bench: BackupBench;
let s3: S3Sandbox;
const places: Record<string, string> = {};
beforeAll(async () => {
  s3 = await startS3Sandbox({ buckets: ['first', 'second'] });
  bench = await startBackupBench({ ...hasty, OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
  for (const bucket of ['first', 'second']) {
    const place = { bucket, endpoint: s3.endpoint, forcePathStyle: true, credentials: sandboxS3Credential };
    places[bucket] = (await call('POST', '/storage-destinations', { name: bucket, type: 's3', ...place })).body.data.id;
  }
  await bench.startOver();
});
afterAll(async () => {
  await bench.close();
  await s3.stop();
});
afterEach(() => s3.faults.clear());

async function call(method: string, path: string, body?: object) {
  const answer = await bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body && { body }) });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer;
}

async function giveKey(which: number): Promise<void> {
  const key = Buffer.alloc(32, which).toString('base64');
  await call('PUT', '/organizations/current/encryption-key', { key });
  await call('POST', '/organizations/current/encryption-key/rotate', {});
}

const task = async (bucket: string, kind: string, body?: object) =>
  (await call('POST', `/storage-destinations/${places[bucket]}/${kind}`, body)).headers.get('location') as string;
const ended = (path: string) => untilEnded(bench.app, path, bench.as);
const toSecond = () => ({ toStorageDestinationId: places.second });

/** Whether this key, and no record of the service, opens what lies in a bucket. */
async function opens(which: number, bucket: string, backupId: string): Promise<boolean> {
  const connection = { region: 'us-east-1', endpoint: s3.endpoint, forcePathStyle: true };
  const store = await createS3Store({ kind: 's3', bucket, credentials: sandboxS3Credential, ...connection });
  try {
    const keys = new KeyRing([{ key: Buffer.alloc(32, which) }]);
    return (await openChain({ store, backupId, keys, codec: new SegmentCodec() })).length > 0;
  } catch (error) {
    if (isEngineError(error, 'DECRYPTION_ERROR')) return false;
    throw error;
  } finally {
    await store.close();
  }
}

test('a rotation during a migration reaches the copy in the new place too', async () => {
  await giveKey(1);
  const id = await bench.backUp({ storageDestinationId: places.first });
  s3.faults.set({ delayRate: 1, delayMsMin: 2000, operations: ['GetObject'] });
  const migration = await task('first', 'migrate', toSecond());
  await expect
    .poll(() => s3.objects.bucket('second').keys.get(manifestKey(id)), { timeout: 60_000, interval: 20 })
    .toBeDefined();
  await giveKey(2);
  s3.faults.clear();
  expect(await ended(migration)).toMatchObject({ status: 'completed', result: { copied: 1, removed: 1 } });
  await expect.poll(() => opens(2, 'second', id)).toBe(true);
});

test('a copy that a rotation did not know is brought under its key when a rescan links it', async () => {
  const id = await bench.backUp({ storageDestinationId: places.first });
  s3.faults.set({ errorRate: 1, operations: ['DeleteObjects', 'DeleteObject'] });
  await ended(await task('first', 'migrate', toSecond()));
  s3.faults.clear();
  await giveKey(3);
  await expect.poll(() => opens(3, 'second', id)).toBe(true);
  expect(await opens(3, 'first', id)).toBe(false);
  expect(await ended(await task('first', 'rescan'))).toMatchObject({ status: 'completed', result: { relinked: 1 } });
  await expect.poll(() => opens(3, 'first', id)).toBe(true);
});
