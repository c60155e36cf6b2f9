import { type S3Sandbox, sandboxS3Credential, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../testing/backup-bench.ts';
import { asOwner, foundOrganization } from '../../testing/people.ts';
import { untilEnded } from '../../testing/protected-project.ts';
import type { TestResponse } from '../../testing/test-app.ts';

const missing = { code: 'STORAGE_CREDENTIALS_MISSING', message: expect.stringContaining('no credentials') };
const connection = () => ({ type: 's3', bucket: 'backups', endpoint: s3.endpoint, forcePathStyle: true });

let bench: BackupBench;
let s3: S3Sandbox;
/** The organization that the project was moved to. */
let there: { token: string; organizationId: string };
let bucketId: string;
let inBucket: string;
let inBoth: string;
let doomed: string;

const call = (method: string, path: string, body?: object) =>
  bench.app.request(method, `/api/v1${path}`, { ...there, ...(body ? { body } : {}) });
const ended = (answer: TestResponse) => {
  expect(answer.status, answer.text).toBe(202);
  return untilEnded(bench.app, answer.headers.get('location') as string, there);
};
const objectsOf = (backupId: string) =>
  [...s3.objects.bucket('backups').keys.entriesFrom('')].filter(([key]) => key.includes(backupId)).length;

beforeAll(async () => {
  s3 = await startS3Sandbox({ buckets: ['backups'] });
  bench = await startBackupBench({ ...hasty, OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
  const body = { ...connection(), name: 'Bucket', credentials: sandboxS3Credential };
  const created = await bench.app.request('POST', '/api/v1/storage-destinations', { ...bench.as, body });
  const storageDestinationId = created.body.data.id;
  await bench.firestore.doc('users/ada').set({ n: 1 });
  doomed = await bench.backUp({ storageDestinationId });
  inBucket = await bench.backUp({ storageDestinationId });
  inBoth = await bench.backUp({ storageDestinationIds: [storageDestinationId, bench.shop.destinationId] });
  there = { token: bench.as.token, organizationId: await foundOrganization(bench.app, bench.shop.owner) };
  const moved = await bench.app.request('PATCH', `/api/v1/projects/${bench.shop.projectId}`, {
    ...bench.as,
    body: { organizationId: there.organizationId },
  });
  expect(moved.status, moved.text).toBe(200);
  bucketId = (await call('GET', `/backups/${inBucket}`)).body.data.storageDestination.id;
});
afterAll(async () => {
  await bench.close();
  await s3.stop();
});

test('a moved destination arrives without credentials, and says so', async () => {
  expect((await call('GET', `/storage-destinations/${bucketId}`)).body.data).toMatchObject({
    status: 'error',
    bucket: 'backups',
    error: { ...missing, retryable: false, advice: expect.stringContaining('credentials') },
  });
  const { rows } = await asOwner(bench.app.databaseUrl, (client) =>
    client.query(
      `select credentials, (select count(*)::int from outbox_events where organization_id = $2 and type = 'storage.error') as told
       from storage_destinations where id = $1`,
      [bucketId, there.organizationId],
    ),
  );
  expect(rows).toEqual([{ credentials: null, told: 1 }]);
});

test('whoever looks into it or works on it at once gets that sentence', async () => {
  const importRequest = {
    projectId: bench.shop.projectId,
    storageDestinationId: bucketId,
    path: `backups/${inBucket}/manifest`,
    metadata: { source: 'holdfast' },
  };
  const folder = (await call('GET', '/storage-destinations')).body.data.find(
    ({ type }: { type: string }) => type === 'local',
  );
  for (const answer of [
    await call('GET', `/backups/${inBucket}/documents`),
    await call('GET', `/backups/${inBucket}/collections`),
    await call('GET', `/backups/${inBucket}/diff?against=${inBoth}`),
    await call('GET', `/storage-destinations/${bucketId}/orphans`),
    await call('POST', `/storage-destinations/${bucketId}/migrate`, { toStorageDestinationId: folder.id }),
    await call('POST', '/backups/import', importRequest),
  ])
    expect([answer.status, answer.body.error?.code, answer.body.error?.message], answer.text).toEqual([
      409,
      missing.code,
      missing.message,
    ]);
  const tested = await call('POST', `/storage-destinations/${bucketId}/test`);
  expect(tested.body.data).toMatchObject({ ok: false, steps: [{ error: missing.message }] });
});

test('every job that needs it ends with that error', async () => {
  const options = { safetyBackup: false };
  for (const job of [
    await call('POST', `/storage-destinations/${bucketId}/rescan`),
    await call('POST', `/storage-destinations/${bucketId}/sweep`),
    await call('POST', '/backups', { projectId: bench.shop.projectId, storageDestinationId: bucketId }),
    await call('POST', '/backups/restore', { backupId: inBucket, options }),
  ])
    expect(await ended(job)).toMatchObject({ status: 'failed', error: missing });
});

test('a backup that lies elsewhere too is read from there', async () => {
  expect((await call('GET', `/backups/${inBoth}/documents`)).body.data).toHaveLength(1);
});

test('a deleted backup waits for the credentials that its removal needs', async () => {
  expect((await call('DELETE', `/backups/${doomed}`)).status).toBe(200);
  await expect.poll(() => bench.app.logged()).toContain('out of reach');
  expect((await call('GET', `/backups/${doomed}`)).status).toBe(404);
  expect(objectsOf(doomed)).toBeGreaterThan(0);
});

test('credentials mend it: it reads, and what lies in it opens with the keys of its new organization alone', {
  tags: 'long',
}, async () => {
  const turned = await call('PATCH', `/storage-destinations/${bucketId}`, { endpoint: null });
  expect(turned.body.error?.code, 'not turned elsewhere without credentials').toBe('VALIDATION_ERROR');
  const patched = await call('PATCH', `/storage-destinations/${bucketId}`, { credentials: sandboxS3Credential });
  expect(patched.body.data, patched.text).toMatchObject({ status: 'connected', error: null });
  expect((await call('GET', `/backups/${inBucket}/documents`)).body.data).toHaveLength(1);
  await asOwner(bench.app.databaseUrl, async (client) => {
    await client.query('update organization_keys set sealed = null where organization_id = $1', [
      bench.as.organizationId,
    ]);
    await expect.poll(rewraps).toBe(0);
    await client.query('delete from backups where id = $1', [inBucket]);
  });
  const rescan = await ended(await call('POST', `/storage-destinations/${bucketId}/rescan`));
  expect(rescan, JSON.stringify(rescan)).toMatchObject({ status: 'completed', result: { registered: 1 } });
  expect((await call('GET', `/backups/${inBucket}/documents`)).body.data).toHaveLength(1);
});

async function rewraps(): Promise<number> {
  const { rows } = await asOwner(bench.app.databaseUrl, (client) =>
    client.query(
      `select count(*)::int from pgboss.job where name = 'backup-rewrap' and state in ('created', 'retry', 'active')`,
    ),
  );
  return rows[0].count;
}
