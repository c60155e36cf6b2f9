import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BackupBench } from '../../../testing/backup-bench.ts';
import { startPitrBench } from '../../../testing/pitr-bench.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

let bench: BackupBench;
let owner: pg.Client;
beforeAll(async () => {
  ({ bench, owner } = await startPitrBench());
  await bench.startOver();
  await ask('POST', '/enable', { retentionDays: 3 });
});
afterAll(async () => {
  await owner.end();
  await bench.close();
});

const pitr = () => `/projects/${bench.shop.projectId}/pitr`;
const shown = () => bench.get(pitr());
const ask = (method: string, path: string, body?: object) =>
  bench.app.request(method, `/api/v1${pitr()}${path}`, { ...bench.as, ...(body ? { body } : {}) });
const view = (at: string) => ask('GET', `/view/documents?at=${at}&collection=users`);

/** An instant behind everything that was written so far, captured. */
async function captured(): Promise<string> {
  const at = Date.now() + 1;
  await expect.poll(async () => Date.parse((await shown()).coveredTo ?? 0), { timeout: 30_000 }).toBeGreaterThan(at);
  return new Date(at).toISOString();
}

const aside = (key: string) => key.replaceAll('/', '-');

async function rescan() {
  const [{ id }] = await bench.get('/storage-destinations');
  const started = await bench.app.request('POST', `/api/v1/storage-destinations/${id}/rescan`, bench.as);
  return untilEnded(bench.app, started.headers.get('location') as string, bench.as);
}

test('captured time whose segments are gone is a gap once a rescan has looked; the manifest is made anew, and a new base leads on', async () => {
  await expect.poll(async () => (await shown()).status).toBe('running');
  await bench.firestore.doc('users/early').set({ n: 1 });
  await sleep(20);
  const early = new Date().toISOString();
  await sleep(20);
  // The time up to it is written down with it.
  await bench.firestore.doc('users/kept').set({ n: 1 });
  await captured();
  const { rows: before } = await owner.query<{ sequence: number }>('select sequence from pitr_segments');
  await bench.firestore.doc('users/lost').set({ n: 1 });
  const lost = await captured();
  const { rows } = await owner.query<{ key: string; log_id: string }>(
    'select key, log_id from pitr_segments where sequence > $1',
    [Math.max(...before.map(({ sequence }) => sequence))],
  );
  expect(rows.length).toBeGreaterThan(0);
  const manifest = `logs/${rows[0]!.log_id}/manifest`;
  const folder = join(bench.app.folder, 'storage', bench.shop.organizationId);
  rmSync(join(folder, manifest));
  for (const { key } of rows) renameSync(join(folder, key), join(folder, aside(key)));
  expect((await view(lost)).body.error).toMatchObject({
    code: 'INTEGRITY_ERROR',
    message: expect.stringContaining('rescan'),
  });

  const task = await rescan();
  expect(task.result.missing, JSON.stringify(task)).toBe(rows.length);
  expect((await view(lost)).body.error).toMatchObject({
    code: 'POINT_IN_TIME_UNAVAILABLE',
    message: expect.stringContaining('gone from its storage'),
  });
  expect(await pathsAt(early)).toContain('users/early');
  expect(existsSync(join(folder, manifest))).toBe(true);

  await bench.firestore.doc('users/after').set({ n: 1 });
  await bench.app.tasks.runNow('pitr bases');
  await expect.poll(async () => (await view(await captured())).status, { timeout: 60_000, interval: 500 }).toBe(200);
  expect(await pathsAt(await captured())).toEqual(expect.arrayContaining(['users/early', 'users/lost', 'users/after']));
  expect((await rescan()).result.missing).toBe(rows.length);

  // What comes back is time that can be reached again.
  for (const { key } of rows) renameSync(join(folder, aside(key)), join(folder, key));
  expect((await rescan()).result.missing).toBe(0);
  expect(await pathsAt(lost)).toEqual(expect.arrayContaining(['users/early', 'users/lost']));
  expect((await shown()).gaps).toEqual([]);
}, 120_000);

async function pathsAt(at: string): Promise<string[]> {
  const answer = await view(at);
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.body.data.map(({ path }: { path: string }) => path);
}
