import { type GcsSandbox, type GoogleSandbox, startGcsSandbox, startGoogleSandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CapturedBench, startCapturedBench } from '../../../testing/pitr-bench.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

/** A log in a bucket of Google's that locks what is put into it. */
let house: CapturedBench;
let gcs: GcsSandbox;
let google: GoogleSandbox;
let locking: string;
let logId: string;
beforeAll(async () => {
  google = await startGoogleSandbox();
  gcs = await startGcsSandbox({ isTokenValid: (token) => google.control.verifyAccessToken(token) !== undefined });
  const nowMs = Date.now();
  const made = { createdAtMs: nowMs, updatedAtMs: nowMs, metageneration: 1, objectRetention: true };
  await gcs.objects.saveBucket({ ...made, name: 'locking', project: 'sandbox', location: 'US' });
  const endpoints = { ...google.endpoints, storage: gcs.endpoint };
  house = await startCapturedBench({ GOOGLE_API_ENDPOINTS: JSON.stringify(endpoints) });
  expect((await house.ask('POST', '/disable', { deleteLog: true })).status).toBe(200);
  const credentials = { serviceAccountKey: google.control.createServiceAccount('sandbox') };
  const objectLock = { mode: 'governance', days: 5 };
  const place = { name: 'Locking', type: 'gcs', bucket: 'locking', objectLock, credentials };
  locking = (await call('POST', '/storage-destinations', place)).id;
});
afterAll(async () => {
  await house.close();
  await Promise.all([gcs.stop(), google.stop()]);
});

async function call(method: string, path: string, body?: object) {
  const answer = await house.bench.app.request(method, `/api/v1${path}`, { ...house.bench.as, ...(body && { body }) });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body.data;
}

const objectsOf = (id: string) =>
  [...gcs.objects.bucket('locking').objects.entriesFrom(`logs/${id}/`)].filter(([key]) => key.includes(id));
const segments = () => objectsOf(logId).filter(([key]) => key.includes('/segments/'));

function lock([, object]: ReturnType<typeof segments>[number], retainUntil: Date): void {
  object.settings.retention = { mode: 'Unlocked', retainUntilTime: retainUntil.toISOString() };
}

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
  for (const segment of segments().slice(0, -1)) lock(segment, new Date(0));
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

test('a log that is deleted goes when its lock has ended, and no rescan brings it back before', async () => {
  const tomorrow = new Date(Date.now() + 86_400_000);
  for (const object of objectsOf(logId)) lock(object, tomorrow);
  expect((await house.ask('POST', '/disable', { deleteLog: true })).status).toBe(200);
  const waits = "from pgboss.job where name = 'pitr-log-remove' and start_after > now() + interval '20 hours'";
  await expect.poll(async () => (await house.owner.query(`select 1 ${waits}`)).rowCount).toBe(1);
  expect(objectsOf(logId).length).toBeGreaterThan(0);
  const { id } = await call('POST', `/storage-destinations/${locking}/rescan`);
  const path = `/api/v1/storage-destinations/${locking}/tasks/${id}`;
  const { result } = await untilEnded(house.bench.app, path, house.bench.as);
  expect(result).toMatchObject({ registered: 0, failures: [] });

  for (const object of objectsOf(logId)) lock(object, new Date(0));
  await house.owner.query(`update pgboss.job set start_after = now() where id in (select id ${waits})`);
  await expect.poll(() => objectsOf(logId)).toEqual([]);
});
