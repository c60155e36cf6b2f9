// @module-tag long
import { scopes } from '@holdfast/contract';
import { type S3Sandbox, sandboxS3Credential, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

let bench: BackupBench;
let s3: S3Sandbox;
const storageClock = { behindMs: 0, asked: 0 };

beforeAll(async () => {
  bench = await startBackupBench({ ...hasty, OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
  const now = () => {
    storageClock.asked += 1;
    return Date.now() - storageClock.behindMs;
  };
  s3 = await startS3Sandbox({ buckets: ['backups'], credentials: [sandboxS3Credential], now });
  // A session would be over after the years that pass here.
  const robot = { name: 'robot', permissions: scopes };
  const { apiKey } = await call('POST', '/organizations/current/service-account', robot);
  bench.as.token = apiKey;
  await bench.startOver();
});
afterAll(async () => {
  await bench.close();
  await s3.stop();
});
afterEach(() => {
  bench.app.clock.goWrong(0);
  storageClock.behindMs = 0;
});

const dayMs = 86_400_000;
const yearsMs = 5 * 365 * dayMs;
const patience = { timeout: 60_000, interval: 200 };
async function call(method: string, path: string, body: object = {}) {
  const answer = await bench.app.request(method, `/api/v1${path}`, { ...bench.as, body });
  expect(answer.status, `${method} ${path} ${answer.text}`).toBeLessThan(300);
  return answer.body.data;
}

/** Two backups, the older of which goes after a day. */
async function twoRuns(storageDestinationId: string) {
  const { id: schedule } = await call('POST', '/schedules', {
    projectId: bench.shop.projectId,
    name: 'Nightly',
    cron: '0 2 * * *',
    enabled: false,
    retention: 1,
    storageDestinationIds: [storageDestinationId],
  });
  const made: string[] = [];
  for (let round = 0; round < 2; round++) {
    const { id } = await call('POST', `/schedules/${schedule}/run`);
    expect(await untilEnded(bench.app, `/api/v1/backups/${id}`, bench.as)).toMatchObject({ status: 'completed' });
    made.unshift(id);
  }
  const left = async () =>
    (await bench.get(`/backups?scheduleId=${schedule}`)).map(({ id }: { id: string }) => id) as string[];
  const leftAfterwards = async () => {
    await bench.app.tasks.runNow('retention').catch(() => undefined);
    return left();
  };
  return { made, left, leftAfterwards };
}

test('a clock that is years ahead of the database takes no backup; when it is right again they go in their time', async () => {
  const { made, left, leftAfterwards } = await twoRuns(bench.shop.destinationId);
  for (const wrongMs of [yearsMs, 2 * dayMs]) {
    bench.app.clock.goWrong(wrongMs);
    await expect(bench.app.tasks.runNow('retention')).rejects.toThrow(/ahead of that of the database/);
    expect(await left()).toEqual(made);
  }
  bench.app.clock.goWrong(-yearsMs);
  await expect(bench.app.tasks.runNow('retention')).rejects.toThrow(/behind that of the database/);
  bench.app.clock.goWrong(60_000);
  bench.app.clock.advance(2 * dayMs);
  await expect.poll(leftAfterwards, patience).toEqual(made.slice(0, 1));
});

test('a database that shares the wrong clock is not believed against the storage', async () => {
  const bucketId = await bench.addBucket(s3);
  const { made, left, leftAfterwards } = await twoRuns(bucketId);
  bench.app.clock.advance(2 * dayMs);
  storageClock.behindMs = 3_600_000;
  for (let round = 0; round < 2; round++) expect(await leftAfterwards()).toEqual(made);
  await expect
    .poll(() => bench.app.logged(), patience)
    .toMatch(/seconds ahead of that of s3:\/\/backups\S*\. Nothing is removed/);
  expect(await left()).toEqual(made);
  const { asked } = storageClock;
  for (let round = 0; round < 2; round++) await leftAfterwards();
  expect(storageClock.asked, 'it is not asked again and again').toBe(asked);
  storageClock.behindMs = 0;
  bench.app.clock.advance(3_700_000);
  await expect.poll(leftAfterwards, patience).toEqual(made.slice(0, 1));
});

test('a sweep removes nothing that is new by the clocks of database and storage', async () => {
  const sweep = async () => {
    const { id } = await call('POST', `/storage-destinations/${bench.shop.destinationId}/sweep`);
    const path = `/api/v1/storage-destinations/${bench.shop.destinationId}/tasks/${id}`;
    return untilEnded(bench.app, path, bench.as);
  };
  bench.app.clock.goWrong(yearsMs);
  const refused = await sweep();
  expect(refused, JSON.stringify(refused)).toMatchObject({ status: 'failed', error: { code: 'INVALID_STATE' } });
  expect(refused.error.message).toContain('ahead of that of the database');
  bench.app.clock.goWrong(0);
  expect(await sweep()).toMatchObject({ status: 'completed' });
});
