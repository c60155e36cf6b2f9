// @module-tag long
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CapturedBench, startCapturedBench, usersAt } from '../../../testing/pitr-bench.ts';

/** What an age that the catalogue alone tells would take, although the bucket knows better. */
let house: CapturedBench;
beforeAll(async () => {
  house = await startCapturedBench();
});
afterAll(() => house.close());

const dayMs = 86_400_000;
const daysAgo = (days: number) => `${new Date(Date.now() - days * dayMs).toISOString().slice(0, -1)}000000Z`;
const logs = async () => (await house.owner.query('select count(*)::int as n from pitr_logs')).rows[0].n;
const retention = () => house.bench.app.tasks.runNow('pitr retention');

test('after the database was restored from an older copy, a log with newer segments is kept longer than the copy says', async () => {
  const at = await house.capturedWith('later');
  await house.owner.query('delete from pitr_segments');
  await house.owner.query(
    'update pitr_logs set started_from = $1, covered_through = $2, created_at = $3, position = null, next_sequence = 0',
    [daysAgo(5), daysAgo(4), new Date(Date.now() - 5 * dayMs)],
  );
  await retention();
  expect(await logs()).toBe(1);
  // What was found is taken up without anybody's doing.
  await expect.poll(async () => (await house.usersAt(at)).status).toBe(200);
  expect(await usersAt(house.bench, at)).toContain('users/later');
});

test('a log that is found in a bucket long after its end is kept for all its days from then on', async () => {
  expect((await house.ask('POST', '/enable', { retentionDays: 3 })).status).toBe(200);
  const at = await house.capturedWith('found');
  await house.owner.query('delete from pitr_segments; delete from pitr_logs');
  const task = await house.bench.inDays(40, async () => {
    const rescanned = await house.rescan();
    await retention();
    return rescanned;
  });
  expect(task.result, JSON.stringify(task)).toMatchObject({ registered: 1, failures: [] });
  expect(await logs()).toBe(1);
  expect(await usersAt(house.bench, at)).toContain('users/found');
  await house.bench.inDays(74, retention);
  expect(await logs()).toBe(1);
  await house.bench.inDays(76, retention);
  expect(await logs()).toBe(0);
});
