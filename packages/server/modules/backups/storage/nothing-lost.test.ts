// @module-tag long
import { access, cp, rename, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createS3Store } from '@holdfast/engine';
import { type S3Sandbox, sandboxS3Credential, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { asOwner } from '../../../testing/people.ts';
import { untilEnded } from '../../../testing/protected-project.ts';
import { removeObjectsJob } from '../jobs.ts';

let bench: BackupBench;
let s3: S3Sandbox;
let backups: string[];
let contents: string[];

beforeAll(async () => {
  s3 = await startS3Sandbox({ buckets: ['first', 'second'] });
  bench = await startBackupBench({ ...hasty, OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
  await bench.firestore.doc('users/ada').set({ n: 1 });
  backups = [await bench.backUp()];
  for (const name of ['bob', 'cat']) {
    await bench.firestore.doc(`users/${name}`).set({ n: 1 });
    backups.push(await bench.backUp({ type: 'incremental' }));
  }
  contents = await Promise.all(backups.map(documentsOf));
});
afterAll(async () => {
  await bench.close();
  await s3.stop();
});

const documentsOf = async (id: string) =>
  (await bench.app.request('GET', `/api/v1/backups/${id}/export`, bench.as)).text;
const intact = async () => expect(await Promise.all(backups.map(documentsOf))).toEqual(contents);
const sql = (text: string, values: unknown[] = []) =>
  asOwner(bench.app.databaseUrl, (client) => client.query(text, values));
const folder = (...path: string[]) => join(bench.app.folder, 'storage', ...path);

async function destination(body: object): Promise<string> {
  const created = await bench.app.request('POST', '/api/v1/storage-destinations', { ...bench.as, body });
  expect([created.status, created.body.data?.status], created.text).toEqual([201, 'connected']);
  return created.body.data.id;
}

const bucket = (more: object = {}) =>
  destination({
    name: 'Bucket',
    type: 's3',
    bucket: 'first',
    endpoint: s3.endpoint,
    forcePathStyle: true,
    credentials: { ...sandboxS3Credential },
    ...more,
  });

const start = (from: string, kind: string, body?: object) =>
  bench.app.request('POST', `/api/v1/storage-destinations/${from}/${kind}`, { ...bench.as, ...(body ? { body } : {}) });

async function runTask(from: string, kind: string, body?: object) {
  const started = await start(from, kind, body);
  expect(started.status, started.text).toBe(202);
  return untilEnded(bench.app, started.headers.get('location') as string, bench.as);
}

const migrate = (from: string, to: string) => runTask(from, 'migrate', { toStorageDestinationId: to });
const placesOf = async (id: string) =>
  (await bench.get(`/backups/${id}`)).copies
    .filter(({ status }: { status: string }) => status === 'completed')
    .map(({ storageDestinationId }: { storageDestinationId: string }) => storageDestinationId);

test('a migration between two records of one place is refused, however they spell it', async () => {
  const home = bench.shop.destinationId;
  await symlink(folder(bench.as.organizationId), folder(bench.as.organizationId, 'alias'));
  const refused = async (from: string, to: string) => {
    const answer = await start(from, 'migrate', { toStorageDestinationId: to });
    expect([answer.status, answer.body.error?.code], answer.text).toEqual([409, 'INVALID_STATE']);
  };
  const path = `storage/${bench.as.organizationId}`;
  await refused(home, await destination({ name: 'Same folder', type: 'local', path }));
  await refused(home, await destination({ name: 'Linked', type: 'local', path: 'alias' }));
  await refused(home, await destination({ name: 'Prefixed', type: 'local', path, prefix: 'ignored' }));
  const first = await bucket();
  const port = new URL(s3.endpoint).port;
  await refused(first, await bucket({ type: 'spaces', endpoint: `http://127.0.0.1:${port}/`, region: 'us-east-1' }));
  await refused(await bucket({ prefix: 'a' }), await bucket({ prefix: 'a/' }));
  await intact();
});

test('two records of one place get one copy, and count once', async () => {
  const twin = await destination({
    name: 'Twin',
    type: 'local',
    path: `storage/../storage/${bench.as.organizationId}`,
  });
  const before = (await bench.get('/organizations/current')).statistics.storageUsed;
  const backup = await bench.run({ storageDestinationIds: [bench.shop.destinationId, twin] });
  expect(backup.copies).toHaveLength(1);
  const used = (await bench.get('/organizations/current')).statistics.storageUsed - before;
  expect(used).toBe(backup.compressedSize);
  await sql(
    `insert into backup_copies (organization_id, backup_id, storage_destination_id, position, status) values ($1, $2, $3, 1, 'completed')`,
    [bench.as.organizationId, backup.id, twin],
  );
  expect((await bench.get('/organizations/current')).statistics.storageUsed - before).toBe(backup.compressedSize);
  await bench.app.request('DELETE', `/api/v1/backups/${backup.id}`, bench.as);
});

test('a migration leaves the originals of records that name the same place, until all of them have moved', async () => {
  const prefix = 'shared';
  const [one, twin, other] = [await bucket({ prefix }), await bucket({ prefix: `${prefix}/` }), await bucket()];
  const backup = await bench.run({ storageDestinationIds: [one] });
  await sql(
    `insert into backup_copies (organization_id, backup_id, storage_destination_id, position, status) values ($1, $2, $3, 1, 'completed')`,
    [bench.as.organizationId, backup.id, twin],
  );
  expect(await migrate(one, other)).toMatchObject({ status: 'completed', result: { copied: 1, removed: 1 } });
  expect(await placesOf(backup.id)).toEqual([other]);
  expect(await documentsOf(backup.id)).toContain('users/ada');
});

test('an original stays when its copy, read again, is not whole', async () => {
  const to = await bucket({ bucket: 'second', prefix: 'unsound' });
  const lone = await bucket({ prefix: 'lone' });
  const backup = await bench.run({ storageDestinationIds: [lone] });
  const store = await createS3Store({
    kind: 's3',
    bucket: 'second',
    prefix: 'unsound',
    region: 'us-east-1',
    endpoint: s3.endpoint,
    forcePathStyle: true,
    credentials: { ...sandboxS3Credential },
  });
  // The records are switched and the worker dies; before it is taken up again the new place loses a segment.
  s3.faults.set({ errorRate: 1, operations: ['DeleteObjects', 'DeleteObject'] });
  expect((await migrate(lone, to)).status).toBe('failed');
  s3.faults.clear();
  expect(await placesOf(backup.id)).toEqual([to]);
  for await (const { key } of store.list(`backups/${backup.id}/segments/`)) await store.delete([key]);
  const again = await migrate(lone, to);
  expect(again).toMatchObject({ status: 'failed', error: { code: 'INTEGRITY_ERROR' } });
  expect(await placesOf(backup.id)).toEqual([lone]);
  expect(await documentsOf(backup.id)).toContain('users/ada');
  await store.close();
});

test('a sweep takes a copy that the catalogue has elsewhere only when that one reads well; a rescan links it', async () => {
  const home = bench.shop.destinationId;
  const second = await destination({ name: 'Second', type: 'local', path: 'second' });
  await cp(folder(bench.as.organizationId, 'backups'), folder(bench.as.organizationId, 'second', 'backups'), {
    recursive: true,
  });
  const original = folder(bench.as.organizationId, 'backups', backups[0]!, 'segments');
  await rename(original, `${original}-gone`);
  const swept = await bench.inDays(3, () => runTask(second, 'sweep'));
  expect(swept.result).toMatchObject({ removed: 0, skipped: backups.length });
  expect(swept.result.failures[0].reason).toContain('rescan');
  const linked = await runTask(second, 'rescan');
  expect(linked.result, JSON.stringify(linked)).toMatchObject({
    registered: 0,
    relinked: backups.length,
    failures: [],
  });
  expect(await placesOf(backups[0]!)).toEqual([home, second]);
  await rename(`${original}-gone`, original);
  await sql('delete from backup_copies where storage_destination_id = $1', [second]);
  expect((await bench.inDays(3, () => runTask(second, 'sweep'))).result.removed).toBeGreaterThanOrEqual(
    backups.length * 2,
  );
  await intact();
});

test('a catalogue set back to an earlier day loses nothing: what it calls unfinished or unknown is linked again', async () => {
  const home = bench.shop.destinationId;
  const [first, second, third] = backups as [string, string, string];
  // On that day the second was running and the third did not exist yet.
  await sql(`update backups set status = 'running', completed_at = null, deadline_at = now() where id = $1`, [second]);
  await sql('delete from backups where id = $1', [third]);
  await expect
    .poll(async () => (await bench.get(`/backups/${second}`)).status, { timeout: 60_000, interval: 500 })
    .toBe('failed');
  await expect.poll(() => bench.app.logged()).toContain('has a manifest and stays');
  expect((await bench.inDays(3, () => runTask(home, 'sweep'))).result).toMatchObject({ removed: 0 });
  const task = await runTask(home, 'rescan');
  expect(task.result, JSON.stringify(task)).toMatchObject({ registered: 1, relinked: 1, failures: [] });
  expect((await bench.get(`/backups/${first}`)).status).toBe('completed');
  expect(await bench.get(`/backups/${second}`)).toMatchObject({ status: 'completed', error: null });
  await intact();
});

test('a catalogue from before a migration finds every backup at its new place', async () => {
  const home = bench.shop.destinationId;
  const moved = await bucket({ prefix: 'moved' });
  const { rows } = await sql('select * from backup_copies where storage_destination_id = $1', [home]);
  expect((await migrate(home, moved)).status).toBe('completed');
  await sql('delete from backup_copies where storage_destination_id = $1', [moved]);
  for (const row of rows)
    await sql(
      'insert into backup_copies (organization_id, backup_id, storage_destination_id, position, status) values ($1, $2, $3, $4, $5)',
      [row.organization_id, row.backup_id, home, row.position, row.status],
    );
  await sql('update backups set storage_destination_id = $1 where storage_destination_id = $2', [home, moved]);
  expect((await bench.inDays(3, () => runTask(moved, 'sweep'))).result).toMatchObject({ removed: 0 });
  const task = await runTask(moved, 'rescan');
  expect(task.result.relinked, JSON.stringify(task)).toBeGreaterThanOrEqual(backups.length);
  for (const id of backups) expect(await placesOf(id)).toEqual([moved]);
  await intact();
});

test('a base goes only when what replaces it reads well; otherwise it comes back', async () => {
  const base = await bench.backUp();
  await bench.firestore.doc('users/dan').set({ n: 1 });
  const increment = await bench.backUp({ type: 'incremental' });
  const lines = await documentsOf(increment);
  const merged = await bench.backUp({ type: 'synthetic' });
  const segments = folder(bench.as.organizationId, 'backups', merged, 'segments');
  await rename(segments, `${segments}-gone`);
  const remove = () => bench.app.request('DELETE', `/api/v1/backups/${base}`, bench.as);
  const statusOf = async (id: string) => (await bench.app.request('GET', `/api/v1/backups/${id}`, bench.as)).status;
  expect((await remove()).status).toBe(200);
  for (const id of [base, increment]) await expect.poll(() => statusOf(id), { interval: 500 }).toBe(200);
  await expect.poll(() => bench.app.logged()).toContain('could not be read whole');
  expect(await documentsOf(increment)).toBe(lines);
  const verified = async () => (await bench.get(`/backups/${merged}`)).verification?.status;
  await expect.poll(verified).toBe('failed');
  await rename(`${segments}-gone`, segments);
  // Nothing goes for its sake before it was found whole.
  expect((await remove()).body.error?.code).toBe('RESOURCE_IN_USE');
  await bench.app.request('POST', `/api/v1/backups/${merged}/verify`, { ...bench.as, body: {} });
  await expect.poll(verified).toBe('passed');
  expect((await remove()).status).toBe(200);
  for (const id of [base, increment]) {
    const left = () => access(folder(bench.as.organizationId, 'backups', id, 'manifest')).catch(() => 'gone');
    await expect.poll(left).toBe('gone');
  }
  expect(await documentsOf(merged)).toContain('users/dan');
});

test('when an increment stays because its replacement cannot be read, its base stays too, in any order of removal', async () => {
  const base = await bench.backUp();
  await bench.firestore.doc('users/eve').set({ n: 1 });
  const middle = await bench.backUp({ type: 'incremental' });
  await bench.firestore.doc('users/fay').set({ n: 1 });
  const increment = await bench.backUp({ type: 'incremental' });
  const lines = await documentsOf(increment);
  const merged = await bench.backUp({ type: 'synthetic' });
  const segments = folder(bench.as.organizationId, 'backups', merged, 'segments');
  await rename(segments, `${segments}-gone`);
  // As retention marks them: what lies below the merged one is replaced by nothing, it is only due.
  const removed = 'update backups set deleted_at = now(), replaced_by = $2 where id = $1';
  await sql(removed, [increment, merged]);
  for (const id of [middle, base]) await sql(removed, [id, null]);
  const send = async (id: string) =>
    bench.app.platform.database.tenant(bench.as.organizationId, (transaction) =>
      bench.app.platform.queue.enqueue(
        transaction,
        removeObjectsJob,
        { organizationId: bench.as.organizationId, backupId: id },
        { key: `${id}/deleted` },
      ),
    );
  for (const id of [base, middle, increment]) {
    await send(id);
    await sleep(1500);
  }
  await send(base);
  await sleep(1500);
  expect(await documentsOf(increment)).toBe(lines);
  for (const id of [base, middle, increment]) expect((await bench.get(`/backups/${id}`)).status).toBe('completed');
  await rename(`${segments}-gone`, segments);
});
