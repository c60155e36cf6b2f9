// @module-tag long
import { setTimeout as sleep } from 'node:timers/promises';
import { createS3Store } from '@holdfast/engine';
import { type S3Sandbox, sandboxS3Credential, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { asOwner } from '../../../testing/people.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

let bench: BackupBench;
let quick: S3Sandbox;
let slow: S3Sandbox;
const places: Record<string, string> = {};

beforeAll(async () => {
  quick = await startS3Sandbox({ buckets: ['first', 'second'] });
  slow = await startS3Sandbox({ buckets: ['slow'] });
  bench = await startBackupBench({ ...hasty, OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
  for (const name of ['ada', 'bob', 'cat']) await bench.firestore.doc(`users/${name}`).set({ name });
  for (const name of ['first', 'second']) places[name] = await addPlace(quick, name);
  places.slow = await addPlace(slow, 'slow');
});
afterAll(async () => {
  await bench.close();
  await quick.stop();
  await slow.stop();
});
afterEach(() => {
  for (const sandbox of [quick, slow]) sandbox.faults.clear();
});

const call = (method: string, path: string, body?: object) =>
  bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body ? { body } : {}) });

async function addPlace(sandbox: S3Sandbox, bucket: string): Promise<string> {
  const created = await call('POST', '/storage-destinations', {
    name: bucket,
    type: 's3',
    bucket,
    endpoint: sandbox.endpoint,
    forcePathStyle: true,
    credentials: sandboxS3Credential,
  });
  expect([created.status, created.body.data?.status], created.text).toEqual([201, 'connected']);
  return created.body.data.id;
}

async function objectsOf(backupId: string, sandbox: S3Sandbox, bucket: string): Promise<string[]> {
  const connection = { region: 'us-east-1', endpoint: sandbox.endpoint, forcePathStyle: true };
  const store = await createS3Store({ kind: 's3', bucket, credentials: sandboxS3Credential, ...connection });
  try {
    const keys: string[] = [];
    for await (const { key } of store.list(`backups/${backupId}/`)) keys.push(key);
    return keys;
  } finally {
    await store.close();
  }
}

async function startMigration(from: string, to: string): Promise<string> {
  const body = { toStorageDestinationId: places[to] };
  const started = await call('POST', `/storage-destinations/${places[from]}/migrate`, body);
  expect(started.status, started.text).toBe(202);
  return started.headers.get('location') as string;
}

test('a copy that moves while a verification reads another one is no damage', async () => {
  const id = await bench.backUp({ storageDestinationIds: [places.slow, places.first] });
  slow.faults.set({ delayRate: 1, delayMsMin: 1500, delayMsMax: 1600 });
  expect((await call('POST', `/backups/${id}/verify`)).status).toBe(202);
  await expect.poll(() => slow.faults.counts.delays).toBeGreaterThan(0);
  const task = await untilEnded(bench.app, await startMigration('first', 'second'), bench.as);
  expect(task, JSON.stringify(task)).toMatchObject({ status: 'completed', result: { copied: 1, removed: 1 } });
  const shown = () => bench.get(`/backups/${id}`);
  await expect.poll(async () => (await shown()).verification.status).not.toBe('running');
  const backup = await shown();
  expect(backup.verification, JSON.stringify(backup)).toMatchObject({ status: 'passed', errors: [] });
  expect((await bench.get(`/projects/${bench.shop.projectId}`)).retentionFrozen).toBeNull();
});

test('when a destination is removed before the objects of a deleted backup, they stay and the audit log says so', async () => {
  const id = await bench.backUp({ storageDestinationId: places.first });
  quick.faults.set({ errorRate: 1 });
  expect((await call('DELETE', `/backups/${id}`)).status).toBe(200);
  await sleep(500);
  expect((await call('DELETE', `/storage-destinations/${places.first}`)).status).toBe(200);
  quick.faults.clear();
  const told = async () => {
    await asOwner(bench.app.databaseUrl, (client) =>
      client.query(`update pgboss.job set start_after = now() where name = 'backup-remove' and state = 'retry'`),
    );
    const rows: { action: string; details: object }[] = await bench.get(`/audit-logs?resourceId=${id}`);
    return rows.filter(({ action }) => action.startsWith('backup.objects'));
  };
  await expect
    .poll(told)
    .toMatchObject([{ action: 'backup.objects_left', details: { storageDestinationIds: [places.first] } }]);
  expect((await objectsOf(id, quick, 'first')).length).toBeGreaterThan(1);
});

test('a project cannot be deleted with its backups while a migration copies them', async () => {
  const id = await bench.backUp({ storageDestinationId: places.second });
  slow.faults.set({ delayRate: 1, delayMsMin: 400, delayMsMax: 500 });
  const path = await startMigration('second', 'slow');
  await expect.poll(async () => (await objectsOf(id, slow, 'slow')).length).toBeGreaterThan(0);
  const remove = () => call('DELETE', `/projects/${bench.shop.projectId}?deleteBackups=true`);
  const refused = await remove();
  expect(refused.body.error, refused.text).toMatchObject({
    code: 'RESOURCE_IN_USE',
    details: { usedBy: [{ type: 'storage_task', id: path.split('/').at(-1) }] },
  });
  slow.faults.clear();
  expect((await untilEnded(bench.app, path, bench.as)).status).toBe('completed');
  expect((await remove()).status).toBe(200);
  await expect.poll(async () => (await objectsOf(id, slow, 'slow')).length).toBe(0);
});

test('two simultaneous rescans recreate a lost project only once', async () => {
  const connection = { type: 'emulator', host: bench.sandbox.address };
  const projectId = (await call('POST', '/projects', { name: 'Shop', sourceProjectId: 'shop', connection })).body.data
    .id;
  const found: string[] = [];
  for (const name of ['second', 'slow'])
    found.push(await bench.backUp({ projectId, storageDestinationId: places[name] }));
  await asOwner(bench.app.databaseUrl, async (client) => {
    await client.query('delete from backups');
    await client.query('delete from projects');
  });
  const begun = await Promise.all(
    ['second', 'slow'].map((name) => call('POST', `/storage-destinations/${places[name]}/rescan`)),
  );
  for (const { headers } of begun) await untilEnded(bench.app, headers.get('location') as string, bench.as);
  const projects = await bench.get('/projects');
  expect(projects).toHaveLength(1);
  for (const id of found) expect((await bench.get(`/backups/${id}`)).projectId).toBe(projects[0].id);
});
