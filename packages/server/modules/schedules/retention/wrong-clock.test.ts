// @module-tag long
import { scopes } from '@holdfast/contract';
import { type S3Sandbox, sandboxS3Credential, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { asOwner } from '../../../testing/people.ts';
import { untilEnded } from '../../../testing/protected-project.ts';
import { retentionCheckStore } from './retention-check-store.ts';

let bench: BackupBench;
let s3: S3Sandbox;
const storageClock = { behindMs: 0 };

beforeAll(async () => {
  bench = await startBackupBench({ ...hasty, OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
  const now = () => Date.now() - storageClock.behindMs;
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
const patience = { timeout: 120_000, interval: 200 };

const onChecks = async (sql: string) =>
  (await asOwner(bench.app.databaseUrl, (client) => client.query(sql))).rows as { at: Date }[];
/** When the project is looked at next. Every look moves it. */
const nextLook = async () => (await onChecks('select due_at as at from retention_checks'))[0]?.at.getTime();
/** On a machine that stands still a look at the storage may take too long, and the next one would be in an hour. */
const lookNow = () => onChecks('update retention_checks set due_at = now()');

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
  const leftAfterLook = async () => {
    await lookNow();
    return leftAfterwards();
  };
  return { made, left, leftAfterwards, leftAfterLook };
}

test('a clock that is years ahead of the database takes no backup; when it is right again they go in their time', async () => {
  const { made, left, leftAfterLook } = await twoRuns(bench.shop.destinationId);
  for (const wrongMs of [yearsMs, 2 * dayMs]) {
    bench.app.clock.goWrong(wrongMs);
    await expect(bench.app.tasks.runNow('retention')).rejects.toThrow(/ahead of that of the database/);
    expect(await left()).toEqual(made);
  }
  bench.app.clock.goWrong(-yearsMs);
  await expect(bench.app.tasks.runNow('retention')).rejects.toThrow(/behind that of the database/);
  bench.app.clock.goWrong(60_000);
  bench.app.clock.advance(2 * dayMs);
  await expect.poll(leftAfterLook, patience).toEqual(made.slice(0, 1));
});

test('a clock that jumps ahead while retention runs takes no backup either', async () => {
  const { made, left } = await twoRuns(bench.shop.destinationId);
  await lookNow();
  const { findDue } = retentionCheckStore;
  const jump = vi.spyOn(retentionCheckStore, 'findDue').mockImplementation((...asked) => {
    bench.app.clock.goWrong(yearsMs);
    return findDue(...asked);
  });
  try {
    await bench.app.tasks.runNow('retention');
    expect(jump).toHaveBeenCalled();
    expect(await left()).toEqual(made);
  } finally {
    jump.mockRestore();
  }
});

test('a database that shares the wrong clock is not believed against the storage', async () => {
  const bucketId = await bench.addBucket(s3);
  const { made, leftAfterwards, leftAfterLook } = await twoRuns(bucketId);
  bench.app.clock.advance(2 * dayMs);
  storageClock.behindMs = 3_600_000;
  const told = async () => {
    expect(await leftAfterLook()).toEqual(made);
    return bench.app.logged();
  };
  await expect.poll(told, patience).toMatch(/seconds ahead of that of s3:\/\/backups\S*\. Nothing is removed/);
  const next = await nextLook();
  for (let round = 0; round < 2; round++) expect(await leftAfterwards()).toEqual(made);
  expect(await nextLook(), 'it is not asked again and again').toBe(next);
  storageClock.behindMs = 0;
  bench.app.clock.advance(3_700_000);
  expect(next).toBeLessThan(bench.app.clock.now().getTime());
  await expect.poll(leftAfterLook, patience).toEqual(made.slice(0, 1));
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
