// @module-tag long
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startLockingBucket } from '../../../testing/locking-bucket.ts';
import { type CapturedBench, startCapturedBench, usersAt } from '../../../testing/pitr-bench.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

/** A log in a bucket of Google's that locks what is put into it. */
let house: CapturedBench;
let bucket: Awaited<ReturnType<typeof startLockingBucket>>;
let locking: string;
let logId: string;
beforeAll(async () => {
  bucket = await startLockingBucket();
  house = await startCapturedBench({ ...bucket.environment, STORAGE_RETRY_ATTEMPTS: '2' });
  expect((await house.ask('POST', '/disable', { deleteLog: true })).status).toBe(200);
  locking = (await call('POST', '/storage-destinations', bucket.place(5))).id;
});
afterAll(async () => {
  await house.close();
  await bucket.close();
});

async function call(method: string, path: string, body?: object) {
  const answer = await house.bench.app.request(method, `/api/v1${path}`, { ...house.bench.as, ...(body && { body }) });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body.data;
}

const objectsOf = (id: string) => bucket.objectsIn(`logs/${id}/`);
const segments = () => bucket.objectsIn(`logs/${logId}/segments/`);

/** What the log of the project holds is older than its days, and a base of its own covers its end. */
async function outgrown(): Promise<void> {
  const { owner, bench } = house;
  await owner.query("update backups set trigger = 'manual' where trigger = 'pitr'");
  await owner.query("update pitr_logs set retention_days = 0, compact_due_at = now() - interval '1 second'");
  await bench.app.tasks.runNow('pitr upkeep');
  const made = "select 1 from backups where trigger = 'pitr' and type = 'synthetic' and status = 'completed'";
  await expect.poll(async () => (await owner.query(made)).rowCount).toBe(1);
}

test('what is locked longer than its days can be reached until the lock has ended, all of it', async () => {
  expect((await house.ask('POST', '/enable', { storageDestinationId: locking, retentionDays: 3 })).status).toBe(200);
  const before = await house.capturedWith('before');
  expect((await house.ask('POST', '/enable', {})).status).toBe(200);
  await outgrown();
  logId = (await house.owner.query('select log_id from pitr_logs')).rows[0].log_id;
  // Of some the lock has ended, of others not.
  for (const [key] of segments().slice(0, -1)) bucket.lock(key, new Date(0));
  const there = segments().length;
  expect(there).toBeGreaterThan(1);
  await house.bench.app.tasks.runNow('pitr retention');
  expect(segments().length).toBe(there);
  expect((await house.usersAt(before)).body.data?.length).toBeGreaterThan(0);

  // The lock is of another rule than the destination knows of: what is not there in whole is not promised.
  await call('PATCH', `/storage-destinations/${locking}`, { objectLock: null });
  await house.bench.app.tasks.runNow('pitr retention');
  expect(segments().length).toBeLessThan(there);
  expect((await house.usersAt(before)).body.error?.code).toBe('POINT_IN_TIME_UNAVAILABLE');
});

const waits = "from pgboss.job where name = 'pitr-log-remove' and start_after > now() + interval '20 hours'";
const waiting = async () =>
  (await house.owner.query(`select id ${waits} and state = 'created'`)).rows.map(({ id }) => id);
const hurry = (change = '') =>
  house.owner.query(`update pgboss.job set start_after = now() ${change} where id in (select id ${waits})`);

test('a log that is deleted goes when its lock has ended, and no rescan brings it back before', async () => {
  const tomorrow = new Date(Date.now() + 86_400_000);
  bucket.lock(`logs/${logId}/`, tomorrow);
  expect((await house.ask('POST', '/disable', { deleteLog: true })).status).toBe(200);
  await expect.poll(waiting).toHaveLength(1);
  expect(objectsOf(logId).length).toBeGreaterThan(0);
  const { id } = await call('POST', `/storage-destinations/${locking}/rescan`);
  const path = `/api/v1/storage-destinations/${locking}/tasks/${id}`;
  const { result } = await untilEnded(house.bench.app, path, house.bench.as);
  expect(result).toMatchObject({ registered: 0, failures: [] });

  bucket.lock(`logs/${logId}/`, new Date(0));
  // A storage that is away for days uses up every try.
  const [first] = await waiting();
  bucket.faults.set({ errorRate: 1 });
  await hurry(', retry_count = retry_limit');
  await expect.poll(waiting).not.toEqual([first]);
  await expect.poll(waiting).toHaveLength(1);
  bucket.faults.clear();
  await hurry();
  await expect.poll(() => objectsOf(logId)).toEqual([]);
});

test('where the destination of a deleted log is removed before its lock has ended, the audit log says that it stays', async () => {
  const { owner, bench } = house;
  expect((await house.ask('POST', '/enable', { storageDestinationId: locking })).status).toBe(200);
  await house.capturedWith('after');
  logId = (await owner.query('select log_id from pitr_logs')).rows[0].log_id;
  bucket.lock(`logs/${logId}/`, new Date(Date.now() + 86_400_000));
  expect((await house.ask('POST', '/disable', { deleteLog: true })).status).toBe(200);
  await expect.poll(waiting).toHaveLength(1);
  await owner.query('delete from backups');
  await call('DELETE', `/storage-destinations/${locking}`);
  await hurry();
  const told = () => bench.get(`/audit-logs?resourceId=${locking}&action=pitr.log_left`);
  await expect.poll(told).toMatchObject([{ details: { logId } }]);
  expect(objectsOf(logId).length).toBeGreaterThan(0);
});

test('a rotation of keys does not stop a capture whose manifest is under a lock; the manifest follows when that has ended', async () => {
  const { owner, bench } = house;
  const again = (await call('POST', '/storage-destinations', { ...bucket.place(5), name: 'Again', prefix: 'again' }))
    .id;
  expect((await house.ask('POST', '/enable', { storageDestinationId: again })).status).toBe(200);
  const before = await house.capturedWith('before-rotation');
  logId = (await owner.query('select log_id from pitr_logs')).rows[0].log_id;
  const manifest = `again/logs/${logId}/manifest`;
  const writtenAt = () => bucket.objectsIn(manifest)[0]?.[1].createdAtMs;
  bucket.lock(manifest, new Date(Date.now() + 86_400_000));
  const first = writtenAt();
  await call('POST', '/organizations/current/encryption-key/rotate');
  expect((await house.ask('POST', '/enable', {})).status).toBe(200);
  const at = await house.capturedWith('after-rotation');
  expect(await usersAt(bench, at)).toContain('users/after-rotation');
  expect(await usersAt(bench, before)).not.toContain('users/after-rotation');
  expect(writtenAt()).toBe(first);
  bucket.lock(manifest, new Date(0));
  await bench.app.tasks.runNow('pitr manifests');
  expect(writtenAt()).toBeGreaterThan(first as number);
  expect((await owner.query('select manifest_written as written from pitr_logs')).rows).toEqual([{ written: true }]);
});

test('a new base is made before the lock of the one before has ended, however little is captured', async () => {
  const { owner, bench } = house;
  const [{ id }] = (await bench.get('/storage-destinations')).filter(({ name }: { name: string }) => name === 'Again');
  await call('PATCH', `/storage-destinations/${id}`, { objectLock: { mode: 'governance', days: 1 } });
  expect((await house.ask('POST', '/enable', {})).status).toBe(200);
  await expect.poll(async () => (await house.shown()).status, { timeout: 30_000 }).toBe('running');
  const bases = async () =>
    (await owner.query("select id, status, snapshot_time as at from backups where trigger = 'pitr' order by id")).rows;
  await expect.poll(async () => (await bases()).at(-1).status, { timeout: 30_000 }).toBe('completed');
  await bench.firestore.doc('users/later').set({ n: 1 });
  await expect.poll(async () => (await house.shown()).changesPerHour.length).toBeGreaterThan(0);
  const before = await bases();
  const lookAt = async (hours: number) => {
    const ago = (at: string) => new Date(Date.parse(at) - hours * 3_600_000).toISOString();
    for (const base of before)
      await owner.query('update backups set snapshot_time = $2 where id = $1', [base.id, ago(base.at)]);
    await owner.query('update pitr_logs set started_from = $1', [ago(before[0].at)]);
    await owner.query("update pitr_logs set compact_due_at = now() - interval '1 second'");
    await bench.app.tasks.runNow('pitr upkeep');
  };
  await lookAt(11);
  expect(await bases()).toHaveLength(before.length);
  await lookAt(13);
  expect(await bases()).toHaveLength(before.length + 1);
});

test('segments that were moved later than captured stay reachable until their new lock has ended', async () => {
  const { owner, bench } = house;
  expect((await house.ask('POST', '/disable', {})).status).toBe(200);
  await expect.poll(async () => (await owner.query('select holder from pitr_logs')).rows[0].holder).toBeNull();
  // As after a migration: all of it is days older than the locks, and a base of its own covers its end.
  const days = (count: number) => `to_char(now() - interval '${count} days', 'YYYY-MM-DD"T"HH24:MI:SS.US000Z')`;
  await owner.query(`update pitr_logs set enabled = true, retention_days = 1, started_from = ${days(9)}`);
  await owner.query(`update pitr_segments set covered_from = ${days(8)}, covered_through = ${days(7)}, gap = null`);
  const base = `select max(id) from backups where trigger = 'pitr' and status = 'completed'`;
  await owner.query(`update backups set snapshot_time = ${days(5)} where id in (${base})`);
  logId = (await owner.query('select log_id from pitr_logs')).rows[0].log_id;
  const there = () => bucket.objectsIn(`again/logs/${logId}/segments/`).length;
  const known = async () => (await owner.query('select 1 from pitr_segments where log_id = $1', [logId])).rowCount;
  const before = [there(), await known()];
  expect(before[1]).toBeGreaterThan(0);
  bucket.lock(`again/logs/${logId}/`, new Date(Date.now() + 86_400_000));
  await bench.app.tasks.runNow('pitr retention');
  expect([there(), await known()]).toEqual(before);
  bucket.lock(`again/logs/${logId}/`, new Date(0));
  await bench.app.tasks.runNow('pitr retention');
  expect([there() < before[0]!, await known()]).toEqual([true, 0]);
});
