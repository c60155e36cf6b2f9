// @module-tag long
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type CapturedBench, startCapturedBench, usersAt } from '../../../testing/pitr-bench.ts';

/** What becomes of a log whose time was taken into another one. */
let house: CapturedBench;
const moments: string[] = [];
beforeAll(async () => {
  house = await startCapturedBench();
  for (const id of ['first', 'second']) {
    await house.ask('POST', '/enable', { retentionDays: 3 });
    moments.push(await house.capturedWith(id));
    await forget();
  }
});
afterAll(() => house.close());

const forget = () => house.owner.query('delete from pitr_segments; delete from pitr_logs');
const folders = () => readdir(join(house.bench.app.folder, 'storage', house.bench.as.organizationId, 'logs'));
const logRow = async () => (await house.owner.query('select * from pitr_logs')).rows[0];

test('a new server that finds a log and its originals tells them apart', async () => {
  expect((await house.rescan()).result).toMatchObject({ registered: 1, failures: [] });
  const { log_id, joined } = await logRow();
  expect(await folders()).toHaveLength(2);
  expect(joined).toMatchObject([{ logId: expect.not.stringMatching(log_id) }]);
  await house.bench.app.tasks.runNow('pitr manifests');
  await forget();
  expect((await house.rescan()).result).toMatchObject({ registered: 1, relinked: 0, failures: [] });
  expect(await logRow()).toMatchObject({ log_id, joined });
  expect(await usersAt(house.bench, moments[0]!)).toContain('users/first');
  expect(await usersAt(house.bench, moments[1]!)).toContain('users/second');
});

test('expired time does not come back from the original logs', async () => {
  const { started_from, joined } = await logRow();
  // As retention leaves it when a base covers the end of what was taken in.
  const cut = joined[0].through.replace(/\d{3}Z$/, '999Z');
  await house.owner.query('update pitr_logs set started_from = $1', [cut]);
  await house.owner.query('delete from pitr_segments where covered_through <= $1', [cut]);
  expect((await house.rescan()).result).toMatchObject({ registered: 0, relinked: 0, failures: [] });
  expect((await logRow()).started_from > started_from).toBe(true);
});

test('deleting a log deletes the original logs too, and no rescan brings them back', async () => {
  expect((await house.ask('POST', '/disable', { deleteLog: true })).status).toBe(200);
  const files = async () => {
    const inside = (await folders()).map((id) =>
      readdir(join(house.bench.app.folder, 'storage', house.bench.as.organizationId, 'logs', id), { recursive: true }),
    );
    return (await Promise.all(inside)).flat().filter((name) => name === 'manifest' || /segments.+-/.test(name));
  };
  await vi.waitUntil(async () => (await files()).length === 0, { timeout: 60_000, interval: 500 });
  expect((await house.rescan()).result).toMatchObject({ registered: 0, relinked: 0, failures: [] });
  expect((await house.usersAt(moments[0]!)).body.error.code).toBe('POINT_IN_TIME_UNAVAILABLE');
});
