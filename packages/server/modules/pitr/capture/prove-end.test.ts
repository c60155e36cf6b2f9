// @module-tag long
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CapturedBench, startCapturedBench } from '../../../testing/pitr-bench.ts';

let house: CapturedBench;
beforeAll(async () => {
  house = await startCapturedBench();
});
afterAll(() => house.close());

const row = async () => (await house.owner.query('select * from pitr_logs')).rows[0];

test('a collection found only when capture is switched off makes a gap of the time in which it may have existed', async () => {
  await expect.poll(async () => (await house.shown()).status).toBe('running');
  const sinceProof = async () => {
    const { position, covered_through } = await row();
    return Date.parse(covered_through) - Date.parse(position?.provedThrough ?? covered_through);
  };
  // Proofs come rarely once nothing changes.
  await expect.poll(sinceProof).toBeGreaterThan(8000);
  await house.bench.firestore.doc('users/ada/letters/1').set({ n: 1 });
  await sleep(20);
  const at = new Date().toISOString();
  await expect.poll(async () => (await row()).covered_through > at).toBe(true);
  await house.ask('POST', '/disable', {});
  await expect.poll(async () => (await row()).holder).toBeNull();
  const { body } = await house.ask('GET', `/view/documents?at=${at}&collection=users/ada/letters`);
  expect(body.error, JSON.stringify(body)).toMatchObject({
    code: 'POINT_IN_TIME_UNAVAILABLE',
    message: expect.stringContaining('found late'),
  });
  const { coveredTo } = await house.shown();
  expect(coveredTo < at).toBe(true);
  expect((await house.usersAt(coveredTo)).status).toBe(200);

  await house.ask('POST', '/enable', {});
  await expect.poll(async () => (await house.shown()).status).toBe('running');
  const letters = async () => {
    const now = (await house.shown()).coveredTo;
    return (await house.ask('GET', `/view/documents?at=${now}&collection=users/ada/letters`)).body.data?.length;
  };
  await expect.poll(letters).toBe(1);
});
