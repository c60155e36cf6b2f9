// @module-tag long
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { BackupReader, createLocalStore, KeyRing, SegmentCodec } from '@holdfast/engine';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { asOwner } from '../../../testing/people.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

/** What is imported lies beside the project's own backups, and changes nothing about them. */
let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench(hasty);
});
afterAll(() => bench.close());

const folder = (...path: string[]) => join(bench.app.folder, 'storage', bench.as.organizationId, ...path);

async function call(method: string, path: string, body?: object) {
  const answer = await bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body && { body }) });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body.data;
}

async function importIt(path: string) {
  const { projectId, destinationId: storageDestinationId } = bench.shop;
  const body = { projectId, storageDestinationId, path, metadata: { source: 'holdfast' } };
  const { id } = await call('POST', '/backups/import', body);
  const imported = await untilEnded(bench.app, `/api/v1/backups/${id}`, bench.as);
  expect(imported, JSON.stringify(imported.error)).toMatchObject({ status: 'completed' });
  return imported;
}

async function chainOf(projectId: string): Promise<[string, string]> {
  const base = await bench.backUp({ projectId });
  return [base, await bench.backUp({ projectId, type: 'incremental' })];
}

test('a backup of another database does not take the place of the newest of the project', async () => {
  await bench.startOver();
  const own = await bench.backUp({ retention: 1 });
  const connection = { type: 'emulator', host: bench.sandbox.address };
  const other = await call('POST', '/projects', { name: 'Other', sourceProjectId: 'other', connection });
  const ids = await chainOf(other.id);
  // They come from a service that is not this one.
  await asOwner(bench.app.databaseUrl, (client) => client.query('delete from backups where id = any($1)', [ids]));
  const imported = await importIt(`backups/${ids[1]}/manifest`);
  expect(imported.warnings).toMatchObject([{ code: 'FOREIGN_DATABASE' }]);
  expect(await bench.get(`/backups/${ids[0]}`)).toMatchObject({ projectId: bench.shop.projectId });
  await bench.inDays(3, async () => {
    await bench.app.tasks.runNow('retention');
    expect((await bench.app.request('GET', `/api/v1/backups/${own}`, bench.as)).status).toBe(200);
    const { projects } = await bench.get('/overview');
    const shown = projects.find(({ id }: { id: string }) => id === bench.shop.projectId);
    expect(shown.newestBackup, JSON.stringify(shown)).toMatchObject({ id: own });
  });
});

/** Whether a passphrase opens a backup as it lies there, by itself. */
async function opens(passphrase: string, backupId: string): Promise<boolean> {
  const store = await createLocalStore({ root: folder() });
  const keys = new KeyRing([{ passphrase }]);
  const opened = BackupReader.open({ store, backupId, keys, codec: new SegmentCodec() });
  return opened.then(
    () => true,
    () => false,
  );
}

test('importing an older copy of a chain does not replace manifests that were rewrapped since', async () => {
  const keyPath = '/organizations/current/encryption-key';
  await call('PUT', keyPath, { passphrase: 'the first of our keys' });
  const [base, increment] = await chainOf(bench.shop.projectId);
  for (const id of [base, increment]) await cp(folder('backups', id), folder('old/backups', id), { recursive: true });
  await call('PUT', keyPath, { passphrase: 'the second of our keys' });
  await call('POST', `${keyPath}/rotate`, {});
  await expect.poll(() => opens('the second of our keys', base)).toBe(true);
  await call('DELETE', `/backups/${increment}`);
  const started = () => importIt(`old/backups/${increment}/manifest`).then(({ id }) => id);
  await expect.poll(() => started().catch(() => 'is being removed')).toBe(increment);
  expect(await opens('the second of our keys', base)).toBe(true);
});
