import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorDefinition, type JobErrorCode } from '@holdfast/contract';
import { type S3Sandbox, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { asOwner } from '../../../testing/people.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

let bench: BackupBench;
let s3: S3Sandbox;
beforeAll(async () => {
  s3 = await startS3Sandbox({ buckets: ['backups'] });
  bench = await startBackupBench({ ...hasty, OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
});
afterAll(async () => {
  await bench.close();
  await s3.stop();
});
beforeEach(async () => {
  bench.clear();
  for (let n = 0; n < 20; n++) await bench.firestore.doc(`users/${n}`).set({ n });
});
afterEach(() => {
  bench.sandbox.control.clearFaults();
  bench.sandbox.control.clearAccess();
  s3.faults.clear();
});

const restorePath = (id: string) => `/api/v1/backups/restore/${id}`;
const ended = (id: string) => untilEnded(bench.app, restorePath(id), bench.as);

async function start(body: object): Promise<string> {
  const started = await bench.app.request('POST', '/api/v1/backups/restore', { ...bench.as, body });
  expect(started.status, started.text).toBe(202);
  return started.body.data.id;
}

const withoutSafety = { options: { safetyBackup: false } };

/** Ended as failed with this code, its advice, and whether trying again can help. */
function expectFailed(restore: { status: string; error: object | null }, code: JobErrorCode, mend?: RegExp) {
  const { retryable, advice: usual } = errorDefinition(code).job!;
  const advice = mend ? expect.stringMatching(mend) : usual;
  expect(restore).toMatchObject({ status: 'failed', displayStatus: 'Failed', error: { code, retryable, advice } });
}

async function resume(id: string): Promise<void> {
  const resumed = await bench.app.request('POST', `${restorePath(id)}/resume`, bench.as);
  expect(resumed.status, resumed.text).toBe(202);
  expect(await ended(id)).toMatchObject({ status: 'completed', error: null });
}

const documentsNow = async () => (await bench.firestore.collection('users').get()).size;

async function saveByDefaultIn(defaultStorageId: string): Promise<void> {
  const body = { settings: { defaultStorageId } };
  const answer = await bench.app.request('PUT', '/api/v1/organizations/current', { ...bench.as, body });
  expect(answer.status, answer.text).toBe(200);
}

test('a restore whose safety backup failed makes a new one when it is resumed', { tags: 'long' }, async () => {
  const storageDestinationId = await bench.addBucket(s3);
  // No other place is known that could take it.
  await saveByDefaultIn(storageDestinationId);
  const backupId = await bench.backUp();
  await bench.firestore.doc('users/1').set({ n: 100 });
  s3.faults.set({ errorRate: 1, operations: ['PutObject'] });
  const id = await start({ backupId });
  const failed = await ended(id);
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'STORAGE_UPLOAD_ERROR' } });
  expect((await bench.firestore.doc('users/1').get()).get('n')).toBe(100);
  s3.faults.clear();
  await resume(id);
  expect((await bench.firestore.doc('users/1').get()).get('n')).toBe(1);
  const { safetyBackupId } = await bench.get(`/backups/restore/${id}`);
  expect(safetyBackupId).not.toBe(failed.safetyBackupId);
  await saveByDefaultIn(bench.shop.destinationId);
});

describe('a target', () => {
  test('that refuses every write is RESTORE_PERMISSION_DENIED; with the right it goes on from there', async () => {
    const backupId = await bench.backUp();
    bench.clear();
    bench.sandbox.control.deny({ access: 'write' });
    const id = await start({ backupId, ...withoutSafety });
    expectFailed(await ended(id), 'RESTORE_PERMISSION_DENIED', /roles\/datastore\.user\).*resume/);
    bench.sandbox.control.clearAccess();
    await resume(id);
    expect(await documentsNow()).toBe(20);
  });

  test('whose write quota is used up is RESTORE_QUOTA_EXCEEDED; once it has refilled the restore goes on', async () => {
    const backupId = await bench.backUp();
    bench.clear();
    bench.sandbox.control.addFault({ method: 'BatchWrite', status: 'RESOURCE_EXHAUSTED' });
    const id = await start({ backupId, ...withoutSafety });
    expectFailed(await ended(id), 'RESTORE_QUOTA_EXCEEDED');
    bench.sandbox.control.clearFaults();
    await resume(id);
    expect(await documentsNow()).toBe(20);
  });

  test('whose quota runs out in the middle of a request fails no document: the restore says so and goes on later', async () => {
    const backupId = await bench.backUp();
    bench.clear();
    bench.sandbox.control.setWriteQuota({ documentsPerSecond: 5 });
    const id = await start({ backupId, ...withoutSafety });
    const failed = await ended(id);
    expectFailed(failed, 'RESTORE_QUOTA_EXCEEDED');
    expect(failed.errors).toMatchObject({ count: 0 });
    bench.sandbox.control.clearFaults();
    await resume(id);
    expect(await documentsNow()).toBe(20);
  });

  test('where others write to one document all the time fails that one, and everything else is done', {
    tags: 'long',
  }, async () => {
    const backupId = await bench.backUp({ collections: ['users'] });
    bench.clear();
    await bench.firestore.doc('users/extra').set({ n: 0 });
    bench.sandbox.control.addFault({ method: 'BatchWrite', document: 'users/1', status: 'ABORTED' });
    const id = await start({ backupId, options: { deleteExtra: true } });
    const failed = await ended(id);
    expectFailed(failed, 'SOURCE_UNAVAILABLE', /writes to these documents.*resume/);
    expect(failed).toMatchObject({ documentsRestored: 19, documentsDeleted: 1, errors: { count: 1 } });
    // Tried again alone, it still stops nothing.
    await bench.app.request('POST', `${restorePath(id)}/resume`, bench.as);
    expect(await ended(id)).toMatchObject({ status: 'failed', documentsRestored: 19, errors: { count: 1 } });
    bench.sandbox.control.clearFaults();
    await resume(id);
    expect(await documentsNow()).toBe(20);
  });

  test('that is away is SOURCE_UNAVAILABLE, and nothing is lost by waiting', async () => {
    const backupId = await bench.backUp();
    bench.clear();
    bench.sandbox.control.addFault({ method: 'BatchWrite', status: 'UNAVAILABLE' });
    const id = await start({ backupId, ...withoutSafety });
    expectFailed(await ended(id), 'SOURCE_UNAVAILABLE');
    bench.sandbox.control.clearFaults();
    await resume(id);
    expect(await documentsNow()).toBe(20);
  });
});

test('documents that the target does not take fail one by one, the rest is written, and a resume counts no collection twice', async () => {
  for (let n = 0; n < 20; n++) await bench.firestore.doc(`users/${n}/orders/1`).set({ n });
  const backupId = await bench.backUp();
  bench.clear();
  bench.sandbox.control.addFault({ method: 'BatchWrite', status: 'INVALID_ARGUMENT', times: 6 });
  const id = await start({ backupId, ...withoutSafety });
  const failed = await ended(id);
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'INVALID_STATE', retryable: false } });
  expect(failed.error.advice).toMatch(/leave those documents out/);
  const refused = failed.errors.count;
  expect(refused).toBeGreaterThan(0);
  expect(failed.documentsRestored).toBe(40 - refused);
  expect(failed.collectionsRestored).toBeLessThanOrEqual(21);
  await resume(id);
  expect(await bench.get(`/backups/restore/${id}`)).toMatchObject({ documentsRestored: 40, collectionsRestored: 21 });
  expect(await documentsNow()).toBe(20);
});

test('documents that a resume has settled are not written again by the next one', { tags: 'long' }, async () => {
  bench.clear();
  for (const id of ['ada', 'bob']) await bench.firestore.doc(`users/${id}`).set({ n: 1 });
  const backupId = await bench.backUp();
  bench.clear();
  bench.sandbox.control.addFault({ method: 'BatchWrite', status: 'INVALID_ARGUMENT' });
  const id = await start({ backupId, options: { mergeMode: 'skip_existing' } });
  expect(await ended(id)).toMatchObject({ status: 'failed', errors: { count: 2 } });
  await bench.firestore.doc('users/ada').set({ n: 2 });
  bench.sandbox.control.clearFaults();
  // Both together are refused, then bob alone.
  bench.sandbox.control.addFault({ method: 'BatchWrite', status: 'INVALID_ARGUMENT', times: 1 });
  bench.sandbox.control.addFault({ method: 'BatchWrite', status: 'INVALID_ARGUMENT', skip: 1 });
  await bench.app.request('POST', `${restorePath(id)}/resume`, bench.as);
  expect(await ended(id)).toMatchObject({ status: 'failed', documentsRestored: 0, errors: { count: 1 } });
  bench.sandbox.control.clearFaults();
  await bench.firestore.doc('users/ada').delete();
  await resume(id);
  expect(await bench.get(`/backups/restore/${id}`)).toMatchObject({ documentsRestored: 1 });
  expect((await bench.firestore.doc('users/ada').get()).exists).toBe(false);
});

describe('a backup', () => {
  test('that is damaged is INTEGRITY_ERROR, before the first write', async () => {
    const backupId = await bench.backUp();
    const folder = join(bench.app.folder, 'storage', bench.as.organizationId, 'backups', backupId, 'segments');
    const [segment] = await readdir(folder);
    await writeFile(join(folder, segment as string), 'not what was written');
    bench.clear();
    const failed = await ended(await start({ backupId, ...withoutSafety }));
    expectFailed(failed, 'INTEGRITY_ERROR');
    expect(failed.documentsRestored).toBe(0);
    expect(await documentsNow()).toBe(0);
  });

  test('whose key was withdrawn is DECRYPTION_ERROR, before the first write; with the key it goes on', async () => {
    const url = '/api/v1/organizations/current/encryption-key';
    const body = { key: Buffer.alloc(32, 7).toString('base64') };
    expect((await bench.app.request('PUT', url, { ...bench.as, body })).status).toBe(200);
    const backupId = await bench.backUp();
    expect((await bench.app.request('DELETE', url, bench.as)).status).toBe(200);
    bench.clear();
    const id = await start({ backupId, ...withoutSafety });
    expectFailed(await ended(id), 'DECRYPTION_ERROR');
    expect(await documentsNow()).toBe(0);
    await bench.app.request('PUT', url, { ...bench.as, body });
    await resume(id);
    expect(await documentsNow()).toBe(20);
    await bench.app.request('DELETE', url, bench.as);
  });

  test('whose storage is away or refuses us names the storage', { tags: 'long' }, async () => {
    const storageDestinationId = await bench.addBucket(s3);
    const backupId = await bench.backUp({ storageDestinationId });
    bench.clear();
    s3.faults.set({ errorRate: 1 });
    const id = await start({ backupId, ...withoutSafety });
    expectFailed(await ended(id), 'STORAGE_UNAVAILABLE');
    s3.faults.clear();
    await resume(id);
    expect(await documentsNow()).toBe(20);
  });
});

test('a restore that is cancelled stops writing and says CANCELLED', { tags: 'long' }, async () => {
  for (let n = 0; n < 400; n++) await bench.firestore.doc(`many/${n}`).set({ n });
  const backupId = await bench.backUp();
  bench.clear();
  bench.sandbox.control.addFault({ method: 'BatchWrite', latencyMs: 20_000 });
  const id = await start({ backupId, ...withoutSafety });
  const phase = async () => (await bench.get(`/backups/restore/${id}`)).phase;
  await expect.poll(phase).toBe('Restoring');
  const cancelled = await bench.app.request('POST', `${restorePath(id)}/cancel`, bench.as);
  expect(cancelled.status, cancelled.text).toBe(200);
  const restore = await ended(id);
  expect(restore).toMatchObject({ status: 'cancelled', error: { code: 'CANCELLED' } });
});

test('cancelling a restore also cancels its safety backup, and a resume makes a new one', {
  tags: 'long',
}, async () => {
  const storageDestinationId = await bench.addBucket(s3);
  await bench.firestore.doc('users/1').set({ n: 1 });
  const backupId = await bench.backUp({ storageDestinationId });
  await bench.firestore.doc('users/1').set({ n: 100 });
  s3.faults.set({ delayRate: 1, delayMsMin: 3000, operations: ['PutObject'] });
  const id = await start({ backupId });
  const saving = async () => (await bench.get(`/backups/restore/${id}`)).safetyBackupId;
  await expect.poll(saving).not.toBe(null);
  const first = await saving();
  const cancelled = await bench.app.request('POST', `${restorePath(id)}/cancel`, bench.as);
  expect(cancelled.body.data?.status, cancelled.text).toBe('cancelled');
  expect(await bench.get(`/backups/${first}`)).toMatchObject({ status: 'cancelled', error: { code: 'CANCELLED' } });
  s3.faults.clear();
  await resume(id);
  expect((await bench.firestore.doc('users/1').get()).get('n')).toBe(1);
  const second = await saving();
  expect(second).not.toBe(first);
  expect(await bench.get(`/backups/${second}`)).toMatchObject({ status: 'completed' });
});

test('a worker whose clock is behind does not count as dead, and a cancellation waits for its writes', {
  tags: 'long',
}, async () => {
  const backupId = await bench.backUp();
  bench.clear();
  const sql = (text: string) => asOwner(bench.app.databaseUrl, (client) => client.query(text));
  await sql(`create function clock_behind() returns trigger language plpgsql as $$
    begin new.updated_at := clock_timestamp() - interval '1 minute'; return new; end $$`);
  await sql('create trigger behind before update on restores for each row execute function clock_behind()');
  try {
    bench.sandbox.control.addFault({ method: 'BatchWrite', latencyMs: 3000 });
    const id = await start({ backupId, ...withoutSafety });
    const phase = async () => (await bench.get(`/backups/restore/${id}`)).phase;
    await expect.poll(phase).toBe('Restoring');
    const cancelled = await bench.app.request('POST', `${restorePath(id)}/cancel`, bench.as);
    expect(cancelled.body.data.status).toBe('cancelled');
    // Its own worker ended it; who is taken for dead loses its claim.
    expect((await sql(`select epoch from restores where id = '${id}'`)).rows).toEqual([{ epoch: 1 }]);
  } finally {
    await sql('drop trigger behind on restores');
  }
});

test('a moment that was not captured is POINT_IN_TIME_UNAVAILABLE; an unknown project is not found', async () => {
  const pointInTime = bench.app.clock.now().toISOString();
  const ask = (projectId: string) =>
    bench.app.request('POST', '/api/v1/backups/restore', { ...bench.as, body: { projectId, pointInTime } });
  expect((await ask(bench.shop.projectId)).body.error.code).toBe('POINT_IN_TIME_UNAVAILABLE');
  const unknown = await ask('prj_nobody');
  expect([unknown.status, unknown.body.error.code]).toEqual([404, 'PROJECT_NOT_FOUND']);
});
