// @module-tag long
import { type S3Sandbox, sandboxS3Credential, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { asOwner, foundOrganization } from '../../../testing/people.ts';

let bench: BackupBench;
let s3: S3Sandbox;
let storageDestinationIds: string[];

beforeAll(async () => {
  s3 = await startS3Sandbox({ buckets: ['backups'], credentials: [sandboxS3Credential] });
  bench = await startBackupBench({ ...hasty, OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
  storageDestinationIds = [bench.shop.destinationId, await bench.addBucket(s3)];
});
afterAll(async () => {
  await bench.close();
  await s3.stop();
});
beforeEach(() => bench.startOver());
afterEach(() => s3.faults.clear());

const keysOf = (backupId: string) =>
  [...s3.objects.bucket('backups').keys.entriesFrom(`backups/${backupId}/`)]
    .map(([key]) => key)
    .filter((key) => key.startsWith(`backups/${backupId}/`));
const remove = (backupId: string) => bench.app.request('DELETE', `/api/v1/backups/${backupId}`, bench.as);

/** A full backup and an increment of it, in both places. */
async function chain(): Promise<[base: string, increment: string]> {
  const base = await bench.backUp({ storageDestinationIds });
  await bench.firestore.doc('users/bob').set({ n: 1 });
  const increment = await bench.run({ storageDestinationIds, type: 'incremental' });
  expect(increment, JSON.stringify(increment.warnings)).toMatchObject({ type: 'incremental', status: 'completed' });
  return [base, increment.id];
}

describe('a chain that was merged, in two places', () => {
  test('stays while one of them did not get what was merged, and goes once both have it', async () => {
    const [base, increment] = await chain();
    s3.faults.set({ errorRate: 1, operations: ['GetObject'] });
    const half = await bench.run({ storageDestinationIds: storageDestinationIds.toReversed(), type: 'synthetic' });
    s3.faults.clear();
    expect(half, JSON.stringify(half.error)).toMatchObject({
      status: 'completed',
      copies: [{ status: 'failed' }, { status: 'completed' }],
    });
    const refused = await remove(base);
    expect([refused.status, refused.body.error?.code], refused.text).toEqual([409, 'RESOURCE_IN_USE']);
    const whole = await bench.run({ storageDestinationIds, type: 'synthetic' });
    expect(whole.copies).toMatchObject([{ status: 'completed' }, { status: 'completed' }]);
    expect((await remove(base)).status).toBe(200);
    await expect.poll(() => [...keysOf(base), ...keysOf(increment)]).toEqual([]);
    expect(keysOf(whole.id).length).toBeGreaterThan(1);
  });

  test('comes back when one of them has lost what was merged, which is read again', async () => {
    const [base, increment] = await chain();
    const merged = await bench.backUp({ storageDestinationIds, type: 'synthetic' });
    for (const key of keysOf(merged)) s3.objects.bucket('backups').keys.delete(key);
    expect((await remove(base)).status).toBe(200);
    const status = async () => (await bench.get(`/backups/${merged}`)).verification?.status;
    await expect.poll(status).toBe('failed');
    for (const id of [base, increment]) {
      expect(await bench.get(`/backups/${id}`)).toMatchObject({ status: 'completed' });
      expect(keysOf(id).length).toBeGreaterThan(1);
    }
  });

  test('does not come back without its manifest: a removal that has begun goes on, whatever is away meanwhile', async () => {
    const bucket = { storageDestinationId: storageDestinationIds[1] };
    const base = await bench.backUp(bucket);
    await bench.firestore.doc('users/bob').set({ n: 1 });
    const increment = await bench.backUp({ ...bucket, type: 'incremental' });
    await bench.backUp({ ...bucket, type: 'synthetic' });
    s3.faults.set({ errorRate: 1, operations: ['ListObjectsV2'] });
    expect((await remove(base)).status).toBe(200);
    const manifest = () => keysOf(increment).filter((key) => key.endsWith('/manifest'));
    await expect.poll(manifest).toEqual([]);
    const hasFailed = () =>
      asOwner(bench.app.databaseUrl, async (client) => {
        const select = `select 1 from pgboss.job where name = 'backup-remove' and state = 'retry' and data->>'backupId' = $1`;
        return (await client.query(select, [increment])).rowCount;
      });
    await expect.poll(hasFailed).toBe(1);
    s3.faults.set({ errorRate: 1, operations: ['GetObject'] });
    await expect.poll(() => keysOf(increment)).toEqual([]);
    expect((await bench.app.request('GET', `/api/v1/backups/${increment}`, bench.as)).status).toBe(404);
    expect(await bench.get(`/audit-logs?action=backup.removal_refused&resourceId=${increment}`)).toEqual([]);
  });

  test('does not come back in the organization that its project leaves: who moves it waits for the removal', async () => {
    const [base, increment] = await chain();
    const merged = await bench.backUp({ storageDestinationIds, type: 'synthetic' });
    const other = await foundOrganization(bench.app, bench.shop.owner);
    const move = () =>
      bench.app.request('PATCH', `/api/v1/projects/${bench.shop.projectId}`, {
        ...bench.as,
        body: { organizationId: other },
      });
    s3.faults.set({ errorRate: 1, operations: ['DeleteObjects'] });
    expect((await remove(base)).status).toBe(200);
    const refused = await move();
    expect([refused.status, refused.body.error?.code], refused.text).toEqual([409, 'RESOURCE_IN_USE']);
    expect(refused.body.error.details.usedBy).toEqual([base, increment].map((id) => ({ type: 'backup', id })));
    s3.faults.clear();
    bench.app.clock.advance(11 * 60_000);
    const left = async () => {
      await bench.app.tasks.runNow('remove leftovers');
      return [...keysOf(base), ...keysOf(increment)];
    };
    await expect.poll(left).toEqual([]);
    await expect.poll(async () => (await move()).status).toBe(200);
    expect(await bench.get('/backups')).toEqual([]);
    const there = { token: bench.as.token, organizationId: other };
    const moved = await bench.app.request('GET', '/api/v1/backups', there);
    const ids = moved.body.data.map(({ id }: { id: string }) => id);
    expect([base, increment, merged].map((id) => ids.includes(id))).toEqual([false, false, true]);
  });
});
