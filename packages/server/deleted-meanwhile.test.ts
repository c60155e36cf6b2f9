import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from './testing/backup-bench.ts';
import { untilEnded } from './testing/protected-project.ts';

/** A backup, a project or a storage destination is deleted at the moment when something is requested that needs it. */
let bench: BackupBench;
let owner: pg.Client;
let backupId = '';
let scheduleId = '';
let stoppedId = '';
let done: { id: string; safetyBackupId: string };
beforeAll(async () => {
  bench = await startBackupBench();
  owner = new pg.Client(bench.app.databaseUrl);
  await owner.connect();
  await bench.firestore.doc('users/ada').set({ n: 1 });
  backupId = await bench.backUp();
  const schedule = { projectId: bench.shop.projectId, name: 'Nightly', cron: '0 3 * * *', retention: 7 };
  scheduleId = (await post('/schedules', schedule)).body.data.id;
  done = await restore();
  stoppedId = (await restore()).id;
  await owner.query(`update restores set status = 'failed', safety_backup_id = null where id = $1`, [stoppedId]);
});
afterAll(async () => {
  await owner.end();
  await bench.close();
});

const call = (method: string, path: string, body: object) =>
  bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(Object.keys(body).length > 0 ? { body } : {}) });
const post = (path: string, body: object) => call('POST', path, body);
const inIt = () => ({ storageDestinationId: bench.shop.destinationId });

const at = (more: object) => ({ projectId: bench.shop.projectId, ...inIt(), ...more });

async function importOld() {
  const folder = join(bench.app.folder, 'storage', bench.as.organizationId);
  await writeFile(join(folder, 'old.json'), JSON.stringify({ users: { ada: { name: 'Ada' } } }));
  const metadata = { createdAt: '2025-01-01T00:00:00Z', type: 'full', source: 'json' };
  return post('/backups/import', { projectId: bench.shop.projectId, ...inIt(), path: 'old.json', metadata });
}

async function restore() {
  const { id } = (await post('/backups/restore', { backupId })).body.data;
  return untilEnded(bench.app, `/api/v1/backups/restore/${id}`, bench.as);
}

async function openRecords(): Promise<unknown[]> {
  const tables = ['backups', 'restores', 'drills'];
  const open = tables.map((table) => `select id from ${table} where status in ('pending', 'running')`);
  return (await owner.query(open.join(' union all '))).rows;
}

/** Does what a deletion does: the row is locked, read, and then marked. */
async function whileDeleted(table: string, id: string, ask: () => ReturnType<typeof post>) {
  await owner.query('begin');
  await owner.query(`select 1 from ${table} where id = $1 for update`, [id]);
  const asked = ask();
  const first = await Promise.race([asked, new Promise((resolve) => setTimeout(resolve, 1000, 'waits'))]);
  await owner.query(`update ${table} set deleted_at = now() where id = $1`, [id]);
  await owner.query('commit');
  const answer = await asked;
  await owner.query(`update ${table} set deleted_at = null where id = $1`, [id]);
  return { first: first === 'waits' ? first : 'answered', answer: [answer.status, answer.body.error?.code] };
}

test.each([
  ['a restore', () => post('/backups/restore', { backupId })],
  ['a basket', () => post('/backups/restore', { items: [{ backupId, path: 'users/ada' }] })],
  ['a drill', () => post(`/backups/${backupId}/drill`, {})],
  ['a restore that goes on', () => post(`/backups/restore/${stoppedId}/resume`, {})],
])(
  '%s waits while its backup is deleted and is refused then: it failed later, for no reason it could name',
  async (_what, ask) => {
    const refused = { first: 'waits', answer: [404, 'BACKUP_NOT_FOUND'] };
    expect(await whileDeleted('backups', backupId, ask)).toEqual(refused);
    expect(await openRecords()).toEqual([]);
  },
);

test('an undo waits for the deletion of its safety backup, and is refused then', async () => {
  const refused = { first: 'waits', answer: [404, 'BACKUP_NOT_FOUND'] };
  const ask = () => post(`/backups/restore/${done.id}/undo`, {});
  expect(await whileDeleted('backups', done.safetyBackupId, ask)).toEqual(refused);
  expect(await openRecords()).toEqual([]);
});

test.each([
  ['a backup', () => post('/backups', { projectId: bench.shop.projectId })],
  ['a restore', () => post('/backups/restore', { backupId, targetProjectId: bench.shop.projectId })],
  ['a run of a schedule', () => post(`/schedules/${scheduleId}/run`, {})],
  ['an undo', () => post(`/backups/restore/${done.id}/undo`, {})],
  ['an import', importOld],
  ['a schedule', () => post('/schedules', at({ name: 'Weekly', cron: '0 3 * * 0' }))],
  ['point-in-time recovery', () => post(`/projects/${bench.shop.projectId}/pitr/enable`, inIt())],
])('%s waits while its project is disconnected and is refused then', async (_what, ask) => {
  const refused = { first: 'waits', answer: [404, 'PROJECT_NOT_FOUND'] };
  expect(await whileDeleted('projects', bench.shop.projectId, ask)).toEqual(refused);
  expect(await openRecords()).toEqual([]);
});

const noSuch = [404, 'STORAGE_DESTINATION_NOT_FOUND'];
const invalid = [400, 'VALIDATION_ERROR'];
const asDefault = () => ({ settings: { defaultStorageId: bench.shop.destinationId } });

test.each([
  ['a backup into it', noSuch, () => post('/backups', at({}))],
  ['a backup into the default', invalid, () => post('/backups', { projectId: bench.shop.projectId })],
  ['a schedule', noSuch, () => post('/schedules', at({ name: 'Weekly', cron: '0 3 * * 0' }))],
  ['an import', noSuch, importOld],
  ['point-in-time recovery', noSuch, () => post(`/projects/${bench.shop.projectId}/pitr/enable`, inIt())],
  ['the default', invalid, () => call('PUT', '/organizations/current', asDefault())],
])(
  '%s waits while the destination is removed and is refused then: a backup was completed where nobody finds it',
  async (What, answer, ask) => {
    await owner.query('update organizations set default_storage_id = $2 where id = $1', [
      bench.as.organizationId,
      What === 'the default' ? null : bench.shop.destinationId,
    ]);
    expect(await whileDeleted('storage_destinations', bench.shop.destinationId, ask)).toEqual({
      first: 'waits',
      answer,
    });
    expect(await openRecords()).toEqual([]);
  },
);

test('of a concurrent restore and deletion of its backup, one takes place', { tags: 'long' }, async () => {
  for (let round = 0; round < 3; round++) {
    const id = await bench.backUp(inIt());
    const path = `/api/v1/backups/${id}`;
    const asked = [post('/backups/restore', { backupId: id }), bench.app.request('DELETE', path, bench.as)];
    const answers = (await Promise.all(asked)).map(({ status }) => status);
    expect(
      answers.filter((status) => status < 300),
      String(answers),
    ).toHaveLength(1);
    await expect.poll(openRecords).toEqual([]);
  }
});
