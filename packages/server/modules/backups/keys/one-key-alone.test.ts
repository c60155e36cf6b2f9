// @module-tag long
import { join } from 'node:path';
import { createLocalStore, KeyRing, openChain, SegmentCodec } from '@holdfast/engine';
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
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { foundOrganization } from '../../../testing/people.ts';

/** The customer's key opens what was made with it, without the service and without any other key. */
let bench: BackupBench;
let s3: S3Sandbox;
let gcs: GcsSandbox;
let google: GoogleSandbox;
beforeAll(async () => {
  s3 = await startS3Sandbox({ credentials: [sandboxS3Credential] });
  const now = Date.now();
  const settings = { region: 'us-east-1', createdAtMs: now, versioning: 'Enabled' as const, objectLock: true };
  await s3.objects.saveBucket({ ...settings, name: 'vault' });
  google = await startGoogleSandbox();
  gcs = await startGcsSandbox({ isTokenValid: (token) => google.control.verifyAccessToken(token) !== undefined });
  await gcs.objects.saveBucket({
    name: 'policy',
    project: 'sandbox',
    location: 'US',
    createdAtMs: now,
    updatedAtMs: now,
    metageneration: 1,
    objectRetention: false,
    retentionPolicy: { retentionPeriodSeconds: 864_000, effectiveAtMs: now, isLocked: true },
  });
  bench = await startBackupBench({
    ...hasty,
    OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8',
    GOOGLE_API_ENDPOINTS: JSON.stringify({ ...google.endpoints, storage: gcs.endpoint }),
  });
});
afterAll(async () => {
  await bench.close();
  await Promise.all([s3.stop(), gcs.stop(), google.stop()]);
});

async function call(method: string, path: string, body: object) {
  const answer = await bench.app.request(method, `/api/v1/organizations/current/encryption-key${path}`, {
    ...bench.as,
    body,
  });
  expect(answer.status, answer.text).toBe(200);
}

let changes = 0;
async function increment(): Promise<{ id: string; type: string; warnings: { code: string; message: string }[] }> {
  await bench.firestore.doc('users/ada').set({ n: changes++ });
  return bench.get(`/backups/${await bench.backUp({ type: 'incremental' })}`);
}

/** How many backups of the chain a passphrase opens by itself. */
async function openedBy(passphrase: string, backupId: string): Promise<number> {
  const store = await createLocalStore({ root: join(bench.app.folder, 'storage', bench.as.organizationId) });
  try {
    const keys = new KeyRing([{ passphrase }]);
    return (await openChain({ store, backupId, keys, codec: new SegmentCodec() })).length;
  } finally {
    await store.close();
  }
}

test('an increment never builds on a backup that the key it is made with does not open', async () => {
  await bench.startOver();
  await bench.backUp();
  await call('PUT', '', { passphrase: 'the first of our keys' });
  const first = await increment();
  expect(first).toMatchObject({ type: 'full', warnings: [{ code: 'BECAME_FULL' }] });
  expect(first.warnings[0]?.message).toContain('another key');
  expect(await openedBy('the first of our keys', first.id)).toBe(1);
  const second = await increment();
  expect(second.type).toBe('incremental');
  expect(await openedBy('the first of our keys', second.id)).toBe(2);
});

test('a rotation brings the whole chain under the new key, and increments go on', async () => {
  await call('PUT', '', { passphrase: 'the second of our keys' });
  await call('POST', '/rotate', {});
  const third = await increment();
  expect(third.type).toBe('incremental');
  await expect.poll(() => openedBy('the second of our keys', third.id).catch(() => 0)).toBe(3);
});

const vault = () => ({
  name: 'Vault',
  type: 's3',
  bucket: 'vault',
  endpoint: s3.endpoint,
  forcePathStyle: true,
  objectLock: { mode: 'compliance', days: 10 },
  credentials: sandboxS3Credential,
});
const policy = () => ({
  name: 'Policy',
  type: 'gcs',
  bucket: 'policy',
  credentials: { serviceAccountKey: google.control.createServiceAccount('sandbox') },
});

test.each([
  ['an object lock', vault],
  ['a bucket that keeps what it has', policy],
])('what %s leaves under its former key is not built on, also where it lies second', async (_, place) => {
  const path = '/api/v1/storage-destinations';
  const made = await bench.app.request('POST', path, { ...bench.as, body: place() });
  expect(made.status, made.text).toBe(201);
  const locking = made.body.data.id;
  for (const storageDestinationIds of [[locking], [bench.shop.destinationId, locking]]) {
    const increment = (body: object = {}) => bench.run({ type: 'incremental', storageDestinationIds, ...body });
    await call('PUT', '', { passphrase: `before, ${locking} of ${storageDestinationIds.length}` });
    await bench.backUp({ storageDestinationIds });
    expect(await increment()).toMatchObject({ status: 'completed', type: 'incremental' });
    await call('PUT', '', { passphrase: `after, ${locking} of ${storageDestinationIds.length}` });
    await call('POST', '/rotate', {});
    const next = await increment();
    expect(next, JSON.stringify(next.error)).toMatchObject({ status: 'completed', type: 'full' });
    expect(next.warnings).toMatchObject([{ code: 'BECAME_FULL', message: expect.stringContaining('lock') }]);
    expect(await increment()).toMatchObject({ status: 'completed', type: 'incremental' });
  }
});

test('nor does it build on a backup that a lock keeps under the key of a former organization: a recovery kit holds keys of one', async () => {
  const { projectId } = bench.shop;
  const ask = (method: string, path: string, body: object) =>
    bench.app.request(method, `/api/v1${path}`, { ...bench.as, body });
  const made = await ask('POST', '/storage-destinations', { ...vault(), name: 'Left' });
  expect(await bench.run({ storageDestinationIds: [made.body.data.id] })).toMatchObject({ status: 'completed' });
  const organizationId = await foundOrganization(bench.app, bench.shop.owner);
  const moved = await ask('PATCH', `/projects/${projectId}`, { organizationId });
  expect(moved.status, moved.text).toBe(200);
  bench.as.organizationId = organizationId;
  const places: { id: string; name: string }[] = await bench.get('/storage-destinations');
  const { id } = places.find(({ name }) => name === 'Left')!;
  const given = await ask('PATCH', `/storage-destinations/${id}`, { credentials: sandboxS3Credential });
  expect(given.body.data?.status, given.text).toBe('connected');
  const increment = () => bench.run({ type: 'incremental', storageDestinationIds: [id] });
  const first = await increment();
  expect(first, JSON.stringify(first.error)).toMatchObject({ status: 'completed', type: 'full' });
  expect(first.warnings).toMatchObject([{ code: 'BECAME_FULL', message: expect.stringContaining('lock') }]);
  expect(await increment()).toMatchObject({ status: 'completed', type: 'incremental' });
});
