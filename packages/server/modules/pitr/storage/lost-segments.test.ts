// @module-tag long
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CapturedBench, startCapturedBench, usersAt } from '../../../testing/pitr-bench.ts';

let house: CapturedBench;
beforeAll(async () => {
  house = await startCapturedBench();
});
afterAll(() => house.close());

/** An instant behind everything that was written so far, captured. */
async function captured(): Promise<string> {
  const at = Date.now() + 1;
  await expect.poll(async () => Date.parse((await house.shown()).coveredTo ?? 0)).toBeGreaterThan(at);
  return new Date(at).toISOString();
}

const aside = (key: string) => key.replaceAll('/', '-');

test('captured time whose segments are gone is a gap once a rescan has looked; the manifest is made anew, and a new base leads on', async () => {
  await expect.poll(async () => (await house.shown()).status).toBe('running');
  await house.bench.firestore.doc('users/early').set({ n: 1 });
  await sleep(20);
  const early = new Date().toISOString();
  await sleep(20);
  // The time up to it is written down with it.
  await house.bench.firestore.doc('users/kept').set({ n: 1 });
  await captured();
  const { rows: before } = await house.owner.query<{ sequence: number }>('select sequence from pitr_segments');
  await house.bench.firestore.doc('users/lost').set({ n: 1 });
  const lost = await captured();
  const { rows } = await house.owner.query<{ key: string; log_id: string }>(
    'select key, log_id from pitr_segments where sequence > $1',
    [Math.max(...before.map(({ sequence }) => sequence))],
  );
  expect(rows.length).toBeGreaterThan(0);
  const manifest = `logs/${rows[0]!.log_id}/manifest`;
  const folder = join(house.bench.app.folder, 'storage', house.bench.shop.organizationId);
  rmSync(join(folder, manifest));
  for (const { key } of rows) renameSync(join(folder, key), join(folder, aside(key)));
  expect((await house.usersAt(lost)).body.error).toMatchObject({
    code: 'INTEGRITY_ERROR',
    message: expect.stringContaining('rescan'),
  });

  const task = await house.rescan();
  expect(task.result.missing, JSON.stringify(task)).toBe(rows.length);
  expect((await house.usersAt(lost)).body.error).toMatchObject({
    code: 'POINT_IN_TIME_UNAVAILABLE',
    message: expect.stringContaining('gone from its storage'),
  });
  expect(await usersAt(house.bench, early)).toContain('users/early');
  expect(existsSync(join(folder, manifest))).toBe(true);

  await house.bench.firestore.doc('users/after').set({ n: 1 });
  await house.bench.app.tasks.runNow('pitr bases');
  await expect
    .poll(async () => (await house.usersAt(await captured())).status, { timeout: 60_000, interval: 500 })
    .toBe(200);
  expect(await usersAt(house.bench, await captured())).toEqual(
    expect.arrayContaining(['users/early', 'users/lost', 'users/after']),
  );
  expect((await house.rescan()).result.missing).toBe(rows.length);

  // What comes back is time that can be reached again.
  for (const { key } of rows) renameSync(join(folder, aside(key)), join(folder, key));
  expect((await house.rescan()).result.missing).toBe(0);
  expect(await usersAt(house.bench, lost)).toEqual(expect.arrayContaining(['users/early', 'users/lost']));
  expect((await house.shown()).gaps).toEqual([]);
});

test('a backup is read from the source where captured changes are damaged, and the next one builds on it', async () => {
  const { run, firestore, app, shop } = house.bench;
  expect(await run({ type: 'incremental' })).toMatchObject({ status: 'completed' });
  const sequences = async () => (await house.owner.query('select sequence, key from pitr_segments')).rows;
  const before = Math.max(...(await sequences()).map(({ sequence }) => sequence));
  await firestore.doc('users/behind').set({ n: 1 });
  await captured();
  const behind = (await sequences()).filter(({ sequence }) => sequence > before);
  expect(behind.length).toBeGreaterThan(0);
  for (const { key } of behind) {
    const file = join(app.folder, 'storage', shop.organizationId, key);
    const bytes = readFileSync(file);
    bytes[bytes.length >> 1]! ^= 1;
    writeFileSync(file, bytes);
  }
  const read = await run({ type: 'incremental' });
  expect(read, JSON.stringify(read.error)).toMatchObject({ status: 'completed', type: 'incremental' });
  expect(read.readsUsed).toBeGreaterThan(0);
  const paths = (await house.bench.get(`/backups/${read.id}/documents`)).map(({ path }: { path: string }) => path);
  expect(paths).toContain('users/behind');
  expect(await run({ type: 'incremental' })).toMatchObject({ status: 'completed', type: 'incremental', readsUsed: 0 });
});
