// @module-tag long
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type S3Sandbox, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { asOwner } from '../../../testing/people.ts';

/** Keys that are rotated while a bucket is away. */
let s3: S3Sandbox;
let bench: BackupBench;
let bucketId: string;
beforeAll(async () => {
  bench = await startBackupBench({ ...hasty, OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
  await bench.startOver();
  s3 = await startS3Sandbox({ buckets: ['backups'] });
  bucketId = await bench.addBucket(s3);
});
afterEach(() => s3.faults.clear());
afterAll(async () => {
  await bench.close();
  await s3.stop();
});

const sql = async (text: string) =>
  (await asOwner(bench.app.databaseUrl, (client) => client.query(text))).rows as { id: string }[];
const rotate = async () => {
  const rotated = await bench.app.request('POST', '/api/v1/organizations/current/encryption-key/rotate', bench.as);
  expect(rotated.status, rotated.text).toBe(200);
};
const waiting = "from pgboss.job where name = 'backup-rewrap' and state in ('created', 'retry')";

test('a manifest whose storage was away when the tries after a rotation were used up is wrapped anew when it is back', async () => {
  const id = await bench.backUp({ storageDestinationIds: [bucketId] });
  const manifest = () => s3.objects.bucket('backups').keys.get(`backups/${id}/manifest`)?.[0]?.etag;
  const before = manifest();
  expect(before).toBeDefined();
  s3.faults.set({ errorRate: 1 });
  await rotate();
  const tomorrow = async () => {
    await sql(
      `update pgboss.job set retry_count = retry_limit, start_after = now()
        where id in (select id ${waiting} and start_after < now() + interval '20 hours')`,
    );
    return sql(`select id ${waiting} and start_after > now() + interval '20 hours'`);
  };
  await expect.poll(tomorrow).toHaveLength(1);
  expect(manifest()).toBe(before);
  s3.faults.clear();
  await sql(`update pgboss.job set start_after = now() where id in (select id ${waiting})`);
  await expect.poll(manifest).not.toBe(before);
});

test('a place that is away does not keep the manifests of others under the former key', async () => {
  const id = await bench.backUp({ storageDestinationIds: [bucketId, bench.shop.destinationId] });
  const folder = join(bench.app.folder, 'storage');
  const files = await readdir(folder, { recursive: true });
  const manifest = join(folder, files.find((file) => file.endsWith(`${id}/manifest`)) ?? '');
  const before = await readFile(manifest);
  s3.faults.set({ errorRate: 1 });
  await rotate();
  await expect.poll(() => readFile(manifest)).not.toEqual(before);
});
