// @module-tag long
import { readdirSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CapturedBench, startCapturedBench, usersAt } from '../../../testing/pitr-bench.ts';

let house: CapturedBench;
beforeAll(async () => {
  house = await startCapturedBench();
});
afterAll(() => house.close());

let writtenMs = 0;
async function put(id: string): Promise<void> {
  writtenMs = (await house.bench.firestore.doc(`users/${id}`).set({ n: 1 })).writeTime.toMillis();
}
const running = () => expect.poll(async () => (await house.shown()).status).toBe('running');

/** An instant behind everything that was written so far by the clock of the database, captured. */
async function captured(): Promise<string> {
  const at = writtenMs + 1;
  const coveredTo = async () => Date.parse((await house.shown()).coveredTo ?? 0);
  await expect.poll(coveredTo).toBeGreaterThan(at);
  return new Date(at).toISOString();
}

/** All of it but the manifest loses a byte, and a verification finds that. */
async function damage(backupId: string): Promise<void> {
  const { app, as } = house.bench;
  const folder = join(app.folder, 'storage', as.organizationId, 'backups', backupId);
  const files = readdirSync(folder, { recursive: true, withFileTypes: true });
  for (const file of files.filter((one) => one.isFile() && one.name !== 'manifest'))
    truncateSync(join(file.parentPath, file.name), 20);
  const started = await app.request('POST', `/api/v1/backups/${backupId}/verify`, as);
  expect(started.status, started.text).toBe(202);
  const verification = async () => (await house.bench.get(`/backups/${backupId}`)).verification?.status;
  await expect.poll(verification).toBe('failed');
}

test('moments after a damaged base are reached from the base before it, and if there is none a new one is made', async () => {
  await running();
  const [first] = await house.bench.get('/backups?limit=10');
  await put('early');
  await captured();
  const second = await house.bench.backUp({ type: 'full' });
  await put('late');
  const at = await captured();
  await damage(second);
  expect(await usersAt(house.bench, at)).toEqual(['users/ada', 'users/early', 'users/late']);
  await running();

  await damage(first.id);
  expect((await house.shown()).status).toBe('catching_up');
  await house.bench.app.tasks.runNow('pitr bases');
  await running();
  await put('later');
  expect(await usersAt(house.bench, await captured())).toContain('users/later');
});

test('nothing expires because of a base that was found damaged', async () => {
  const { bench, owner } = house;
  const early = await captured();
  const [whole, harmed] = [await bench.backUp({ type: 'full' }), await bench.backUp({ type: 'full' })];
  await put('behind');
  const late = await captured();
  // Only bases of the log's own let older ones and their time go.
  await owner.query("update backups set trigger = 'manual' where trigger = 'pitr'");
  await owner.query("update backups set trigger = 'pitr' where id = $1", [harmed]);
  await damage(harmed);
  // Somebody has looked at it.
  const unfreeze = `/api/v1/projects/${bench.shop.projectId}/retention/unfreeze`;
  expect((await bench.app.request('POST', unfreeze, bench.as)).status).toBe(200);
  const removeOld = async () => {
    await owner.query('update pitr_logs set retention_days = 0');
    await bench.app.tasks.runNow('pitr retention');
    await owner.query('update pitr_logs set retention_days = 3');
  };
  await removeOld();
  for (const at of [early, late]) expect(await usersAt(bench, at)).toContain('users/later');
  await owner.query("update backups set trigger = 'pitr' where id = $1", [whole]);
  await removeOld();
  expect((await house.usersAt(early)).body.error.code).toBe('POINT_IN_TIME_UNAVAILABLE');
  expect(await usersAt(bench, late)).toContain('users/behind');
});

test('moments after a base with a withdrawn key are reached from the base before it', async () => {
  const { app, as, backUp } = house.bench;
  const key = '/api/v1/organizations/current/encryption-key';
  const given = await app.request('PUT', key, { ...as, body: { passphrase: 'a key of our own' } });
  expect(given.status, given.text).toBe(200);
  await backUp({ type: 'full' });
  await put('sealed');
  const at = await captured();
  expect((await app.request('DELETE', key, as)).status).toBe(200);
  expect(await usersAt(house.bench, at)).toContain('users/sealed');
  await running();
});
