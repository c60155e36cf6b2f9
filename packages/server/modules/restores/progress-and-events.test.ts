// @module-tag long
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { restorePhases } from '@holdfast/contract';
import { type S3Sandbox, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from '../../testing/backup-bench.ts';
import { asOwner } from '../../testing/people.ts';
import { untilEnded } from '../../testing/protected-project.ts';

/** What backups and restores say of themselves while they run and when they are over. */

let bench: BackupBench;
let s3: S3Sandbox;
const tenths = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100];

beforeAll(async () => {
  s3 = await startS3Sandbox({ buckets: ['backups'] });
  bench = await startBackupBench({ OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
  for (const path of ['users/ada', 'users/bob', 'users/ada/orders/1', 'places/home'])
    await bench.firestore.doc(path).set({ text: 'x'.repeat(1000) });
  // Every phase that a restore is in, in order, as the record shows it to whoever asks at that moment.
  await asOwner(bench.app.databaseUrl, (client) =>
    client.query(`
      create table seen_phases (position serial, id text, phase text);
      create function see_phase() returns trigger language plpgsql security definer as $$
        begin insert into seen_phases (id, phase) values (new.id, new.phase); return new; end $$;
      create trigger see_phase after insert or update of phase on restores
        for each row execute function see_phase();`),
  );
});
afterAll(async () => {
  await bench.close();
  await s3.stop();
});

const rows = (sql: string, values: unknown[]) =>
  asOwner(bench.app.databaseUrl, async (client) => (await client.query(sql, values)).rows);
const eventsOf = async (kind: 'backup' | 'restore', id: string) =>
  (await rows(
    `select type, payload->'data' as data from outbox_events where payload->'data'->$1->>'id' = $2 order by position`,
    [kind, id],
  )) as {
    type: string;
    // biome-ignore lint/suspicious/noExplicitAny: the shape is what the test is about
    data: any;
  }[];
const toldOf = async (kind: 'backup' | 'restore', id: string) =>
  (await eventsOf(kind, id))
    .filter(({ type }) => type.endsWith('.progress'))
    .map(({ data }) => (kind === 'backup' ? data.progress.percent : data.restore.percent));

async function restore(body: object) {
  const started = await bench.app.request('POST', '/api/v1/backups/restore', { ...bench.as, body });
  expect(started.status, started.text).toBe(202);
  return untilEnded(bench.app, started.headers.get('location') as string, bench.as);
}

describe('progress is told at each tenth once, however quick the work', () => {
  test('of a backup, an increment and a synthetic one', async () => {
    const full = await bench.run();
    await bench.firestore.doc('users/carl').set({ text: 'new' });
    const increment = await bench.run({ type: 'incremental' });
    expect(increment).toMatchObject({ type: 'incremental', parentId: full.id });
    const synthetic = await bench.run({ type: 'synthetic' });
    for (const backup of [full, increment, synthetic]) {
      expect(backup.status, JSON.stringify(backup.error)).toBe('completed');
      expect(await toldOf('backup', backup.id), backup.type).toEqual(tenths);
      const types = (await eventsOf('backup', backup.id)).map(({ type }) => type);
      expect([types[0], types.at(-1)]).toEqual(['backup.started', 'backup.completed']);
    }
    const [last] = (await eventsOf('backup', full.id)).filter(({ data }) => data.progress?.percent === 100);
    expect(last?.data.progress).toMatchObject({ documents: 4, bytes: full.size });
  });

  test('of an import', async () => {
    const folder = join(bench.app.folder, 'storage', bench.as.organizationId);
    await writeFile(join(folder, 'v1.json'), JSON.stringify({ users: { ada: { name: 'Ada' } } }));
    const { projectId, destinationId: storageDestinationId } = bench.shop;
    const body = { projectId, storageDestinationId, path: 'v1.json', metadata: { source: 'json' } };
    const started = await bench.app.request('POST', '/api/v1/backups/import', { ...bench.as, body });
    expect(started.status, started.text).toBe(202);
    const imported = await untilEnded(bench.app, started.headers.get('location') as string, bench.as);
    expect(imported.status, JSON.stringify(imported.error)).toBe('completed');
    expect(await toldOf('backup', imported.id)).toEqual(tenths);
  });
});

describe('a restore', () => {
  test('goes through the eight phases in order, and counts what it really wrote', async () => {
    const backupId = await bench.backUp();
    await bench.firestore.doc('places/home').delete();
    const done = await restore({ backupId, collections: ['users'] });
    expect(done, JSON.stringify(done.error)).toMatchObject({
      status: 'completed',
      documentsRestored: 4,
      collectionsRestored: 2,
      irreversibleReasons: [],
    });
    expect(done.progress).toMatchObject({ percent: 100, documents: 4, waitingFor: null });
    expect(done.progress.bytes).toBeGreaterThan(3000);
    const seen = await rows('select phase from seen_phases where id = $1 order by position', [done.id]);
    const phases = seen.map(({ phase }) => phase).filter((phase, index, all) => phase !== all[index - 1]);
    expect(phases).toEqual([...restorePhases]);
    expect(await toldOf('restore', done.id)).toEqual(tenths);
  });

  test('that only tries tells of nothing, restores nothing, and says what could not be undone', async () => {
    const backupId = await bench.backUp();
    const tried = await restore({ backupId, options: { dryRun: true, safetyBackup: false } });
    expect(tried).toMatchObject({ status: 'completed', documentsRestored: 0, collectionsRestored: 0 });
    expect(tried.preview.irreversible).toBe(tried.preview.replace);
    expect(tried.irreversibleReasons).toEqual([
      { reason: expect.stringMatching(/safety backup/), count: tried.preview.replace },
    ]);
    expect(await eventsOf('restore', tried.id)).toEqual([]);
  });
});

test('a restore that is cancelled in the middle of a batch counts what the target has taken of it; resumed, it counts nothing twice', async () => {
  for (let n = 0; n < 50; n++) await bench.firestore.doc(`slow/${n}`).set({ n });
  const backupId = await bench.backUp();
  bench.clear();
  bench.sandbox.control.setWriteQuota({ documentsPerSecond: 2 });
  const body = { backupId, collections: ['slow'], options: { safetyBackup: false } };
  const started = await bench.app.request('POST', '/api/v1/backups/restore', { ...bench.as, body });
  const path = started.headers.get('location') as string;
  const restored = async () => (await bench.app.request('GET', path, bench.as)).body.data.documentsRestored;
  await expect.poll(restored).toBeGreaterThan(2);
  const cancelled = await bench.app.request('POST', `${path}/cancel`, bench.as);
  bench.sandbox.control.clearFaults();
  const { size } = await bench.firestore.collection('slow').get();
  expect(size).toBeLessThan(50);
  const counted = { documentsRestored: size, progress: { documents: size, percent: 2 * size } };
  expect(cancelled.body.data, cancelled.text).toMatchObject({ status: 'cancelled', ...counted });
  await bench.app.request('POST', `${path}/resume`, bench.as);
  const resumed = await untilEnded(bench.app, path, bench.as);
  expect(resumed, JSON.stringify(resumed.error)).toMatchObject({ status: 'completed', documentsRestored: 50 });
});

test('an undo is as far as what it has taken away, and what a restore finds too much is one more to do', async () => {
  const paths = Array.from({ length: 40 }, (_, n) => `created/${n}`);
  for (const path of paths) await bench.firestore.doc(path).set({ path });
  const backupId = await bench.backUp({ collections: ['created'] });
  bench.clear();
  await bench.firestore.doc('created/extra').set({ path: 'extra' });
  const restored = await restore({ backupId, options: { deleteExtra: true } });
  expect(restored).toMatchObject({ status: 'completed', documentsRestored: 40, documentsDeleted: 1 });
  expect(restored.progress).toMatchObject({ percent: 100, documents: 41, documentsTotal: 41 });
  bench.sandbox.control.setWriteQuota({ documentsPerSecond: 8 });
  const started = await bench.app.request('POST', `/api/v1/backups/restore/${restored.id}/undo`, bench.as);
  const path = started.headers.get('location') as string;
  const progress = async () => (await bench.app.request('GET', path, bench.as)).body.data.progress;
  await expect.poll(async () => (await progress()).documents).toBeGreaterThan(8);
  const { percent, documents, documentsTotal } = await progress();
  expect([documentsTotal, percent]).toEqual([41, Math.min(99, Math.floor((100 * documents) / 41))]);
  bench.sandbox.control.clearFaults();
  const undone = await untilEnded(bench.app, path, bench.as);
  expect(undone.progress).toMatchObject({ percent: 100, documents: 41, documentsTotal: 41 });
});

test('while its storage is away a job says what it waits for, and no time that is left', async () => {
  const storageDestinationId = await bench.addBucket(s3);
  s3.faults.set({ errorRate: 1 });
  const request = { ...bench.as, body: { projectId: bench.shop.projectId, storageDestinationId } };
  const started = await bench.app.request('POST', '/api/v1/backups', request);
  const path = started.headers.get('location') as string;
  const progress = async () => (await bench.app.request('GET', path, bench.as)).body.data.progress;
  const waitingFor = async () => (await progress()).waitingFor;
  await expect.poll(waitingFor).toMatch(/^Waiting for the storage destination: .*s3:\/\/backups/);
  expect((await progress()).etaSeconds).toBeNull();
  s3.faults.clear();
  const backup = await untilEnded(bench.app, path, bench.as);
  expect(backup, JSON.stringify(backup.error)).toMatchObject({ status: 'completed', progress: { waitingFor: null } });
});

test('while its target is away a restore says what it waits for, and no time that is left', async () => {
  await bench.firestore.doc('users/ada').set({ n: 1 });
  const backupId = await bench.backUp();
  bench.sandbox.control.addFault({ method: 'BatchWrite', status: 'UNAVAILABLE' });
  const request = { ...bench.as, body: { backupId, options: { safetyBackup: false } } };
  const started = await bench.app.request('POST', '/api/v1/backups/restore', request);
  const path = started.headers.get('location') as string;
  const progress = async () => (await bench.app.request('GET', path, bench.as)).body.data.progress;
  await expect.poll(async () => (await progress()).waitingFor).toMatch(/^Waiting for the database: /);
  expect((await progress()).etaSeconds).toBeNull();
  bench.sandbox.control.clearFaults();
  const restored = await untilEnded(bench.app, path, bench.as);
  expect(restored, JSON.stringify(restored.error)).toMatchObject({
    status: 'completed',
    progress: { waitingFor: null },
  });
});
