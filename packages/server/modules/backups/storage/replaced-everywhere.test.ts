import { type S3Sandbox, sandboxS3Credential, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';

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
    await expect.poll(() => [...keysOf(base), ...keysOf(increment)], { timeout: 20_000 }).toEqual([]);
    expect(keysOf(whole.id).length).toBeGreaterThan(1);
  });

  test('comes back when one of them has lost what was merged, which is read again', async () => {
    const [base, increment] = await chain();
    const merged = await bench.backUp({ storageDestinationIds, type: 'synthetic' });
    for (const key of keysOf(merged)) s3.objects.bucket('backups').keys.delete(key);
    expect((await remove(base)).status).toBe(200);
    const status = async () => (await bench.get(`/backups/${merged}`)).verification?.status;
    await expect.poll(status, { timeout: 20_000 }).toBe('failed');
    for (const id of [base, increment]) {
      expect(await bench.get(`/backups/${id}`)).toMatchObject({ status: 'completed' });
      expect(keysOf(id).length).toBeGreaterThan(1);
    }
  });
});
