// @module-tag long
import { scopes } from '@holdfast/contract';
import { startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { asOwner } from '../../../testing/people.ts';
import { keyCopyJob } from '../keys/key-copies.ts';

const dayMs = 86_400_000;
const patience = { timeout: 60_000, interval: 200 };
let bench: BackupBench;

beforeAll(async () => {
  const environment = { ANOMALY_SHRINK_PERCENT: '100', OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' };
  bench = await startBackupBench({ ...hasty, ...environment });
  // A key outlasts the days that pass here, unlike a session.
  bench.as.token = (
    await call('POST', '/organizations/current/service-account', { name: 'robot', permissions: scopes })
  ).body.data.apiKey;
});
afterAll(() => bench.close());
beforeEach(() => bench.clear());

const call = (method: string, path: string, body?: object) =>
  bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body ? { body } : {}) });
const statusOf = async (id: string) => (await call('GET', `/backups/${id}`)).status;
const textOf = async (id: string) => (await call('GET', `/backups/${id}/export`)).text;
const refusals = (id: string) => bench.get(`/audit-logs?action=backup.removal_refused&resourceId=${id}`);
const sql = (text: string, values: unknown[]) => asOwner(bench.app.databaseUrl, (client) => client.query(text, values));
/** The catalogue is that of a day before these backups were made. */
const forget = (ids: string[]) => sql('delete from backups where id = any($1)', [ids]);

async function backUpWith(name: string, body: object) {
  await bench.firestore.doc(`users/${name}`).set({ n: 1 });
  const id = await bench.backUp(body);
  return { id, content: await textOf(id) };
}

test('a base outlives its days while increments build on it that only the bucket knows, and these are linked again', async () => {
  const base = await backUpWith('ada', { retention: 1 });
  const first = await backUpWith('bob', { type: 'incremental' });
  const second = await backUpWith('cat', { type: 'incremental' });
  await forget([first.id, second.id]);
  const alone = await backUpWith('dan', { retention: 1 });
  const newest = await backUpWith('eve', { retention: 100 });
  bench.app.clock.advance(3 * dayMs);
  await expect
    .poll(async () => {
      await bench.app.tasks.runNow('retention');
      return Promise.all([first.id, second.id, alone.id].map(statusOf));
    }, patience)
    .toEqual([200, 200, 404]);
  for (const { id, content } of [base, first, second, newest]) expect(await textOf(id)).toBe(content);
  expect(await refusals(base.id)).toHaveLength(1);

  // Whoever does not want them deletes them: nothing keeps them any more.
  for (const { id } of [second, first, base]) {
    expect((await call('DELETE', `/backups/${id}`)).status).toBe(200);
    await expect.poll(async () => (await sql('select 1 from backups where id = $1', [id])).rows, patience).toEqual([]);
  }
  expect(await refusals(base.id)).toHaveLength(1);
});

test('a base also stays when the key has changed since the catalogue was saved, and when somebody deletes it', async () => {
  const base = await backUpWith('ada', {});
  await sql('create table keys_of_that_day as select * from organization_keys', []);
  expect((await call('POST', '/organizations/current/encryption-key/rotate', {})).status).toBe(200);
  const increment = await backUpWith('bob', { type: 'incremental' });
  await expect
    .poll(
      async () => (await bench.app.platform.queue.counts()).filter(({ kind }) => kind === keyCopyJob.name),
      patience,
    )
    .toEqual([]);
  await forget([increment.id]);
  await sql('delete from organization_keys', []);
  await sql('insert into organization_keys select * from keys_of_that_day', []);
  bench.app.clock.advance(120_000);
  expect((await call('DELETE', `/backups/${base.id}`)).status).toBe(200);
  await expect.poll(() => statusOf(increment.id), patience).toBe(200);
  expect(await textOf(increment.id)).toBe(increment.content);
  expect(await textOf(base.id)).toBe(base.content);
});

test('a base also stays while a rescan links its increments', async () => {
  const s3 = await startS3Sandbox({ buckets: ['backups'] });
  const storageDestinationId = await bench.addBucket(s3);
  const base = await backUpWith('ada', { storageDestinationId });
  const increment = await backUpWith('bob', { storageDestinationId, type: 'incremental' });
  await sql('create table known_backups as select * from backups where id = $1', [increment.id]);
  await sql('create table known_copies as select * from backup_copies where backup_id = $1', [increment.id]);
  await forget([increment.id]);
  s3.faults.set({ delayRate: 1, delayMsMin: 3000, delayMsMax: 3000, operations: ['ListObjectsV2'] });
  expect((await call('DELETE', `/backups/${base.id}`)).status).toBe(200);
  // Its destination is being asked.
  await expect.poll(() => s3.faults.counts.delays, patience).toBeGreaterThan(0);
  await sql('insert into backups select * from known_backups', []);
  await sql('insert into backup_copies select * from known_copies', []);
  await expect.poll(() => refusals(base.id), patience).toHaveLength(1);
  s3.faults.clear();
  for (const { id, content } of [base, increment]) expect(await textOf(id)).toBe(content);
  await s3.stop();
});
