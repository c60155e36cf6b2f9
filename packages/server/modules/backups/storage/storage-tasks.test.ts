import { access, cp, mkdir, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { asOwner } from '../../../testing/people.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench(hasty);
});
afterAll(() => bench.close());
beforeEach(() => bench.startOver());

const folder = (...path: string[]) => join(bench.app.folder, 'storage', bench.as.organizationId, ...path);
const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );
const storagePath = (rest: string) => `/api/v1/storage-destinations/${bench.shop.destinationId}${rest}`;

const filesIn = async (path: string) =>
  (await readdir(path, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());

async function runTask(kind: string, body?: object) {
  const started = await bench.app.request('POST', storagePath(`/${kind}`), { ...bench.as, ...(body ? { body } : {}) });
  expect(started.status, started.text).toBe(202);
  const location = started.headers.get('location') as string;
  expect(location).toBe(storagePath(`/tasks/${started.body.data.id}`));
  return untilEnded(bench.app, location, bench.as);
}

const orphans = async () =>
  (await bench.app.request('GET', storagePath('/orphans?limit=200'), bench.as)).body.data.map(
    ({ key }: { key: string }) => key,
  );

const dayMs = 86_400_000;

/** What somebody put there a while ago. */
async function plant(key: string, ageMs = 365 * dayMs) {
  await mkdir(join(folder(key), '..'), { recursive: true });
  await writeFile(folder(key), 'left behind');
  const then = new Date(bench.app.clock.now().getTime() - ageMs);
  await utimes(folder(key), then, then);
}

const oldId = 'bkp_0000000000ABCDEFGHJKMNPQRS';
const hex = (digit: string) => digit.repeat(32);

describe('objects that nobody owns', () => {
  test('are shown and swept; what a backup owns, what is foreign and what others may be writing stays', async () => {
    const id = await bench.backUp();
    const stray = `backups/${id}/segments/${hex('0')}`;
    const unknown = `backups/${oldId}/segments/${hex('1')}`;
    const fresh = `backups/${bench.app.platform.ids.next('bkp')}/segments/${hex('1')}`;
    const touched = `backups/bkp_0000000001ABCDEFGHJKMNPQRS/shards/${hex('1')}`;
    const whole = bench.app.platform.ids.next('bkp');
    const foreign = [
      'theirs/file',
      'notes.txt',
      'backups/notes.txt',
      'backups/mysql/2024-01-01.sql.gz',
      'backups/mysql/manifest',
      `backups/${oldId}/segments/1`,
      `backups/${oldId}/readme`,
      `backups/${id}/readme`,
    ];
    for (const key of [stray, unknown, fresh, ...foreign]) await plant(key);
    await plant(touched, 0);
    await cp(folder('backups', id), folder('backups', whole), { recursive: true });
    const ours = [stray, unknown, fresh, touched];
    expect(await orphans()).toEqual(ours.toSorted());
    const first = await bench.app.request('GET', storagePath('/orphans?limit=1'), bench.as);
    expect(first.body).toMatchObject({ data: [{ bytes: 11 }], pagination: { hasMore: true } });
    const swept = await runTask('sweep');
    expect(swept).toMatchObject({ status: 'completed', result: { found: 4, removed: 1, bytes: 11 } });
    expect(swept.result.failures.map(({ key }: { key: string }) => key)).toEqual([`backups/${whole}/`]);
    expect(await orphans()).toEqual([stray, fresh, touched].toSorted());
    expect((await bench.inDays(2, () => runTask('sweep'))).result).toMatchObject({ found: 3, removed: 3 });
    expect(await orphans()).toEqual([]);
    for (const key of [...foreign, `backups/${whole}/manifest`]) expect(await exists(folder(key)), key).toBe(true);
    expect((await bench.get(`/backups/${id}/documents`)).length).toBe(1);
    await rm(folder('backups', whole), { recursive: true });
    for (const key of foreign) await rm(folder(key));
  });

  test('are as old as the longest job may run, before they go', async () => {
    const key = `backups/${oldId}/segments/${hex('2')}`;
    await plant(key, 5 * dayMs);
    const path = `/api/v1/projects/${bench.shop.projectId}`;
    const timeout = (backupTimeoutMinutes: number) =>
      bench.app.request('PATCH', path, { ...bench.as, body: { settings: { backupTimeoutMinutes } } });
    await timeout(7 * 24 * 60);
    expect((await runTask('sweep')).result).toMatchObject({ found: 1, removed: 0, skipped: 1 });
    await timeout(30);
    expect((await runTask('sweep')).result).toMatchObject({ found: 1, removed: 1 });
  });

  test('of a backup that is being made are nobody else’s', { tags: 'long' }, async () => {
    bench.sandbox.control.addFault({ method: 'RunQuery', latencyMs: 3000 });
    const request = { ...bench.as, body: { projectId: bench.shop.projectId } };
    const { id } = (await bench.app.request('POST', '/api/v1/backups', request)).body.data;
    await plant(`backups/${id}/segments/${hex('e')}`);
    expect(await orphans()).toEqual([]);
    await bench.app.request('POST', `/api/v1/backups/${id}/cancel`, bench.as);
    bench.sandbox.control.clearFaults();
    expect(await orphans()).toEqual([`backups/${id}/segments/${hex('e')}`]);
    await expect.poll(() => exists(folder('backups', id, 'segments', hex('e')))).toBe(false);
  });
});

describe('a rescan', () => {
  test('tells of each backup why it was made', async () => {
    const account = '/api/v1/organizations/current/service-account';
    const body = { name: 'Script', permissions: ['backups:write'] };
    const made = await bench.app.request('POST', account, { ...bench.as, body });
    const asKey = { token: made.body.data.apiKey, body: { projectId: bench.shop.projectId } };
    const asked = await bench.app.request('POST', '/api/v1/backups', asKey);
    const { id } = await untilEnded(bench.app, `/api/v1/backups/${asked.body.data.id}`, bench.as);
    expect((await bench.get(`/backups/${id}`)).trigger).toBe('api');
    await asOwner(bench.app.databaseUrl, (client) => client.query('delete from backups where id = $1', [id]));
    expect((await runTask('rescan')).result).toMatchObject({ registered: 1 });
    expect((await bench.get(`/backups/${id}`)).trigger).toBe('api');
  });

  test('tells of a safety backup of single documents which they are, and they come back from it', {
    tags: 'long',
  }, async () => {
    await bench.firestore.doc('users/bob').set({ n: 1 });
    const backupId = await bench.backUp();
    await bench.firestore.doc('users/bob').set({ edited: true });
    const restore = async (body: object) => {
      const started = await bench.app.request('POST', '/api/v1/backups/restore', { ...bench.as, body });
      expect(started.status, started.text).toBe(202);
      return untilEnded(bench.app, started.headers.get('location') as string, bench.as);
    };
    const { safetyBackupId: id } = await restore({ backupId, documentIds: ['users/bob'] });
    const before = await bench.get(`/backups/${id}`);
    expect(before.scope.documents).toMatchObject({ paths: ['users/bob'] });
    await asOwner(bench.app.databaseUrl, (client) => client.query('delete from backups where id = $1', [id]));
    await runTask('rescan');
    const after = await bench.get(`/backups/${id}`);
    expect([after.scope, after.collections]).toEqual([before.scope, before.collections]);
    const { status, documentsRestored } = await restore({ backupId: id, options: { safetyBackup: false } });
    expect([status, documentsRestored]).toEqual(['completed', 1]);
    expect((await bench.firestore.doc('users/bob').get()).data()).toEqual({ edited: true });
  });

  test('registers nothing that is read from a backup which misses an object, and says which', {
    tags: 'long',
  }, async () => {
    const base = await bench.backUp();
    const increments: string[] = [];
    for (const n of [2, 3]) {
      await bench.firestore.doc('users/bob').set({ n });
      increments.push(await bench.backUp({ type: 'incremental' }));
    }
    const [segment] = await filesIn(folder('backups', increments[0]!, 'segments'));
    await rm(join(segment!.parentPath, segment!.name));
    await asOwner(bench.app.databaseUrl, (client) => client.query('delete from backups'));
    const { result } = await runTask('rescan');
    const told = new Map(result.failures.map(({ key, reason }: { key: string; reason: string }) => [key, reason]));
    for (const id of increments)
      expect(told.get(`backups/${id}/manifest`)).toBe(`Backup ${increments[0]} misses 1 of its objects.`);
    expect((await bench.get(`/backups/${base}`)).status).toBe('completed');
    for (const id of increments) await rm(folder('backups', id), { recursive: true });
  });

  test('rebuilds the catalogue of a lost database: same ids, same chains, projects without a connection', {
    tags: 'long',
  }, async () => {
    const base = await bench.backUp();
    await bench.firestore.doc('users/bob').set({ n: 2 });
    const increment = await bench.backUp({ type: 'incremental' });
    const lines = (await bench.app.request('GET', `/api/v1/backups/${increment}/export`, bench.as)).text;
    const before = await bench.get(`/backups/${increment}`);
    await bench.firestore.doc('users/bob').set({ n: 3 });
    const body = { backupId: increment };
    const restore = await bench.app.request('POST', '/api/v1/backups/restore', { ...bench.as, body });
    const { safetyBackupId } = await untilEnded(bench.app, restore.headers.get('location') as string, bench.as);
    const foreign = bench.app.platform.ids.next('bkp');
    await plant(`backups/${foreign}/manifest`);
    await asOwner(bench.app.databaseUrl, async (client) => {
      await client.query('delete from backups');
      await client.query('delete from projects');
    });
    const task = await runTask('rescan');
    expect(task.status, JSON.stringify(task.error)).toBe('completed');
    expect(task.result.registered).toBeGreaterThanOrEqual(2);
    expect(task.result.failures).toEqual([{ key: `backups/${foreign}/manifest`, reason: expect.any(String) }]);
    const after = await bench.get(`/backups/${increment}`);
    const same = [
      'type',
      'parentId',
      'documentCount',
      'size',
      'sha256',
      'snapshotTime',
      'snapshots',
      'collections',
      'createdAt',
      'copies',
      'warnings',
    ];
    for (const field of same) expect(after[field], field).toEqual(before[field]);
    expect(after.status).toBe('completed');
    // Such a one never becomes what `latest` means, nor the newest good backup.
    expect(await bench.get(`/backups/${safetyBackupId}`)).toMatchObject({
      trigger: 'pre_restore',
      status: 'completed',
    });
    const project = await bench.get(`/projects/${after.projectId}`);
    expect(project).toMatchObject({
      name: 'shop',
      sourceProjectId: 'shop',
      connection: {
        status: 'error',
        error: { code: 'SOURCE_AUTH_ERROR', details: { reconnect: `POST /api/v1/projects/${project.id}/reconnect` } },
      },
    });
    expect((await bench.app.request('GET', `/api/v1/backups/${increment}/export`, bench.as)).text).toBe(lines);
    expect((await bench.app.request('DELETE', `/api/v1/backups/${base}`, bench.as)).body.error.code).toBe(
      'RESOURCE_IN_USE',
    );
    expect((await runTask('rescan')).result.registered).toBe(0);
    const failed = await untilEnded(
      bench.app,
      `/api/v1/backups/${(await bench.app.request('POST', '/api/v1/backups', { ...bench.as, body: { projectId: project.id } })).body.data.id}`,
      bench.as,
    );
    expect(failed.error.code).toBe('SOURCE_AUTH_ERROR');
    await rm(folder('backups', foreign), { recursive: true });
    await asOwner(bench.app.databaseUrl, (client) =>
      client.query(
        `update projects set connection_type = 'emulator', connection_status = 'connected', connection_host = $1`,
        [bench.sandbox.address],
      ),
    );
    bench.shop.projectId = project.id;
  });
});

describe('a migration', () => {
  test('takes every backup along, in order, and leaves nothing behind', async () => {
    const base = await bench.backUp();
    await bench.firestore.doc('users/bob').set({ n: 2 });
    const increment = await bench.backUp({ type: 'incremental' });
    const created = await bench.app.request('POST', '/api/v1/storage-destinations', {
      ...bench.as,
      body: { name: 'Second', type: 'local', path: `storage/second-${bench.as.organizationId}` },
    });
    const to = created.body.data.id;
    const lines = (await bench.app.request('GET', `/api/v1/backups/${increment}/export`, bench.as)).text;
    bench.sandbox.control.addFault({ method: 'RunQuery', latencyMs: 2000 });
    const running = (
      await bench.app.request('POST', '/api/v1/backups', { ...bench.as, body: { projectId: bench.shop.projectId } })
    ).body.data.id;
    const busy = await bench.app.request('POST', storagePath('/migrate'), {
      ...bench.as,
      body: { toStorageDestinationId: to },
    });
    expect([busy.status, busy.body.error.code]).toEqual([409, 'RESOURCE_IN_USE']);
    bench.sandbox.control.clearFaults();
    await untilEnded(bench.app, `/api/v1/backups/${running}`, bench.as);
    const same = await bench.app.request('POST', storagePath('/migrate'), {
      ...bench.as,
      body: { toStorageDestinationId: bench.shop.destinationId },
    });
    expect(same.body.error.code).toBe('VALIDATION_ERROR');

    const task = await runTask('migrate', { toStorageDestinationId: to });
    expect(task.status, JSON.stringify(task.error)).toBe('completed');
    expect(task.result.copied).toBeGreaterThanOrEqual(3);
    expect(task.result.stillUsedBy).toEqual([{ type: 'organization', id: bench.as.organizationId }]);
    for (const id of [base, increment])
      expect((await bench.get(`/backups/${id}`)).copies).toEqual([
        { storageDestinationId: to, status: 'completed', error: null },
      ]);
    expect(await filesIn(folder('backups'))).toEqual([]);
    expect((await bench.app.request('GET', `/api/v1/backups/${increment}/export`, bench.as)).text).toBe(lines);
    expect((await bench.get(`/storage-destinations/${bench.shop.destinationId}`)).usage).toEqual({
      backups: 0,
      bytes: 0,
    });
    const verify = await bench.app.request('POST', `/api/v1/backups/${increment}/verify`, bench.as);
    expect(verify.status).toBe(202);
    await expect.poll(async () => (await bench.get(`/backups/${increment}`)).verification.status).toBe('passed');
    const again = await runTask('migrate', { toStorageDestinationId: to });
    expect(again).toMatchObject({ status: 'completed', result: { copied: 0 } });
  });
});
