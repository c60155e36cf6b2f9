import { createServer, request, type Server } from 'node:http';
import {
  DeleteObjectCommand,
  GetObjectRetentionCommand,
  ListObjectVersionsCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import {
  type GcsSandbox,
  type GoogleSandbox,
  type S3Sandbox,
  sandboxS3Credential,
  startGcsSandbox,
  startGoogleSandbox,
  startS3Sandbox,
} from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../testing/backup-bench.ts';
import { untilEnded } from '../../testing/protected-project.ts';

let bench: BackupBench;
let s3: S3Sandbox;
let gcs: GcsSandbox;
let google: GoogleSandbox;
let guarded: Server;
const dayMs = 86_400_000;

beforeAll(async () => {
  const blind = { accessKeyId: 'blind', secretAccessKey: 'b', deny: ['GetObjectLockConfiguration'] };
  s3 = await startS3Sandbox({ buckets: ['plain'], credentials: [sandboxS3Credential, blind] });
  const settings = { region: 'us-east-1', createdAtMs: Date.now(), versioning: 'Enabled' as const, objectLock: true };
  await s3.objects.saveBucket({ ...settings, name: 'locking' });
  google = await startGoogleSandbox();
  gcs = await startGcsSandbox({
    buckets: ['backups'],
    isTokenValid: (token) => google.control.verifyAccessToken(token) !== undefined,
  });
  guarded = await withoutRights(gcs, 'closed');
  const storage = `http://127.0.0.1:${(guarded.address() as { port: number }).port}`;
  bench = await startBackupBench({
    ...hasty,
    OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8',
    GOOGLE_API_ENDPOINTS: JSON.stringify({ ...google.endpoints, storage }),
  });
  await bench.firestore.doc('users/ada').set({ n: 1 });
});
afterAll(async () => {
  await bench.close();
  guarded.close();
  await Promise.all([s3.stop(), gcs.stop(), google.stop()]);
});

/** Google's storage as an account sees it that has no role on one of the buckets; to another the connection breaks. */
async function withoutRights({ port }: GcsSandbox, bucket: string): Promise<Server> {
  const reason = 'reader@sandbox.iam.gserviceaccount.com does not have storage.objects.create access.';
  const refusal = JSON.stringify({ error: { code: 403, message: reason, errors: [{ reason: 'forbidden' }] } });
  const server = createServer((incoming, answer) => {
    const { method, url = '', headers } = incoming;
    if (url.includes('/b/broken/')) return void incoming.destroy();
    if (url.includes(`/b/${bucket}/`))
      return void incoming.resume().on('end', () => answer.writeHead(403).end(refusal));
    incoming.pipe(
      request({ port, host: '127.0.0.1', method, path: url, headers }, (reply) => {
        reply.pipe(answer.writeHead(reply.statusCode ?? 502, reply.headers));
      }),
    );
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return server;
}

async function call(method: string, path: string, body?: object) {
  return bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body && { body }) });
}

async function destination(body: object): Promise<string> {
  const created = await call('POST', '/storage-destinations', body);
  expect([created.status, created.body.data?.status], created.text).toEqual([201, 'connected']);
  return created.body.data.id;
}

test('under object lock every object of a backup is locked for its days, whoever tries to delete it', async () => {
  const storageDestinationId = await destination({
    name: 'Locking',
    type: 's3',
    bucket: 'locking',
    endpoint: s3.endpoint,
    forcePathStyle: true,
    objectLock: { mode: 'compliance', days: 10 },
    credentials: sandboxS3Credential,
  });
  const id = await bench.backUp({ storageDestinationId });
  const client = new S3Client({
    endpoint: s3.endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    // A copy: the client writes into the object it is given.
    credentials: { ...sandboxS3Credential },
  });
  const listed = await client.send(new ListObjectVersionsCommand({ Bucket: 'locking', Prefix: `backups/${id}/` }));
  expect(listed.Versions?.length).toBeGreaterThanOrEqual(2);
  for (const { Key, VersionId } of listed.Versions ?? []) {
    const { Retention } = await client.send(new GetObjectRetentionCommand({ Bucket: 'locking', Key, VersionId }));
    expect(Retention, Key).toMatchObject({ Mode: 'COMPLIANCE' });
    expect(Retention?.RetainUntilDate?.getTime()).toBeGreaterThan(Date.now() + 9.9 * dayMs);
    const removal = client.send(new DeleteObjectCommand({ Bucket: 'locking', Key, VersionId }));
    await expect(removal).rejects.toMatchObject({ name: 'AccessDenied' });
  }
  client.destroy();
  const refused = await call('DELETE', `/backups/${id}`);
  expect([refused.status, refused.body.error.code]).toEqual([409, 'INVALID_STATE']);
  expect((await bench.get(`/backups/${id}/documents`)).length).toBe(1);
  const { snapshotTime, compressedSize } = await bench.get(`/backups/${id}`);
  const newestBackupAt = new Date(snapshotTime).toISOString();
  const held = { isConnected: true, backups: 1, bytes: compressedSize, newestBackupAt, log: null };
  const inside = await bench.get(`/storage-destinations/${storageDestinationId}/projects`);
  expect(inside).toMatchObject([{ projectId: bench.shop.projectId, ...held }]);
  const { lastTest } = await bench.get(`/storage-destinations/${storageDestinationId}`);
  expect(lastTest).toMatchObject({ ok: true, keepsVersions: true });
});

const lock = { mode: 'governance' as const, days: 10 };
const amazon = {
  type: 's3',
  bucket: 'plain',
  forcePathStyle: true,
  objectLock: lock,
  credentials: sandboxS3Credential,
};

test('a destination that is turned to a bucket without its backups is an error, until it is turned back', async () => {
  const storageDestinationId = await destination({
    ...amazon,
    objectLock: null,
    endpoint: s3.endpoint,
    name: 'Turned',
  });
  await bench.backUp({ storageDestinationId });
  const turn = async (bucket: string) =>
    (await call('PATCH', `/storage-destinations/${storageDestinationId}`, { bucket, credentials: sandboxS3Credential }))
      .body.data;
  expect(await turn('locking')).toMatchObject({ status: 'error', error: { code: 'STORAGE_UNAVAILABLE' } });
  expect(await turn('plain')).toMatchObject({ status: 'connected', error: null });
});

test('a destination with object lock in a bucket without it is an error at once, until the one or the other changes', async () => {
  const body = { ...amazon, name: 'Plain', endpoint: s3.endpoint, isDefault: true };
  const { data } = (await call('POST', '/storage-destinations', body)).body;
  expect(data).toMatchObject({ status: 'error', isDefault: false });
  expect(data.error).toMatchObject({
    code: 'STORAGE_UNAVAILABLE',
    message: expect.stringMatching(/^Object lock is not enabled on the bucket of s3:\/\/plain\/\. Enable it/),
    advice: expect.stringContaining('--no-object-lock'),
    retryable: false,
    details: { step: 'objectLock' },
  });
  const path = `/storage-destinations/${data.id}`;
  const tested = async () => (await call('POST', `${path}/test`)).body.data;
  const failing = await tested();
  expect(failing.ok).toBe(false);
  expect(failing.steps.map(({ name, ok }: { name: string; ok: boolean }) => [name, ok])).toEqual([
    ...['write', 'read', 'range', 'list', 'delete'].map((name) => [name, true]),
    ['objectLock', false],
  ]);
  expect((await call('PATCH', path, { objectLock: null })).body.data).toMatchObject({ status: 'connected' });
  expect((await tested()).steps.map(({ name }: { name: string }) => name)).not.toContain('objectLock');
  expect((await call('PATCH', path, { objectLock: lock })).body.data).toMatchObject({ status: 'error' });
  await s3.objects.saveBucket({ ...s3.objects.bucket('plain').settings, versioning: 'Enabled', objectLock: true });
  expect((await tested()).steps.at(-1)).toMatchObject({ name: 'objectLock', ok: true, error: null });
  expect((await call('GET', path)).body.data).toMatchObject({ status: 'connected', error: null });
});

test('credentials that may not ask for the object lock are told which permission they lack', async () => {
  const credentials = { accessKeyId: 'blind', secretAccessKey: 'b' };
  const body = { ...amazon, name: 'Blind', bucket: 'locking', endpoint: s3.endpoint, credentials };
  const { error } = (await call('POST', '/storage-destinations', body)).body.data;
  expect(error).toMatchObject({
    code: 'STORAGE_PERMISSION_DENIED',
    message: expect.not.stringContaining('not enabled'),
    advice: expect.stringMatching(/^Grant s3:GetBucketObjectLockConfiguration on the bucket/),
    details: { step: 'objectLock' },
  });
});

test('a bucket of Google’s without retention of single objects cannot have an object lock', async () => {
  const serviceAccountKey = google.control.createServiceAccount('sandbox');
  const body = { name: 'Free', type: 'gcs', bucket: 'backups', objectLock: lock, credentials: { serviceAccountKey } };
  const { error } = (await call('POST', '/storage-destinations', body)).body.data;
  expect(error).toMatchObject({
    message: expect.stringMatching(/^Object retention is not enabled on the bucket of gs:\/\/backups\//),
    details: { step: 'objectLock' },
  });
});

test('what is wrong with a bucket of Google’s is told so that a person can mend it', async () => {
  const serviceAccountKey = google.control.createServiceAccount('sandbox');
  const { private_key } = google.control.createServiceAccount('other');
  const cases = [
    [{ bucket: 'nowhere' }, serviceAccountKey, 'STORAGE_UNAVAILABLE', /no bucket at gs:\/\/nowhere/, /create it/],
    [
      {},
      { ...serviceAccountKey, private_key },
      'STORAGE_PERMISSION_DENIED',
      /key of the service account is refused/,
      /holdfast storage update/,
    ],
    [
      { bucket: 'closed' },
      serviceAccountKey,
      'STORAGE_PERMISSION_DENIED',
      /does not have storage\.objects\.create/,
      /roles\/storage\.objectAdmin/,
    ],
    [
      { bucket: 'broken' },
      serviceAccountKey,
      'STORAGE_UNAVAILABLE',
      /^gs:\/\/broken\/: The connection to 127\.0\.0\.1 broke/,
      /Let this service reach 127\.0\.0\.1/,
    ],
  ] as const;
  for (const [more, key, code, message, advice] of cases) {
    const body = { name: 'Google', type: 'gcs', bucket: 'backups', credentials: { serviceAccountKey: key }, ...more };
    const { error } = (await call('POST', '/storage-destinations', body)).body.data;
    expect(error).toMatchObject({
      code,
      message: expect.stringMatching(message),
      advice: expect.stringMatching(advice),
      details: { step: 'write' },
    });
  }
});

test('a bucket of Google’s is a destination like any other: tested, backed up to, read, restored from, emptied', {
  tags: 'long',
}, async () => {
  const serviceAccountKey = google.control.createServiceAccount('sandbox');
  const storageDestinationId = await destination({
    name: 'Google',
    type: 'gcs',
    bucket: 'backups',
    prefix: 'team',
    credentials: { serviceAccountKey },
  });
  const tested = await call('POST', `/storage-destinations/${storageDestinationId}/test`);
  expect(tested.body.data, tested.text).toMatchObject({ ok: true });
  const full = await bench.backUp({ storageDestinationId });
  await bench.firestore.doc('users/bob').set({ n: 2 });
  const increment = await bench.run({ storageDestinationId, type: 'incremental' });
  expect(increment, JSON.stringify(increment.error)).toMatchObject({ status: 'completed', parentId: full });
  expect(await bench.get(`/backups/${increment.id}/documents/users/ada`)).toMatchObject({ path: 'users/ada' });
  bench.clear();
  const started = await call('POST', '/backups/restore', { backupId: increment.id, options: { safetyBackup: false } });
  const done = await untilEnded(bench.app, started.headers.get('location') as string, bench.as);
  expect(done, JSON.stringify(done.error)).toMatchObject({ status: 'completed', documentsRestored: 2 });
  expect((await bench.firestore.collection('users').get()).size).toBe(2);
  for (const id of [increment.id, full]) expect((await call('DELETE', `/backups/${id}`)).status).toBe(200);
  const left = () =>
    [...gcs.objects.bucket('backups').objects.entriesFrom('team/backups/')].filter(([key]) =>
      key.startsWith('team/backups/'),
    );
  await expect.poll(left).toEqual([]);
});
