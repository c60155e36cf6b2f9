// @module-tag long
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { scopes } from '@holdfast/contract';
import { type S3Sandbox, sandboxS3Credential, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { untilEnded } from '../../../testing/protected-project.ts';
import { checkStorageJob } from '../../storage/jobs.ts';

let bench: BackupBench;
let s3: S3Sandbox;
let bucketId: string;

beforeAll(async () => {
  s3 = await startS3Sandbox({ buckets: ['backups'], credentials: [sandboxS3Credential] });
  bench = await startBackupBench({ ...hasty, OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
  bucketId = await bench.addBucket(s3);
  await bench.startOver();
  // A key outlasts the weeks that pass here, unlike a session.
  bench.as.token = (
    await call('POST', '/organizations/current/service-account', { name: 'robot', permissions: scopes })
  ).apiKey;
});
afterAll(async () => {
  await bench.close();
  await s3.stop();
});
afterEach(() => s3.faults.clear());

const dayMs = 86_400_000;
const patience = { timeout: 60_000, interval: 200 };
async function call(method: string, path: string, body: object = {}) {
  const answer = await bench.app.request(method, `/api/v1${path}`, { ...bench.as, body });
  expect(answer.status, `${method} ${path} ${answer.text}`).toBeLessThan(300);
  return answer.body.data;
}
const lookAround = () => bench.app.tasks.runNow('retention');
const verificationOf = async (id: string) => (await bench.get(`/backups/${id}`)).verification?.status;
const refusals = async (id: string): Promise<object[]> =>
  bench.get(`/audit-logs?action=backup.removal_refused&resourceId=${id}`);

/** A chain whose last increment is held, and the full backup that was merged to stand for it. */
async function mergedChain(storageDestinationIds: string[]) {
  const body = { projectId: bench.shop.projectId, name: 'Nightly', cron: '0 2 * * *', enabled: false };
  const rhythm = { type: 'incremental', fullEvery: 2, retentionPolicy: { monthly: 12 }, storageDestinationIds };
  const { id: schedule } = await call('POST', '/schedules', { ...body, ...rhythm });
  const run = async () => {
    const { id } = await call('POST', `/schedules/${schedule}/run`);
    const backup = await untilEnded(bench.app, `/api/v1/backups/${id}`, bench.as);
    expect(backup.status, JSON.stringify(backup.error)).toBe('completed');
    await bench.firestore.doc(`users/${id}`).set({ n: 1 });
    bench.app.clock.advance(60_000);
    return backup.id as string;
  };
  const [base, increment] = [await run(), await run()];
  await call('POST', `/backups/${increment}/hold`);
  bench.app.clock.advance(40 * dayMs);
  await run();
  const find = async () => {
    await lookAround();
    const all: { id: string; type: string }[] = await bench.get(`/backups?scheduleId=${schedule}&status=completed`);
    return all.find(({ type }) => type === 'synthetic')?.id;
  };
  await expect.poll(find, patience).toBeDefined();
  const merged = (await find()) as string;
  await expect.poll(() => verificationOf(merged), patience).toBe('passed');
  return { schedule, base, increment, merged };
}

const segmentsOf = (id: string) =>
  join(bench.app.folder, 'storage', bench.shop.organizationId, 'backups', id, 'segments');

async function damage(id: string): Promise<void> {
  const [name] = await readdir(segmentsOf(id));
  await writeFile(join(segmentsOf(id), name!), 'not what was written');
}

test('a damaged merged backup stays while the one it was merged from is damaged too: each may hold what the other lost', async () => {
  const { increment, merged } = await mergedChain([bench.shop.destinationId]);
  for (const id of [increment, merged]) await damage(id);
  await call('POST', `/backups/${merged}/verify`);
  await expect.poll(() => verificationOf(merged), patience).toBe('failed');
  const unfreeze = () => call('POST', `/projects/${bench.shop.projectId}/retention/unfreeze`);
  await unfreeze();
  await lookAround();
  await expect.poll(() => verificationOf(increment), patience).toBe('failed');
  await unfreeze();
  await lookAround();
  await lookAround();
  for (const id of [increment, merged]) expect((await readdir(segmentsOf(id))).length, id).toBeGreaterThan(0);
  expect(await refusals(merged)).toHaveLength(1);
});

test('a removal that fails because a storage is away is reported once, waits, and is done when the storage is back', async () => {
  const { base, increment, merged } = await mergedChain([bench.shop.destinationId, bucketId]);
  const look = () =>
    bench.app.platform.database.tenant(bench.as.organizationId, (transaction) => {
      const data = { organizationId: bench.as.organizationId, storageDestinationId: bucketId };
      return bench.app.platform.queue.enqueue(transaction, checkStorageJob, data, { key: bucketId });
    });
  const isSaidToBe = async (status: string) => {
    await look();
    return (await bench.get(`/storage-destinations/${bucketId}`)).status === status;
  };
  s3.faults.set({ errorRate: 1 });
  await expect.poll(() => isSaidToBe('error'), patience).toBe(true);
  await call('DELETE', `/backups/${increment}/hold`);
  await lookAround();
  await expect.poll(async () => (await refusals(increment)).length, patience).toBe(1);
  await expect.poll(() => verificationOf(merged), patience).toBe('failed');
  for (let round = 0; round < 3; round++) {
    bench.app.clock.advance(dayMs);
    await lookAround();
  }
  expect(await refusals(increment)).toHaveLength(1);
  for (const id of [base, increment]) expect(await bench.get(`/backups/${id}`)).toMatchObject({ status: 'completed' });
  const again = await bench.app.request('DELETE', `/api/v1/backups/${base}`, bench.as);
  expect([again.status, again.body.error?.code], again.text).toEqual([409, 'RESOURCE_IN_USE']);

  s3.faults.clear();
  await expect.poll(() => isSaidToBe('connected'), patience).toBe(true);
  const isThere = async (id: string) => {
    await lookAround();
    return (await bench.app.request('GET', `/api/v1/backups/${id}`, bench.as)).status;
  };
  for (const id of [increment, base]) await expect.poll(() => isThere(id), patience).toBe(404);
  expect(await verificationOf(merged)).toBe('passed');
});
