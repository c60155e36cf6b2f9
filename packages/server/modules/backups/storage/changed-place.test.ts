// @module-tag long
import { type S3Sandbox, sandboxS3Credential, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

/** A destination that becomes another bucket while something works on it. */
let bench: BackupBench;
let s3: S3Sandbox;
beforeAll(async () => {
  s3 = await startS3Sandbox({ buckets: ['first', 'second', 'third', 'fourth'] });
  bench = await startBackupBench({ ...hasty, OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
  await bench.startOver();
});
afterAll(async () => {
  await bench.close();
  await s3.stop();
});
afterEach(() => s3.faults.clear());

const call = (method: string, path: string, body?: object) =>
  bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body ? { body } : {}) });

async function addPlace(bucket: string): Promise<string> {
  const place = { name: bucket, type: 's3', bucket, endpoint: s3.endpoint, forcePathStyle: true };
  return (await call('POST', '/storage-destinations', { ...place, credentials: sandboxS3Credential })).body.data.id;
}
const turnTo = (bucket: string, id: string) =>
  call('PATCH', `/storage-destinations/${id}`, { bucket, credentials: sandboxS3Credential });

test('the bucket of a destination cannot be changed while a migration copies into it: the originals would be removed, and the copies would be elsewhere', async () => {
  const [source, target] = [await addPlace('first'), await addPlace('second')];
  const id = await bench.backUp({ storageDestinationId: source });
  s3.faults.set({ delayRate: 1, delayMsMin: 2000, operations: ['PutObject'] });
  const started = await call('POST', `/storage-destinations/${source}/migrate`, { toStorageDestinationId: target });
  await expect.poll(() => s3.faults.counts.delays, { interval: 20 }).toBeGreaterThan(0);
  s3.faults.clear();
  const turned = await turnTo('third', target);
  const { status, result } = await untilEnded(bench.app, started.headers.get('location') as string, bench.as);
  expect([status, result.copied, result.failures]).toEqual(['completed', 1, []]);
  expect((await call('GET', `/backups/${id}/documents`)).status).toBe(200);
  expect([turned.status, turned.body.error?.code]).toEqual([409, 'RESOURCE_IN_USE']);
  expect((await turnTo('third', target)).status).toBe(200);
});

test('and while a backup is being made in it: what is stored lies in the one, the record names the other and calls it completed', async () => {
  const place = await addPlace('fourth');
  const { keys } = s3.objects.bucket('fourth');
  await expect.poll(() => [...keys.entriesFrom('keys/')].length, { timeout: 20_000 }).toBeGreaterThan(0);
  const delays = s3.faults.counts.delays;
  s3.faults.set({ delayRate: 1, delayMsMin: 2000, operations: ['PutObject'] });
  const asked = { projectId: bench.shop.projectId, storageDestinationId: place };
  const { id } = (await call('POST', '/backups', asked)).body.data;
  await expect.poll(() => s3.faults.counts.delays, { interval: 20, timeout: 20_000 }).toBeGreaterThan(delays);
  s3.faults.clear();
  const turned = await turnTo('third', place);
  expect(await untilEnded(bench.app, `/api/v1/backups/${id}`, bench.as)).toMatchObject({ status: 'completed' });
  expect((await call('GET', `/backups/${id}/documents`)).status).toBe(200);
  expect([turned.status, turned.body.error?.code]).toEqual([409, 'RESOURCE_IN_USE']);
  expect(turned.body.error.details.usedBy).toEqual([{ type: 'backup', id }]);
  expect((await turnTo('third', place)).status).toBe(200);
});
