// @module-tag long
import { readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from '../../../testing/backup-bench.ts';
import { untilEnded } from '../../../testing/protected-project.ts';
import { foundOrganization } from '../../../testing/team.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench({ PITR_SEGMENT_SECONDS: '0.2' });
});
afterAll(() => bench.close());

const path = () => `/api/v1/projects/${bench.shop.projectId}/history?document=users/ada`;
/** Every page of so many versions, in one list. */
async function versions(limit: number) {
  const all: Record<string, string | null>[] = [];
  for (let cursor: string | null = null, pages = 0; pages < 50; pages++) {
    const answer = await bench.app.request(
      'GET',
      `${path()}&limit=${limit}${cursor ? `&cursor=${cursor}` : ''}`,
      bench.as,
    );
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body.data.length).toBeLessThanOrEqual(limit);
    all.push(...answer.body.data);
    cursor = answer.body.pagination.nextCursor;
    if (cursor === null) return all;
  }
  throw new Error('the pages do not end');
}
const told = (all: Record<string, string | null>[]) => all.map(({ source, change }) => `${source} ${change}`);
const doc = () => bench.firestore.doc('users/ada');

test('a document nobody ever saw has no versions', async () => {
  expect(await versions(50)).toEqual([]);
});

test('backups, increments and the live database make one history, page by page the same', async () => {
  await bench.firestore.doc('users/other').set({ n: 0 });
  await doc().set({ n: 1 });
  const first = await bench.backUp();
  await bench.backUp({ type: 'incremental' });
  const { writeTime } = await doc().set({ n: 2 });
  const second = await bench.backUp({ type: 'incremental' });
  await bench.backUp({ collections: ['elsewhere', 'users/other/things'] }).catch(() => undefined);
  await doc().delete();
  const gone = await bench.backUp({ type: 'incremental' });
  await bench.backUp();
  await doc().set({ n: 3 });
  const all = await versions(50);
  expect(told(all)).toEqual(['live created', 'backup deleted', 'backup changed', 'backup created']);
  expect(all.map(({ backupId }) => backupId)).toEqual([null, gone, second, first]);
  expect(all[2]!.updateTime).toBe(all[2]!.at);
  expect(all[2]!.at).toContain(String(writeTime.nanoseconds).padStart(9, '0'));
  expect(all[1]!.updateTime).toBeNull();
  for (const limit of [1, 2, 3]) expect(await versions(limit)).toEqual(all);
  await doc().delete();
  expect(told(await versions(50))).toEqual(
    ['live deleted', 'backup deleted', 'backup changed', 'backup created'].slice(1),
  );
});

test('a document of an imported file, which tells no times, is told at the time that the file is of', async () => {
  const { app, as, shop } = bench;
  await writeFile(join(app.folder, 'storage', as.organizationId, 'old.json'), '{"users":{"old":{"n":1}}}');
  const body = {
    projectId: shop.projectId,
    storageDestinationId: shop.destinationId,
    path: 'old.json',
    metadata: { source: 'json', createdAt: '2024-01-01T00:00:00Z' },
  };
  const started = await app.request('POST', '/api/v1/backups/import', { ...as, body });
  const { id: backupId } = await untilEnded(app, `/api/v1/backups/${started.body.data.id}`, as);
  const history = await app.request('GET', path().replace('users/ada', 'users/old'), as);
  const at = '2024-01-01T00:00:00.000000000Z';
  expect(history.body.data.at(-1)).toMatchObject({ source: 'backup', backupId, change: 'changed', at, updateTime: at });
});

test('a source that does not answer takes nothing away', async () => {
  bench.sandbox.control.addFault({ method: 'BatchGetDocuments', status: 'PERMISSION_DENIED' });
  expect(told(await versions(50))).toEqual(['backup deleted', 'backup changed', 'backup created']);
  bench.sandbox.control.clearFaults();
});

test('a backup that is gone from its storage is named, and takes nothing away from the others', async () => {
  const lost = (await versions(50)).find(({ backupId, change }) => backupId && change === 'changed')!.backupId!;
  const root = join(bench.app.folder, 'storage', bench.as.organizationId);
  const aside = `${root}-aside`;
  const [place] = (await readdir(root, { recursive: true, withFileTypes: true })).filter(({ name }) => name === lost);
  const folder = join(place!.parentPath, lost);
  await rename(folder, aside);
  const answer = await bench.app.request('GET', path(), bench.as);
  expect(answer.status, answer.text).toBe(200);
  expect(told(answer.body.data)).toEqual(['backup deleted', 'backup created']);
  expect(answer.body.unreadable).toMatchObject([{ backupId: lost }]);
  await rename(aside, folder);
  expect(told(await versions(50))).toEqual(['backup deleted', 'backup changed', 'backup created']);
});

test('what was captured between two backups is there with its own times', async () => {
  const enabled = await bench.app.request('POST', `/api/v1/projects/${bench.shop.projectId}/pitr/enable`, {
    ...bench.as,
    body: {},
  });
  expect(enabled.status, enabled.text).toBe(200);
  const coveredTo = async () => Date.parse((await bench.get(`/projects/${bench.shop.projectId}/pitr`)).coveredTo ?? 0);
  await expect.poll(coveredTo).toBeGreaterThan(0);
  await doc().set({ n: 4 });
  await expect.poll(coveredTo).toBeGreaterThan(Date.now());
  await doc().set({ n: 5 });
  await expect.poll(coveredTo).toBeGreaterThan(Date.now());
  await doc().delete();
  await expect.poll(coveredTo).toBeGreaterThan(Date.now());
  const all = await versions(50);
  // A base that was made meanwhile may hold the first of them too.
  expect(told(all).slice(0, 2)).toEqual(['pitr deleted', 'pitr changed']);
  expect(all[2]).toMatchObject({ change: 'created' });
  expect(told(all).slice(3)).toEqual(['backup deleted', 'backup changed', 'backup created']);
  for (const limit of [1, 4]) expect(told(await versions(limit))).toEqual(told(all));
});

test('a document is shown as it is, and as it was at a captured moment', async () => {
  const shown = (rest: string) =>
    bench.app.request('GET', `/api/v1/projects/${bench.shop.projectId}/documents/${rest}`, bench.as);
  const live = await shown('users/other');
  expect(live.body.data).toMatchObject({ path: 'users/other', fields: { n: { integerValue: '0' } } });
  expect((await shown('users/ada')).body.error.code).toBe('DOCUMENT_NOT_FOUND');
  expect((await shown('users')).body.error.code).toBe('DOCUMENT_NOT_FOUND');
  const changed = (await versions(50)).find(({ source, change }) => source === 'pitr' && change === 'changed');
  expect((await shown(`users/ada?at=${changed!.at}`)).body.data.fields).toEqual({ n: { integerValue: '5' } });
  const before = await shown('users/ada?at=2001-01-01T00:00:00Z');
  expect([before.status, before.body.error.code]).toEqual([409, 'POINT_IN_TIME_UNAVAILABLE']);
});

test('another organization finds no such project', async () => {
  const other = await foundOrganization(bench.app);
  const answer = await bench.app.request('GET', path(), { token: other.owner.token, organizationId: other.id });
  expect(answer.body.error.code).toBe('PROJECT_NOT_FOUND');
});

test('a project that was disconnected and connected anew knows what its backups from before hold', async () => {
  const before = (await versions(50)).filter(({ source }) => source === 'backup');
  expect(before.length).toBeGreaterThan(2);
  const { connection } = await bench.get(`/projects/${bench.shop.projectId}`);
  await bench.app.request('DELETE', `/api/v1/projects/${bench.shop.projectId}`, bench.as);
  const anew = await bench.app.request('POST', '/api/v1/projects', {
    ...bench.as,
    body: { name: 'Shop', sourceProjectId: 'shop', connection: { type: 'emulator', host: connection.host } },
  });
  expect(anew.status, anew.text).toBe(201);
  expect(anew.body.data.id).not.toBe(bench.shop.projectId);
  bench.shop.projectId = anew.body.data.id;
  expect((await versions(50)).map(({ backupId }) => backupId)).toEqual(
    expect.arrayContaining(before.map(({ backupId }) => backupId)),
  );
});
