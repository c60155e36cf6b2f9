// @module-tag long
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CapturedBench, startCapturedBench, usersAt } from '../../../testing/pitr-bench.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

let house: CapturedBench;
beforeAll(async () => {
  house = await startCapturedBench();
});
afterAll(() => house.close());

const post = (path: string, body?: object) =>
  house.bench.app.request('POST', `/api/v1${path}`, { ...house.bench.as, ...(body ? { body } : {}) });
async function runTask(kind: string, destinationId: string, body?: object) {
  const started = await post(`/storage-destinations/${destinationId}/${kind}`, body);
  expect(started.status, started.text).toBe(202);
  return untilEnded(house.bench.app, started.headers.get('location') as string, house.bench.as);
}

test('after the database was restored from an older copy, a log that was moved since is found in its new place', async () => {
  const { bench, owner } = house;
  await expect.poll(async () => (await house.shown()).status).toBe('running');
  await bench.firestore.doc('users/bob').set({ n: 1 });
  await sleep(20);
  const at = new Date().toISOString();
  await expect.poll(async () => (await house.shown()).coveredTo > at).toBe(true);
  await house.ask('POST', '/disable', {});
  const holder = async () => (await owner.query('select holder from pitr_logs')).rows[0].holder;
  await expect.poll(holder).toBeNull();
  const other = (await post('/storage-destinations', { name: 'Other', type: 'local', path: 'other' })).body.data.id;
  expect((await runTask('migrate', bench.shop.destinationId, { toStorageDestinationId: other })).error).toBeNull();
  const { log_id } = (await owner.query('select log_id from pitr_logs')).rows[0];
  const segments = join(bench.app.folder, 'storage', bench.as.organizationId, 'logs', log_id, 'segments');
  const left = async () => (await readdir(segments).catch(() => [])).length;
  await expect.poll(left).toBe(0);

  await owner.query('update pitr_logs set storage_destination_id = $1', [bench.shop.destinationId]);
  expect((await house.usersAt(at)).body.error.code).toBe('INTEGRITY_ERROR');
  const lost = await runTask('rescan', bench.shop.destinationId);
  expect(lost.result.missing).toBeGreaterThan(0);
  const found = await runTask('rescan', other);
  expect(found.result, JSON.stringify(found)).toMatchObject({ relinked: lost.result.missing, failures: [] });
  expect(await usersAt(bench, at)).toEqual(['users/ada', 'users/bob']);
  expect((await house.shown()).gaps).toEqual([]);
  expect((await runTask('rescan', other)).result).toMatchObject({ relinked: 0, failures: [] });
});
