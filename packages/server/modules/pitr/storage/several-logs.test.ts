// @module-tag long
import { readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CapturedBench, startCapturedBench, usersAt } from '../../../testing/pitr-bench.ts';

/** Logs of one database that lie in one bucket: of two projects, of two organizations, or left behind by a removal that could not go on. */
let house: CapturedBench;
beforeAll(async () => {
  house = await startCapturedBench();
});
afterAll(() => house.close());

const logs = () => join(house.bench.app.folder, 'storage', house.bench.as.organizationId, 'logs');
const forget = () => house.owner.query('delete from pitr_segments; delete from pitr_logs');

test('a log that is being removed is not found by a rescan, and goes', async () => {
  await house.capturedWith('removed');
  const { log_id, storage_destination_id } = (await house.owner.query('select * from pitr_logs')).rows[0];
  const { useLocks } = house.bench.app.platform.database;
  // Its removal waits for whoever reads.
  const endReading = await useLocks.hold([`${log_id} in ${storage_destination_id}`]);
  expect((await house.ask('POST', '/disable', { deleteLog: true })).status).toBe(200);
  const during = await house.rescan();
  await endReading();
  expect(during.result, JSON.stringify(during)).toMatchObject({ registered: 0, failures: [] });
  expect((await house.owner.query('select * from pitr_logs')).rows).toEqual([]);
  const files = async () => (await readdir(join(logs(), log_id, 'segments')).catch(() => [])).length;
  await expect.poll(files, { interval: 500 }).toBe(0);
  expect((await house.rescan()).result).toMatchObject({ registered: 0, failures: [] });
});

test('a rescan makes the moments of all logs of a database reachable, and tells the time between them as gaps', async () => {
  const moments: string[] = [];
  for (const id of ['first', 'second', 'third']) {
    expect((await house.ask('POST', '/enable', { retentionDays: 3 })).status).toBe(200);
    moments.push(await house.capturedWith(id));
    await forget();
    await house.bench.firestore.doc(`users/${id}`).delete();
  }
  const task = await house.rescan();
  expect(task.result, JSON.stringify(task)).toMatchObject({ registered: 1, failures: [] });
  expect(task.result.relinked).toBeGreaterThan(0);
  for (const [index, id] of ['first', 'second', 'third'].entries()) {
    const users = await usersAt(house.bench, moments[index]!);
    expect(users.filter((user) => !/ada|last|removed/.test(user))).toEqual([`users/${id}`]);
  }
  const { gaps, coveredFrom, coveredTo } = await house.shown();
  expect(gaps.length).toBe(2);
  expect(coveredFrom < moments[0]!).toBe(true);
  expect(coveredTo > moments[2]!).toBe(true);
  const inside = new Date((Date.parse(gaps[0].from) + Date.parse(gaps[0].to)) / 2).toISOString();
  expect((await house.usersAt(inside)).body.error.code).toBe('POINT_IN_TIME_UNAVAILABLE');

  expect((await house.rescan()).result).toMatchObject({ registered: 0, relinked: 0, failures: [] });
  // What was taken in is enough by itself, with the manifest that is written anew.
  await house.bench.app.tasks.runNow('pitr manifests');
  await forget();
  expect((await house.rescan()).result).toMatchObject({ registered: 1, relinked: 0, failures: [] });
  expect(await usersAt(house.bench, moments[0]!)).toContain('users/first');

  // Of one that is found after the other was catalogued, what lies behind is taken in as well.
  const { log_id } = (await house.owner.query('select log_id from pitr_logs')).rows[0];
  await forget();
  await rename(join(logs(), log_id), join(house.bench.app.folder, 'aside'));
  expect((await house.rescan()).result).toMatchObject({ registered: 1, failures: [] });
  expect((await house.usersAt(moments[2]!)).body.error.code).toBe('POINT_IN_TIME_UNAVAILABLE');
  await rename(join(house.bench.app.folder, 'aside'), join(logs(), log_id));
  await house.owner.query("update pitr_logs set enabled = true, retry_at = now() + interval '1 hour'");
  const captured = await house.rescan();
  expect(captured.result.failures[0].reason).toContain('captures into another log');
  await house.owner.query('update pitr_logs set enabled = false');
  const found = await house.rescan();
  expect(found.result, JSON.stringify(found)).toMatchObject({ registered: 0, failures: [] });
  for (const [index, id] of ['first', 'second', 'third'].entries())
    expect(await usersAt(house.bench, moments[index]!)).toContain(`users/${id}`);
});
