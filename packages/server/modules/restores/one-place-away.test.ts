// @module-tag long
import { type S3Sandbox, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../testing/backup-bench.ts';
import { contentsOf } from '../../testing/firestore-contents.ts';
import { untilEnded } from '../../testing/protected-project.ts';

/** A second destination is for the day on which the first is gone. */
let s3: S3Sandbox;
let bench: BackupBench;
let first: string;
beforeAll(async () => {
  bench = await startBackupBench({ ...hasty, OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
  s3 = await startS3Sandbox({ buckets: ['backups'] });
  first = await bench.addBucket(s3);
});
afterEach(() => s3.faults.clear());
afterAll(async () => {
  await s3.stop();
  await bench.close();
});

async function restore(path: string, body: object) {
  const started = await bench.app.request('POST', `/api/v1/backups/restore${path}`, { ...bench.as, body });
  expect(started.status, started.text).toBe(202);
  const done = await untilEnded(bench.app, `/api/v1/backups/restore/${started.body.data.id}`, bench.as);
  expect(done, JSON.stringify(done.error)).toMatchObject({ status: 'completed' });
  return done;
}

test('while the first destination is away a backup is restored from the second, and that is undone', async () => {
  const second = bench.shop.destinationId;
  await bench.startOver();
  const backupId = await bench.backUp({ storageDestinationIds: [first, second] });
  const held = await contentsOf(bench.firestore);
  await bench.firestore.doc('users/ada').set({ n: 2 });
  const before = await contentsOf(bench.firestore);
  s3.faults.set({ errorRate: 1 });
  const done = await restore('', { backupId });
  expect(await contentsOf(bench.firestore)).toEqual(held);
  expect(await bench.get(`/backups/${done.safetyBackupId}`)).toMatchObject({
    copies: [{ storageDestinationId: second, status: 'completed' }],
  });
  expect(await restore(`/${done.id}/undo`, {})).toMatchObject({ conflicts: 0 });
  expect(await contentsOf(bench.firestore)).toEqual(before);
  await restore('', { items: [{ backupId, path: 'users/ada' }] });
  expect(await contentsOf(bench.firestore)).toEqual(held);
});

test('a restore that only added documents is undone while the first destination is away', async () => {
  const second = bench.shop.destinationId;
  await bench.startOver();
  const backupId = await bench.backUp({ storageDestinationIds: [first, second] });
  const held = await contentsOf(bench.firestore);
  bench.clear();
  await bench.firestore.doc('users/bob').set({ n: 2 });
  const before = await contentsOf(bench.firestore);
  const done = await restore('', { backupId, options: { mergeMode: 'skip_existing' } });
  expect(done.safetyBackupId).toBe(null);
  s3.faults.set({ errorRate: 1 });
  const undo = await restore(`/${done.id}/undo`, {});
  expect(await contentsOf(bench.firestore)).toEqual(before);
  expect(await bench.get(`/backups/${undo.safetyBackupId}`)).toMatchObject({
    copies: [{ storageDestinationId: second, status: 'completed' }],
  });
  await restore(`/${undo.id}/undo`, {});
  expect(await contentsOf(bench.firestore)).toEqual({ ...before, ...held });
});
