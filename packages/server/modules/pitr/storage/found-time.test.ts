// @module-tag long
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CapturedBench, startCapturedBench, usersAt } from '../../../testing/pitr-bench.ts';

let house: CapturedBench;
beforeAll(async () => {
  house = await startCapturedBench();
});
afterAll(() => house.close());

const put = (id: string) => house.bench.firestore.doc(`users/${id}`).set({ n: 1 });
const remove = (id: string) => house.bench.firestore.doc(`users/${id}`).delete();

async function idsAt(at: string): Promise<string[]> {
  return (await usersAt(house.bench, at)).map((path) => path.slice('users/'.length));
}

/** An instant behind everything that was written so far, and written down. */
async function captured(): Promise<string> {
  await sleep(20);
  const at = new Date();
  await sleep(20);
  await house.bench.firestore.doc('users/clock').set({ at: at.getTime() });
  const isDown = async () => {
    const { rows } = await house.owner.query('select max(covered_through) as through from pitr_segments');
    return Date.parse(rows[0].through ?? 0) > at.getTime();
  };
  await expect.poll(isDown).toBe(true);
  return at.toISOString();
}

async function relinked(): Promise<number> {
  const task = await house.rescan();
  expect(task, JSON.stringify(task)).toMatchObject({ status: 'completed', result: { failures: [] } });
  return task.result.relinked;
}

const tables = ['pitr_logs', 'pitr_segments'];

/** What the catalogue says of the log now; called, it says so again, and whoever captured in between has lost the lease. */
async function remember(): Promise<() => Promise<void>> {
  const kept: [string, string][] = [];
  for (const table of tables)
    kept.push([table, (await house.owner.query(`select json_agg(t)::text as rows from ${table} t`)).rows[0].rows]);
  return async () => {
    const { rows } = await house.owner.query('select epoch from pitr_logs');
    await house.owner.query('begin');
    for (const [table, before] of kept) {
      await house.owner.query(`delete from ${table}`);
      await house.owner.query(`insert into ${table} select * from json_populate_recordset(null::${table}, $1)`, [
        before,
      ]);
    }
    await house.owner.query('update pitr_logs set epoch = $1, holder = null, retry_at = null', [rows[0].epoch + 1]);
    await house.owner.query('commit');
  };
}

test('after an older copy of the database, a rescan fills the beginning of the gap with what was captured before it', async () => {
  await expect.poll(async () => (await house.shown()).status).toBe('running');
  await put('early');
  const early = await captured();
  const goBack = await remember();
  await put('passing');
  // Read in the time that is found, it holds what nobody sees go.
  await house.bench.backUp();
  await remove('early');
  const found = await captured();
  await house.ask('POST', '/disable');
  await remove('passing');
  await put('unseen');
  // Longer than what counts as brief.
  await sleep(11_000);
  await goBack();
  await put('late');
  const running = async () =>
    (await house.shown()).status === 'running' && Date.parse((await house.shown()).coveredTo) > Date.now() - 5000;
  await expect.poll(running, { interval: 200 }).toBe(true);
  const late = await captured();
  expect((await house.usersAt(found)).body.error).toMatchObject({ code: 'POINT_IN_TIME_UNAVAILABLE' });
  const before = await idsAt(late);
  expect(before).toEqual(['ada', 'clock', 'late', 'unseen']);

  expect(await relinked()).toBeGreaterThan(0);
  expect(await idsAt(found)).toEqual(['ada', 'clock', 'passing']);
  expect(await idsAt(early)).toEqual(['ada', 'early']);
  // What came and went in the time that stays unknown does not come back behind it.
  expect(await idsAt(late)).toEqual(before);
  expect(await idsAt(await captured())).toEqual(before);
  const { gaps } = await house.shown();
  expect(gaps.length).toBeGreaterThan(0);
  for (const { from } of gaps) expect(from > found, from).toBe(true);
  expect(await relinked()).toBe(0);
});

test('a log that nobody captures goes on with what another server has captured since', async () => {
  await house.ask('POST', '/disable');
  const goBack = await remember();
  await house.ask('POST', '/enable', {});
  await expect.poll(async () => (await house.shown()).status).toBe('running');
  await put('elsewhere');
  const at = await captured();
  await house.ask('POST', '/disable');
  await goBack();
  expect((await house.shown()).coveredTo < at).toBe(true);
  expect((await house.usersAt(at)).body.error).toMatchObject({ code: 'POINT_IN_TIME_UNAVAILABLE' });
  expect(await relinked()).toBeGreaterThan(0);
  expect(await idsAt(at)).toContain('elsewhere');
  expect(await relinked()).toBe(0);
  await house.ask('POST', '/enable', {});
  await expect.poll(async () => (await house.shown()).status).toBe('running');
  expect(await idsAt(await captured())).toContain('elsewhere');
});
