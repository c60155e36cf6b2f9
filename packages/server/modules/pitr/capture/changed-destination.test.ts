// @module-tag long
import { setTimeout as sleep } from 'node:timers/promises';
import { createS3Store } from '@holdfast/engine';
import { type S3Sandbox, sandboxS3Credential, startS3Sandbox } from '@holdfast/sandbox';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { BackupBench } from '../../../testing/backup-bench.ts';
import { startPitrBench, usersAt } from '../../../testing/pitr-bench.ts';

/** A capture that goes on for days while its destination locks what it is given, locks it otherwise, or becomes another bucket. */
const dayMs = 86_400_000;
let bench: BackupBench;
let owner: pg.Client;
let s3: S3Sandbox;
let vault: string;
beforeAll(async () => {
  s3 = await startS3Sandbox({ buckets: [] });
  const settings = { region: 'us-east-1', createdAtMs: Date.now(), versioning: 'Enabled' as const, objectLock: true };
  for (const name of ['vault', 'other', 'third']) await s3.objects.saveBucket({ ...settings, name });
  ({ bench, owner } = await startPitrBench({ OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' }));
  await bench.startOver();
  const place = { type: 's3', bucket: 'vault', endpoint: s3.endpoint, forcePathStyle: true };
  const objectLock = { mode: 'governance', days: 3 };
  const made = { name: 'Vault', ...place, credentials: sandboxS3Credential, objectLock };
  vault = (await call('POST', '/storage-destinations', made)).id;
  await call('POST', pitr('/enable'), { storageDestinationId: vault });
  await vi.waitUntil(async () => (await shown()).status === 'running', { timeout: 60_000, interval: 50 });
});
afterAll(async () => {
  await owner.end();
  await bench.close();
  await s3.stop();
});

const pitr = (rest = '') => `/projects/${bench.shop.projectId}/pitr${rest}`;
async function call(method: string, path: string, body?: object) {
  const answer = await bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body && { body }) });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body.data;
}
const shown = () => call('GET', pitr());

/** The newest version of each object of the log that the catalogue knows. */
async function objectsOf(bucket: string) {
  const { rows } = await owner.query('select key from pitr_segments');
  return new Map(
    rows.flatMap(({ key }: { key: string }) => {
      const [newest] = s3.objects.bucket(bucket).keys.get(key) ?? [];
      return newest && !newest.isDeleteMarker ? [[key, newest] as const] : [];
    }),
  );
}

/** The segments in which a change is captured, and an instant behind it. */
async function segmentsOf(bucket: string, userId: string) {
  const before = await objectsOf(bucket);
  await bench.firestore.doc(`users/${userId}`).set({ n: 1 });
  await sleep(20);
  const at = new Date();
  const through = async () => (await owner.query('select covered_through from pitr_logs')).rows[0].covered_through;
  await expect.poll(async () => Date.parse(await through()), { timeout: 30_000 }).toBeGreaterThan(at.getTime());
  const segments = [...(await objectsOf(bucket))].flatMap(([key, object]) => (before.has(key) ? [] : [object]));
  return { segments, at: at.toISOString() };
}
const endsOf = (objects: Iterable<{ retention?: { untilMs: number } }>) =>
  [...objects].map(({ retention }) => retention?.untilMs ?? 0);

test('each segment is locked for all its days, however long its capture has been going on', async () => {
  const { epoch } = (await owner.query('select epoch from pitr_logs')).rows[0];
  const { segments } = await bench.inDays(2, () => segmentsOf('vault', 'late'));
  expect(segments.length).toBeGreaterThan(0);
  expect(Math.min(...endsOf(segments))).toBeGreaterThan(Date.now() + 4.9 * dayMs);
  expect((await owner.query('select epoch from pitr_logs')).rows[0].epoch).toBe(epoch);
});

test('the manifest, without whose key no segment opens, stays locked as long as the newest of them', async () => {
  const { log_id } = (await owner.query('select log_id from pitr_logs')).rows[0];
  const manifest = () => s3.objects.bucket('vault').keys.get(`logs/${log_id}/manifest`)?.[0]?.retention;
  expect(manifest()?.mode).toBe('GOVERNANCE');
  const isQuiet = async () =>
    (await owner.query("select 1 from backups where status in ('pending', 'running')")).rowCount === 0;
  await bench.inDays(4, async () => {
    await owner.query('update pitr_logs set compact_due_at = now()');
    await bench.app.tasks.runNow('pitr upkeep');
    const { segments } = await segmentsOf('vault', 'days later');
    expect(segments.length).toBeGreaterThan(0);
    expect(manifest()?.untilMs).toBeGreaterThanOrEqual(Math.max(...endsOf(segments)));
    await expect.poll(isQuiet).toBe(true);
  });
});

test('another lock of the destination counts for what is captured from then on', async () => {
  await call('PATCH', `/storage-destinations/${vault}`, { objectLock: { mode: 'governance', days: 9 } });
  const { segments } = await segmentsOf('vault', 'longer');
  expect(segments.length).toBeGreaterThan(0);
  expect(Math.min(...endsOf(segments))).toBeGreaterThan(Date.now() + 8.9 * dayMs);
});

test('what is captured after its bucket was replaced by another one lies in that one', async () => {
  const connection = { region: 'us-east-1', endpoint: s3.endpoint, forcePathStyle: true };
  const storeOf = (bucket: string) =>
    createS3Store({ kind: 's3', bucket, credentials: sandboxS3Credential, ...connection });
  const { at: before } = await segmentsOf('vault', 'before');
  const [from, to] = [await storeOf('vault'), await storeOf('other')];
  for await (const { key } of from.list('')) await to.put(key, await from.get(key));
  await Promise.all([from.close(), to.close()]);
  await call('PATCH', `/storage-destinations/${vault}`, { bucket: 'other', credentials: sandboxS3Credential });
  const { segments, at } = await segmentsOf('other', 'after');
  expect(segments.length).toBeGreaterThan(0);
  expect(await usersAt(bench, at)).toEqual(expect.arrayContaining(['users/before', 'users/after']));
  expect(await usersAt(bench, before)).not.toContain('users/after');
});

test('what a comparison with the database repairs is locked as well', async () => {
  // Taken out of the catalogue, as if it had never been heard.
  await segmentsOf('other', 'unheard');
  await owner.query('delete from pitr_segments where sequence = (select max(sequence) from pitr_segments)');
  const before = await objectsOf('other');
  await owner.query("update pitr_logs set reconcile_due_at = now() - interval '1 second'");
  await bench.app.tasks.runNow('pitr upkeep');
  const found = async () =>
    [...(await objectsOf('other'))].flatMap(([key, object]) => (before.has(key) ? [] : [object]));
  await expect.poll(async () => (await found()).length, { timeout: 30_000 }).toBeGreaterThan(0);
  expect(Math.min(...endsOf(await found()))).toBeGreaterThan(Date.now() + 8.9 * dayMs);
});

test('what is captured while a destination is another bucket is a gap when it is back, and what follows is reached', async () => {
  const turnTo = async (bucket: string) => {
    const body = { bucket, credentials: sandboxS3Credential };
    // Refused while it is rescanned, or while a base is made in it.
    const turned = () => bench.app.request('PATCH', `/api/v1/storage-destinations/${vault}`, { ...bench.as, body });
    await expect.poll(async () => (await turned()).status).toBe(200);
  };
  const { at: before } = await segmentsOf('other', 'kept');
  // Time without changes lies in the segment of the next change.
  await segmentsOf('other', 'next');
  await turnTo('third');
  await segmentsOf('third', 'elsewhere');
  await turnTo('other');
  await segmentsOf('other', 'back');
  const reached = async () => {
    const { at } = await segmentsOf('other', 'behind');
    return usersAt(bench, at).catch((error: Error) => error.message);
  };
  await expect.poll(reached).toEqual(expect.arrayContaining(['users/elsewhere', 'users/back', 'users/behind']));
  expect(await usersAt(bench, before)).toContain('users/kept');
  expect((await shown()).gaps).not.toEqual([]);
});
