// @module-tag long
import { type S3Sandbox, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

/** Keys that change while a backup is merged, which wraps its own at the end. */
let bench: BackupBench;
let s3: S3Sandbox;
let bucketId = '';
beforeAll(async () => {
  s3 = await startS3Sandbox({ buckets: ['backups'] });
  bench = await startBackupBench({ ...hasty, OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
  bucketId = await bench.addBucket(s3);
  await bench.firestore.doc('users/ada').set({ n: 1 });
});
afterAll(async () => {
  await bench.close();
  await s3.stop();
});

const keyPath = '/organizations/current/encryption-key';
async function call(method: string, path: string, body?: object) {
  const answer = await bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body && { body }) });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body.data;
}

/** A merge that has begun to write, and is slow at it; what is done then comes before its end. */
async function mergeWhile(work: () => Promise<unknown>) {
  await bench.backUp({ storageDestinationIds: [bucketId] });
  s3.faults.set({ delayRate: 1, delayMsMin: 1500, operations: ['PutObject'] });
  const body = { projectId: bench.shop.projectId, type: 'synthetic', storageDestinationIds: [bucketId] };
  const { id } = await call('POST', '/backups', body);
  await expect.poll(() => s3.faults.counts.delays, { interval: 20 }).toBeGreaterThan(0);
  await work();
  s3.faults.clear();
  return untilEnded(bench.app, `/api/v1/backups/${id}`, bench.as);
}

test('a merge that ends after a rotation is wrapped with the new key and needs no other', async () => {
  await call('PUT', keyPath, { passphrase: 'the first of our keys' });
  const merged = await mergeWhile(async () => {
    await call('PUT', keyPath, { passphrase: 'the second of our keys' });
    await call('POST', `${keyPath}/rotate`, {});
  });
  expect(merged).toMatchObject({ status: 'completed', type: 'synthetic' });
  await call('DELETE', keyPath);
  await call('PUT', keyPath, { passphrase: 'the second of our keys' });
  const [user] = await call('GET', `/backups/${merged.id}/documents?collection=users`);
  expect(user.path).toBe('users/ada');
});

test('a merge whose key is withdrawn before its end fails and says so, as any backup does', async () => {
  const merged = await mergeWhile(() => call('DELETE', keyPath));
  expect([merged.status, merged.error?.code]).toEqual(['failed', 'DECRYPTION_ERROR']);
});
