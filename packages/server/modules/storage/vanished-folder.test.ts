// @module-tag long
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../testing/backup-bench.ts';
import { untilEnded } from '../../testing/protected-project.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench(hasty);
  await bench.firestore.doc('users/ada').set({ n: 1 });
});
afterAll(() => bench.close());

const post = (path: string, body: object = {}) => bench.app.request('POST', `/api/v1${path}`, { ...bench.as, body });
const folderOf = (name: string) => join(bench.app.folder, 'storage', bench.as.organizationId, name);

async function add(name: string): Promise<string> {
  return (await post('/storage-destinations', { name, type: 'local', path: name })).body.data.id;
}

async function tested(id: string) {
  const { data } = (await post(`/storage-destinations/${id}/test`)).body;
  const { status, error } = await bench.get(`/storage-destinations/${id}`);
  return { ok: data.ok, status, message: error?.message };
}

test('a folder that held backups and is gone is told and not made anew, by a test, a backup, a rescan or a look', async () => {
  const id = await add('disk');
  const backupId = await bench.backUp({ storageDestinationId: id });
  const [folder, away] = [folderOf('disk'), folderOf('away')];
  await rename(folder, away);
  expect(await tested(id)).toEqual({
    ok: false,
    status: 'error',
    message: 'The folder local:disk is gone: it was removed, or the disk it lies on is not mounted.',
  });
  const failed = await bench.run({ storageDestinationId: id });
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'STORAGE_UNAVAILABLE' } });
  const started = await post(`/storage-destinations/${id}/rescan`);
  const path = `/api/v1/storage-destinations/${id}/tasks/${started.body.data?.id}`;
  if (started.status === 202) expect((await untilEnded(bench.app, path, bench.as)).status).toBe('failed');
  const page = await bench.app.request('GET', `/api/v1/backups/${backupId}/documents`, bench.as);
  expect(page.body.error).toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  await expect(readdir(folder)).rejects.toThrow('ENOENT');
  await rename(away, folder);
  expect(await tested(id)).toMatchObject({ ok: true, status: 'connected' });
  expect(await bench.get(`/backups/${backupId}/documents`)).toHaveLength(1);
});

test('a folder that is there and has none of its backups any more is told, by a test and by the look now and then', async () => {
  const id = await add('mount');
  await bench.backUp({ storageDestinationId: id });
  const [folder, away] = [folderOf('mount'), folderOf('unmounted')];
  await rename(folder, away);
  await mkdir(folder);
  const look = () => bench.inDays(1, () => bench.app.tasks.runNow('recheck storage'));
  const statusOf = async () => (await bench.get(`/storage-destinations/${id}`)).status;
  await look();
  await expect.poll(statusOf).toBe('error');
  expect(await tested(id)).toMatchObject({
    ok: false,
    message: expect.stringContaining('The backups that lay in local:mount are not there.'),
  });
  await rm(folder, { recursive: true });
  await rename(away, folder);
  expect(await tested(id)).toMatchObject({ ok: true, status: 'connected' });
});

test('nor is it made anew while objects of a deleted backup are still to be removed from it', async () => {
  const id = await add('leaving');
  const backupId = await bench.backUp({ storageDestinationId: id });
  await rename(folderOf('leaving'), folderOf('left'));
  expect((await bench.app.request('DELETE', `/api/v1/backups/${backupId}`, bench.as)).status).toBe(200);
  expect(await tested(id)).toMatchObject({ ok: false, status: 'error' });
  await expect(readdir(folderOf('leaving'))).rejects.toThrow('ENOENT');
});

test('a folder in which nothing lay is made anew by a test', async () => {
  const id = await add('empty');
  await rm(folderOf('empty'), { recursive: true, maxRetries: 10 });
  expect(await tested(id)).toMatchObject({ ok: true, status: 'connected' });
});
