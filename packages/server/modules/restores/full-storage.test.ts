// @module-tag long
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type S3Sandbox, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../testing/backup-bench.ts';
import { contentsOf } from '../../testing/firestore-contents.ts';
import { asOwner } from '../../testing/people.ts';
import { untilEnded } from '../../testing/protected-project.ts';

/** A bucket that is full, or whose policy allows reading alone, is one that backups can be restored from. */
let s3: S3Sandbox;
let bench: BackupBench;
let bucket: string;
beforeAll(async () => {
  bench = await startBackupBench({ ...hasty, OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
  s3 = await startS3Sandbox({ buckets: ['backups'] });
  bucket = await bench.addBucket(s3);
});
afterEach(() => s3.faults.clear());
afterAll(async () => {
  await s3.stop();
  await bench.close();
});

async function run(path: string, body: object) {
  const started = await bench.app.request('POST', `/api/v1/backups/restore${path}`, { ...bench.as, body });
  expect(started.status, started.text).toBe(202);
  return untilEnded(bench.app, `/api/v1/backups/restore/${started.body.data.id}`, bench.as);
}
const refuseWrites = () =>
  s3.faults.set({ errorRate: 1, operations: ['PutObject', 'CreateMultipartUpload', 'UploadPart'] });

test('the safety backup of a restore or undo goes to another destination when the one it reads cannot be written', async () => {
  await bench.startOver();
  const backupId = await bench.backUp({ storageDestinationIds: [bucket] });
  const held = await contentsOf(bench.firestore);
  await bench.firestore.doc('users/ada').set({ n: 2 });
  const before = await contentsOf(bench.firestore);
  refuseWrites();
  const done = await run('', { backupId });
  expect(done, JSON.stringify(done.error)).toMatchObject({ status: 'completed' });
  expect(await contentsOf(bench.firestore)).toEqual(held);
  expect(await bench.get(`/backups/${done.safetyBackupId}`)).toMatchObject({
    status: 'completed',
    copies: [{ storageDestinationId: bench.shop.destinationId }],
  });
  expect(await run(`/${done.id}/undo`, {})).toMatchObject({ status: 'completed', conflicts: 0 });
  expect(await contentsOf(bench.firestore)).toEqual(before);
});

test('without another destination nothing is overwritten, and the restore names the one that refused', async () => {
  await bench.startOver();
  const backupId = await bench.backUp({ storageDestinationIds: [bucket] });
  await bench.firestore.doc('users/ada').set({ n: 2 });
  const before = await contentsOf(bench.firestore);
  const storage = join(bench.app.folder, 'storage');
  await rename(storage, `${storage}-away`);
  await writeFile(storage, '');
  refuseWrites();
  const failed = await run('', { backupId });
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'STORAGE_UPLOAD_ERROR' } });
  expect(failed.error.message).toMatch(/nothing was overwritten\. s3:\/\/backups/);
  // What the storage said, so that the advice is the one for it.
  expect(failed.error.details).toMatchObject({ code: 'InternalError', status: 500 });
  expect(await contentsOf(bench.firestore)).toEqual(before);
  await rm(storage);
  await rename(`${storage}-away`, storage);
  const resumed = await bench.app.request('POST', `/api/v1/backups/restore/${failed.id}/resume`, bench.as);
  expect(resumed.status, resumed.text).toBe(202);
  const done = await untilEnded(bench.app, `/api/v1/backups/restore/${failed.id}`, bench.as);
  expect(done, JSON.stringify(done.error)).toMatchObject({ status: 'completed' });
});

test('a destination without credentials is skipped for the next one', async () => {
  await bench.startOver();
  await bench.backUp();
  const backupId = await bench.backUp({ storageDestinationIds: [bucket] });
  const closed = await bench.addBucket(s3);
  const path = `/api/v1/storage-destinations/${closed}`;
  const preferred = await bench.app.request('PATCH', path, { ...bench.as, body: { isDefault: true } });
  expect(preferred.status, preferred.text).toBe(200);
  await asOwner(bench.app.databaseUrl, (client) =>
    client.query('update storage_destinations set credentials = null where id = $1', [closed]),
  );
  refuseWrites();
  const done = await run('', { backupId });
  expect(done, JSON.stringify(done.error)).toMatchObject({ status: 'completed' });
  expect(await bench.get(`/backups/${done.safetyBackupId}`)).toMatchObject({
    copies: [{ storageDestinationId: bench.shop.destinationId }],
  });
});
