// @module-tag long
import { type S3Sandbox, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BackupBench } from '../../../testing/backup-bench.ts';
import { startPitrBench } from '../../../testing/pitr-bench.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

let bench: BackupBench;
let s3: S3Sandbox;
let end: () => Promise<void>;
beforeAll(async () => {
  s3 = await startS3Sandbox({ buckets: ['backups'] });
  const attempts = { JOB_ATTEMPTS: '1', STORAGE_RETRY_ATTEMPTS: '2' };
  const started = await startPitrBench({ ...attempts, OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
  bench = started.bench;
  end = () => started.owner.end();
  await bench.startOver();
});
afterAll(async () => {
  await end();
  await bench.close();
  await s3.stop();
});

async function restore(path: string, body: object) {
  const started = await bench.app.request('POST', `/api/v1/backups/restore${path}`, { ...bench.as, body });
  expect(started.status, started.text).toBe(202);
  const done = await untilEnded(bench.app, `/api/v1/backups/restore/${started.body.data.id}`, bench.as);
  expect(done, JSON.stringify(done.error)).toMatchObject({ status: 'completed', error: null });
  return done;
}

test('a restored moment is undone while the place of its log is away, as long as another place of the project answers', async () => {
  await bench.backUp();
  const pitr = `/projects/${bench.shop.projectId}/pitr`;
  const body = { storageDestinationId: await bench.addBucket(s3) };
  const enabled = await bench.app.request('POST', `/api/v1${pitr}/enable`, { ...bench.as, body });
  expect(enabled.status, enabled.text).toBe(200);
  const reaches = async () => {
    await bench.firestore.doc('users/tick').set({ at: Date.now() });
    const { coveredFrom, coveredTo } = await bench.get(pitr);
    return coveredFrom !== null && coveredTo > coveredFrom;
  };
  await expect.poll(reaches, { interval: 200 }).toBe(true);
  const { coveredTo: pointInTime } = await bench.get(pitr);
  const [gone] = (await bench.firestore.collection('users').listDocuments()).map(({ id }) => id);
  await bench.firestore.doc(`users/${gone}`).delete();
  const asked = { projectId: bench.shop.projectId, pointInTime, options: { mergeMode: 'skip_existing' } };
  const done = await restore('', asked);
  expect(done).toMatchObject({ documentsRestored: 1, safetyBackupId: null });
  s3.faults.set({ errorRate: 1 });
  const undo = await restore(`/${done.id}/undo`, {});
  s3.faults.clear();
  expect((await bench.firestore.doc(`users/${gone}`).get()).exists).toBe(false);
  expect(await bench.get(`/backups/${undo.safetyBackupId}`)).toMatchObject({
    copies: [{ storageDestinationId: bench.shop.destinationId, status: 'completed' }],
  });
});

test('a backup into another place reads the source while the place of the log is away', async () => {
  await bench.backUp();
  await bench.firestore.doc('users/late').set({ n: 1 });
  const writtenMs = Date.now();
  const isCaptured = async () => {
    const { status, coveredTo } = await bench.get(`/projects/${bench.shop.projectId}/pitr`);
    return status === 'running' && Date.parse(coveredTo) > writtenMs;
  };
  await expect.poll(isCaptured, { timeout: 60_000 }).toBe(true);
  s3.faults.set({ errorRate: 1 });
  const made = await bench.run({ type: 'incremental' });
  s3.faults.clear();
  expect(made, JSON.stringify(made.error)).toMatchObject({ status: 'completed', type: 'incremental' });
  const paths = (await bench.get(`/backups/${made.id}/documents`)).map(({ path }: { path: string }) => path);
  expect(paths).toContain('users/late');
});
