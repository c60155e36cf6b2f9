// @module-tag long
import { randomBytes } from 'node:crypto';
import { type BlobStore, createS3Store, KeyRing } from '@holdfast/engine';
import { type S3Sandbox, sandboxS3Credential, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ManifestObject } from '../../../../engine/format/manifest-object.ts';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { foundOrganization, signUp } from '../../../testing/people.ts';
import { untilEnded } from '../../../testing/protected-project.ts';
import { startTestApp, type TestApp } from '../../../testing/test-app.ts';

let bench: BackupBench;
let fresh: TestApp;
let s3: S3Sandbox;
let store: BlobStore;
const environment = { ...hasty, PITR_SEGMENT_SECONDS: '0.2', OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' };
beforeAll(async () => {
  s3 = await startS3Sandbox({ buckets: ['backups'] });
  bench = await startBackupBench(environment, { listenMode: 'as-production', listenHeartbeatMs: 50 });
  fresh = await startTestApp({ ...environment, MASTER_KEY: randomBytes(32).toString('base64') });
  const place = { bucket: 'backups', region: 'us-east-1', endpoint: s3.endpoint, forcePathStyle: true };
  store = await createS3Store({ kind: 's3', ...place, credentials: sandboxS3Credential });
});
afterAll(async () => {
  await store.close();
  await fresh.close();
  await bench.close();
  await s3.stop();
});

const encryptionKey = '/organizations/current/encryption-key';
type As = BackupBench['as'];
async function on(app: TestApp, as: As, method: string, path: string, body?: object) {
  const answer = await app.request(method, `/api/v1${path}`, { ...as, ...(body ? { body } : {}) });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer;
}
async function opens(key: string, ownerId: string, passphrase: string): Promise<boolean> {
  const { envelope } = new ManifestObject(await store.get(key)).clear();
  const opening = new KeyRing([{ passphrase }]).unwrap(ownerId, envelope);
  return opening.then(
    () => true,
    () => false,
  );
}

test('a backup that a new server opened by its passphrase alone is rewrapped by a rotation', async () => {
  await bench.startOver();
  await on(bench.app, bench.as, 'PUT', encryptionKey, { passphrase: 'the one of the worst day' });
  const storageDestinationId = await bench.addBucket(s3);
  const backupId = await bench.backUp({ storageDestinationId });
  const pitr = `/projects/${bench.shop.projectId}/pitr`;
  await on(bench.app, bench.as, 'POST', `${pitr}/enable`, { storageDestinationId });
  await expect.poll(async () => (await bench.get(pitr)).status).toBe('running');
  await on(bench.app, bench.as, 'POST', `${pitr}/disable`);

  const owner = await signUp(fresh, 'again@example.com');
  const as = { token: owner.token, organizationId: await foundOrganization(fresh, owner) };
  await on(fresh, as, 'PUT', encryptionKey, { passphrase: 'the one of the worst day' });
  const place = { type: 's3', bucket: 'backups', endpoint: s3.endpoint, forcePathStyle: true };
  const added = { name: 'Found', ...place, credentials: sandboxS3Credential };
  const { id } = (await on(fresh, as, 'POST', '/storage-destinations', added)).body.data;
  const rescan = await on(fresh, as, 'POST', `/storage-destinations/${id}/rescan`);
  const task = await untilEnded(fresh, rescan.headers.get('location') as string, as);
  expect(task.result, JSON.stringify(task)).toMatchObject({ failures: [] });

  await on(fresh, as, 'PUT', encryptionKey, { passphrase: 'the one from now on' });
  await on(fresh, as, 'POST', `${encryptionKey}/rotate`, {});
  const manifest = `backups/${backupId}/manifest`;
  await expect.poll(() => opens(manifest, backupId, 'the one from now on')).toBe(true);
  await fresh.tasks.runNow('pitr manifests');
  const logs = [...s3.objects.bucket('backups').keys.entriesFrom('logs/')].map(([key]) => key);
  const log = logs.find((key) => key.endsWith('/manifest'))!;
  expect(await opens(log, log.split('/')[1]!, 'the one from now on')).toBe(true);
  expect(await opens(log, log.split('/')[1]!, 'the one of the worst day')).toBe(false);
});
