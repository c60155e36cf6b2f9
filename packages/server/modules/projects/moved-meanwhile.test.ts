import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from '../../testing/backup-bench.ts';
import { foundOrganization } from '../../testing/people.ts';

/** A project is moved to another organization at the moment when something is requested for it. */
let bench: BackupBench;
let owner: pg.Client;
let other = '';
let backupId = '';
let scheduleId = '';
beforeAll(async () => {
  bench = await startBackupBench();
  owner = new pg.Client(bench.app.databaseUrl);
  await owner.connect();
  other = await foundOrganization(bench.app, bench.shop.owner);
  await bench.firestore.doc('users/ada').set({ n: 1 });
  backupId = await bench.backUp();
  const schedule = { projectId: bench.shop.projectId, name: 'Nightly', cron: '0 3 * * *', retention: 7 };
  scheduleId = (await post('/schedules', schedule)).body.data.id;
});
afterAll(async () => {
  await owner.end();
  await bench.close();
});

const post = (path: string, body: object) =>
  bench.app.request('POST', `/api/v1${path}`, { ...bench.as, ...(Object.keys(body).length > 0 ? { body } : {}) });
const openRecords = async () => {
  const { rows } = await owner.query(
    `select id from backups where status in ('pending', 'running') union all
     select id from restores where status in ('pending', 'running') union all
     select id from drills where status in ('pending', 'running')`,
  );
  return rows;
};

/** Does what a move does: the project is locked, read, and then belongs to the other organization. */
async function whileMoved(ask: () => ReturnType<typeof post>) {
  const { projectId } = bench.shop;
  await owner.query('begin');
  await owner.query('select 1 from projects where id = $1 for update', [projectId]);
  const asked = ask();
  const first = await Promise.race([asked, new Promise((resolve) => setTimeout(resolve, 1000, 'waits'))]);
  await owner.query('update projects set organization_id = $2 where id = $1', [projectId, other]);
  await owner.query('commit');
  const answer = await asked;
  await owner.query('update projects set organization_id = $2 where id = $1', [projectId, bench.as.organizationId]);
  return { first, answer };
}

test.each([
  ['a backup', () => post('/backups', { projectId: bench.shop.projectId })],
  ['a restore', () => post('/backups/restore', { backupId })],
  ['a drill', () => post(`/backups/${backupId}/drill`, {})],
  ['a run of a schedule', () => post(`/schedules/${scheduleId}/run`, {})],
])('%s waits for the move and is refused then, and leaves nothing that waits for ever', async (_what, ask) => {
  const { first, answer } = await whileMoved(ask);
  expect([answer.status, answer.body.error?.code]).toEqual([404, 'PROJECT_NOT_FOUND']);
  expect(first).toBe('waits');
  expect(await openRecords()).toEqual([]);
});

test('a record that comes first prevents the move', async () => {
  const organizationId = other;
  const [created, moved] = await Promise.all([
    post('/backups', { projectId: bench.shop.projectId }),
    bench.app.request('PATCH', `/api/v1/projects/${bench.shop.projectId}`, { ...bench.as, body: { organizationId } }),
  ]);
  expect([202, 404]).toContain(created.status);
  expect([created.status, moved.status].filter((status) => status < 300)).toHaveLength(1);
  if (created.status === 202) await expect.poll(openRecords).toEqual([]);
});
