// @module-tag long
import { setTimeout as sleep } from 'node:timers/promises';
import { type S3Sandbox, sandboxS3Credential, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from '../../../testing/backup-bench.ts';
import { asOwner } from '../../../testing/people.ts';
import { usersAt } from '../../../testing/pitr-bench.ts';
import { untilEnded } from '../../../testing/protected-project.ts';
import { logLockName } from '../log-access.ts';

let bench: BackupBench;
let s3: S3Sandbox;
let bucketId = '';
beforeAll(async () => {
  s3 = await startS3Sandbox({ buckets: ['logs', 'other'] });
  const environment = { PITR_SEGMENT_SECONDS: '0.2', OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' };
  bench = await startBackupBench(environment, { listenMode: 'as-production', listenHeartbeatMs: 50 });
  bucketId = await addBucket('logs');
});
afterAll(async () => {
  await bench.close();
  await s3.stop();
});

async function call(method: string, path: string, body?: object) {
  const answer = await bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body ? { body } : {}) });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
  return answer.body.data;
}
async function addBucket(bucket: string): Promise<string> {
  const place = { type: 's3', bucket, region: 'us-east-1', endpoint: s3.endpoint, forcePathStyle: true };
  const made = { name: bucket, ...place, credentials: sandboxS3Credential, isDefault: false };
  return (await call('POST', '/storage-destinations', made)).id;
}
const pitr = (rest = '') => `/projects/${bench.shop.projectId}/pitr${rest}`;
const segmentsInBucket = () =>
  [...s3.objects.buckets.get('logs')!.keys.entriesFrom('logs/')].filter(([key]) => key.includes('/segments/')).length;
async function migrate(from: string, to: string) {
  const { id } = await call('POST', `/storage-destinations/${from}/migrate`, { toStorageDestinationId: to });
  return untilEnded(bench.app, `/api/v1/storage-destinations/${from}/tasks/${id}`, bench.as, 90_000);
}

const open = "state not in ('completed', 'cancelled', 'failed')";
const removals = (state: string) =>
  asOwner(bench.app.databaseUrl, async (client) => {
    const { rows } = await client.query(
      `select count(*)::int as n from pgboss.job where name = 'pitr-log-remove' and ${state}`,
    );
    return rows[0].n;
  });

test('a log that is moved back while its originals are still being removed is whole afterwards', async () => {
  await bench.firestore.doc('users/ada').set({ n: 1 });
  await call('POST', pitr('/enable'), { storageDestinationId: bucketId });
  await expect.poll(async () => (await call('GET', pitr())).status).toBe('running');
  await bench.firestore.doc('users/bob').set({ n: 1 });
  await sleep(20);
  const at = new Date().toISOString();
  await sleep(20);
  await bench.firestore.doc('users/eve').set({ n: 1 });
  await expect.poll(segmentsInBucket).toBeGreaterThan(1);
  await expect.poll(async () => (await call('GET', pitr())).coveredTo > at).toBe(true);
  // Nothing is written while it moves.
  await call('POST', pitr('/disable'), {});
  await expect.poll(async () => (await call('GET', pitr())).status).toBe('stopped');
  const users = await usersAt(bench, at);
  expect(users).toEqual(['users/ada', 'users/bob']);

  s3.faults.set({ delayRate: 1, delayMsMin: 3000, delayMsMax: 3000, operations: ['DeleteObjects', 'DeleteObject'] });
  expect((await migrate(bucketId, bench.shop.destinationId)).error).toBeNull();
  await expect.poll(() => removals("state = 'active'")).toBe(1);
  expect((await migrate(bench.shop.destinationId, bucketId)).error).toBeNull();
  s3.faults.clear();
  expect((await call('GET', pitr())).storageDestinationId).toBe(bucketId);
  await expect.poll(() => removals(open), { interval: 500 }).toBe(0);
  expect(await usersAt(bench, at)).toEqual(users);
});

test('what is left of a moved log stays where its former destination has become the place that it was moved to', async () => {
  const otherId = await addBucket('other');
  const at = (await call('GET', pitr())).coveredTo;
  const users = await usersAt(bench, at);
  const { logId } = await asOwner(bench.app.databaseUrl, async (client) => {
    const { rows } = await client.query('select log_id as "logId" from pitr_logs');
    return rows[0];
  });
  // Somebody reads a moment there: its removal waits.
  const release = await bench.app.platform.database.useLocks.hold([logLockName(logId, bucketId)]);
  expect((await migrate(bucketId, otherId)).error).toBeNull();
  await expect.poll(() => removals("state = 'retry'")).toBe(1);
  await call('PATCH', `/storage-destinations/${bucketId}`, { bucket: 'other', credentials: sandboxS3Credential });
  await release();
  await expect.poll(() => removals(open), { interval: 500, timeout: 60_000 }).toBe(0);
  expect(await usersAt(bench, at)).toEqual(users);
});
