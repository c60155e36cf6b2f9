// @module-tag long
import { type BlobStore, createS3Store, probePrefix } from '@holdfast/engine';
import { type S3Sandbox, sandboxS3Credential, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { foundOrganization } from '../../../testing/people.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

let bench: BackupBench;
let s3: S3Sandbox;
let bucket: BlobStore;
let folderId: string;
let bucketId: string;
let backups: string[];

beforeAll(async () => {
  s3 = await startS3Sandbox({ buckets: ['backups'] });
  const connection = { region: 'us-east-1', endpoint: s3.endpoint, forcePathStyle: true };
  bucket = await createS3Store({ kind: 's3', bucket: 'backups', credentials: sandboxS3Credential, ...connection });
  bench = await startBackupBench({ ...hasty, OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
  folderId = bench.shop.destinationId;
  bucketId = await bench.addBucket(s3);
  await bench.firestore.doc('users/ada').set({ n: 1 });
  backups = [await bench.backUp()];
  for (const name of ['bob', 'cat', 'dan']) {
    await bench.firestore.doc(`users/${name}`).set({ n: 1 });
    backups.push(await bench.backUp({ type: 'incremental' }));
  }
});
afterAll(async () => {
  await bench.close();
  await bucket.close();
  await s3.stop();
});
afterEach(() => s3.faults.clear());

async function runTask(destinationId: string, kind: string, body?: object) {
  const path = `/api/v1/storage-destinations/${destinationId}/${kind}`;
  const started = await bench.app.request('POST', path, { ...bench.as, ...(body ? { body } : {}) });
  expect(started.status, started.text).toBe(202);
  return untilEnded(bench.app, started.headers.get('location') as string, bench.as);
}

async function keysInBucket(): Promise<string[]> {
  const keys: string[] = [];
  // What a probe could not take away again is swept when it is old.
  for await (const { key } of bucket.list('')) if (!key.startsWith(probePrefix)) keys.push(key);
  return keys;
}

const documentsOf = async (id: string) =>
  (await bench.app.request('GET', `/api/v1/backups/${id}/export`, bench.as)).text;
const placesOf = async (id: string) =>
  (await bench.get(`/backups/${id}`)).copies.map((copy: { storageDestinationId: string }) => copy.storageDestinationId);

async function expectAllAt(destinationId: string, contents: readonly string[]) {
  for (const [index, id] of backups.entries()) {
    expect(await placesOf(id)).toEqual([destinationId]);
    expect(await documentsOf(id)).toBe(contents[index]);
  }
}

test('a migration into a bucket that breaks off leaves every backup where it was, and another one finishes it', async () => {
  const contents = await Promise.all(backups.map(documentsOf));
  s3.faults.set({ seed: 7, errorRate: 0.4, operations: ['PutObject'] });
  const broken = await runTask(folderId, 'migrate', { toStorageDestinationId: bucketId });
  expect(broken).toMatchObject({ status: 'failed', error: { code: 'STORAGE_UPLOAD_ERROR', retryable: true } });
  s3.faults.clear();
  await expectAllAt(folderId, contents);
  const sentBefore = (await keysInBucket()).length;

  const finished = await runTask(folderId, 'migrate', { toStorageDestinationId: bucketId });
  expect(finished.status, JSON.stringify(finished.error)).toBe('completed');
  expect(finished.result).toMatchObject({ copied: backups.length, removed: backups.length, failures: [] });
  expect(sentBefore).toBeGreaterThan(0);
  expect((await keysInBucket()).length).toBeGreaterThan(sentBefore);
  await expectAllAt(bucketId, contents);
});

test('what nobody owns is swept from a bucket, and only that', async () => {
  const before = await keysInBucket();
  const stray = [
    `backups/bkp_0000000000ABCDEFGHJKMNPQRS/segments/${'1'.repeat(32)}`,
    `backups/${backups[0]}/segments/${'0'.repeat(32)}`,
  ];
  for (const key of [...stray, 'theirs/file']) await bucket.put(key, Buffer.from('left behind'));
  s3.faults.set({ seed: 3, errorRate: 1, operations: ['DeleteObjects', 'DeleteObject'] });
  expect((await bench.inDays(2, () => runTask(bucketId, 'sweep'))).status).toBe('failed');
  s3.faults.clear();
  const swept = await bench.inDays(2, () => runTask(bucketId, 'sweep'));
  // Those two, and the probe that could not be taken back when nothing could be deleted.
  expect(swept).toMatchObject({ status: 'completed', result: { removed: 3, failures: [] } });
  expect(await keysInBucket()).toEqual([...before, 'theirs/file'].toSorted());
});

test('a migration whose originals cannot be removed has moved everything, and another one removes them', async () => {
  const contents = await Promise.all(backups.map(documentsOf));
  s3.faults.set({ errorRate: 1, operations: ['DeleteObjects', 'DeleteObject'] });
  const broken = await runTask(bucketId, 'migrate', { toStorageDestinationId: folderId });
  const copied = { copied: backups.length, found: backups.length };
  expect(broken).toMatchObject({ status: 'failed', error: { retryable: true }, result: { ...copied, removed: 0 } });
  s3.faults.clear();
  await expectAllAt(folderId, contents);
  const finished = await runTask(bucketId, 'migrate', { toStorageDestinationId: folderId });
  expect(finished).toMatchObject({ status: 'completed', result: { copied: 0, removed: backups.length } });
  // The organization's sealed keys stay: the bucket is still one of its destinations.
  const sealedKey = expect.stringMatching(`^keys/${bench.as.organizationId}/`);
  expect(await keysInBucket()).toEqual([sealedKey, 'theirs/file']);
  await expectAllAt(folderId, contents);
});

test('a merge that is called off while it stores leaves nothing that a rescan would take for a backup', async () => {
  s3.faults.set({ delayRate: 1, delayMsMin: 1500, delayMsMax: 1600, operations: ['PutObject'] });
  const body = { projectId: bench.shop.projectId, type: 'synthetic', storageDestinationId: bucketId };
  const started = await bench.app.request('POST', '/api/v1/backups', { ...bench.as, body });
  expect(started.status, started.text).toBe(202);
  const { id } = started.body.data;
  await expect.poll(() => s3.faults.counts.delays).toBeGreaterThan(0);
  expect((await bench.app.request('POST', `/api/v1/backups/${id}/cancel`, { ...bench.as, body: {} })).status).toBe(200);
  expect((await untilEnded(bench.app, `/api/v1/backups/${id}`, bench.as)).status).toBe('cancelled');
  s3.faults.clear();
  const left = async () => (await keysInBucket()).filter((key) => key.includes(id));
  await expect.poll(left).toEqual([]);
  const rescan = await runTask(bucketId, 'rescan');
  expect(rescan.result, JSON.stringify(rescan)).toMatchObject({ registered: 0, relinked: 0 });
  expect((await bench.get(`/backups/${id}`)).status).toBe('cancelled');
});

test('nothing of an organization that is softly deleted is a leftover to another one in its bucket, as long as it can be recovered', async () => {
  await bench.backUp({ storageDestinationId: bucketId });
  const before = await keysInBucket();
  const { name: confirmName } = await bench.get('/organizations/current');
  const neighbour = { token: bench.as.token, organizationId: await foundOrganization(bench.app, bench.shop.owner) };
  const { organizationId } = bench.as;
  const call = (method: string, path: string, body?: object) =>
    bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body && { body }) });
  const deleted = await call('POST', '/organizations/current/delete', { confirmName });
  expect(deleted.body.data?.deletionType, deleted.text).toBe('soft');
  bench.as.organizationId = neighbour.organizationId;
  try {
    const theirs = await bench.addBucket(s3);
    const orphans = await bench.inDays(3, () => call('GET', `/storage-destinations/${theirs}/orphans`));
    expect(orphans.status, orphans.text).toBe(200);
    for (const { key } of orphans.body.data) expect(key.startsWith(probePrefix), key).toBe(true);
    expect((await bench.inDays(3, () => runTask(theirs, 'sweep'))).status).toBe('completed');
    const found = await runTask(theirs, 'rescan');
    expect(found, JSON.stringify(found)).toMatchObject({ status: 'completed', result: { registered: 0 } });
    const isTheirs = (key: string) => key.startsWith(`keys/${neighbour.organizationId}/`);
    expect((await keysInBucket()).filter((key) => !isTheirs(key))).toEqual(before);
  } finally {
    bench.as.organizationId = organizationId;
  }
  const recovered = await call('POST', `/organizations/${organizationId}/recover`);
  expect(recovered.status, recovered.text).toBe(200);
  expect(await keysInBucket()).toEqual(expect.arrayContaining(before));
});
