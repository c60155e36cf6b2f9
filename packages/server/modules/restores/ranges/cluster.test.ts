import { setTimeout as sleep } from 'node:timers/promises';
import { fillFast } from '@holdfast/sandbox';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type BackupCluster, ended, startBackupCluster } from '../../../testing/backup-cluster.ts';
import { fingerprintsOf } from '../../../testing/firestore-contents.ts';

const items = 3600;
/** Too few for ranges, when they are restored alone. */
const few = 1500;
const documents = items + few;
const extra = 300;
const environment = { RESTORE_RANGE_DOCUMENTS: '1600' };

let bench: BackupCluster;
let owner: pg.Client;
let backupId: string;
/** What the backup holds, and what stands in the database before each restore. */
let wanted: string[];
let former: string[];

beforeAll(async () => {
  bench = await startBackupCluster({ documents: items, environment });
  fillFast(bench.firestore.control.database(bench.database), { collection: 'few', documents: few });
  owner = new pg.Client({ connectionString: bench.databaseUrl });
  await owner.connect();
  await bench.cluster.startWorker();
  await bench.cluster.startWorker();
  wanted = await contents();
  backupId = await bench.start();
  expect(await bench.untilBackup(backupId, ended)).toMatchObject({ status: 'completed', documentCount: documents });
}, 240_000);
afterAll(async () => {
  await owner.end();
  await bench.close();
});

beforeEach(async () => {
  await setRampUp(false);
  const { control } = bench.firestore;
  control.clear(bench.database);
  fillFast(control.database(bench.database), { collection: 'items', documents: items / 2, seed: 100 });
  fillFast(control.database(bench.database), { collection: 'few', documents: few / 2, seed: 100 });
  fillFast(control.database(bench.database), { collection: 'extra', documents: extra, seed: 100 });
  former = await contents();
});
afterEach(() => bench.firestore.control.clearFaults());

const contents = () => fingerprintsOf(bench.firestore.address, bench.database.project);

const setRampUp = (writeRampUp: boolean) =>
  bench.client.updateProject({ params: { projectId: bench.projectId }, body: { settings: { writeRampUp } } });

async function start(): Promise<string> {
  const { id } = await bench.client.startRestore({ body: { backupId, options: { deleteExtra: true } } });
  return id;
}

async function heldRanges(restoreId: string): Promise<number> {
  const { rows } = await owner.query<{ held: number }>(
    'select count(*)::int as held from restore_ranges where restore_id = $1 and is_held',
    [restoreId],
  );
  return rows[0]!.held;
}

/** A process writes one range of a restore at a time, so two that are held are written by two workers. */
async function untilShared(restoreId: string): Promise<void> {
  await expect.poll(() => heldRanges(restoreId), { interval: 20 }).toBeGreaterThan(1);
}

/** Whoever writes shows that they live once a second, and hears then that they are to stop: at the second sign they have heard. */
async function untilToldToStop(restoreId: string): Promise<void> {
  const signs = new Set<string>();
  const sinceAsked = async () => {
    const { rows } = await owner.query<{ sign: string }>(
      'select held_at::text as sign from restores where id = $1 and held_at > cancel_requested_at',
      [restoreId],
    );
    for (const { sign } of rows) signs.add(sign);
    return signs.size;
  };
  await expect.poll(sinceAsked).toBeGreaterThan(1);
}

/** How much of the backup stands in the database. To ask reads everything, so it is not asked often. */
async function untilWritten(isEnough: (documents: number) => boolean): Promise<void> {
  const isWanted = new Set(wanted);
  const written = async () => (await contents()).filter((line) => isWanted.has(line)).length;
  await expect.poll(async () => isEnough(await written()), { interval: 1000 }).toBe(true);
}

const windowSeconds = 3;

/** The most documents that were written within some seconds, until this ends. */
async function mostWrites(end: Promise<unknown>): Promise<number> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  end.then(over, over);
  const seen: { atMs: number; writes: number }[] = [];
  let most = 0;
  while (!isOver) {
    const now = { atMs: performance.now(), writes: bench.firestore.control.counters().writes };
    seen.push(now);
    const since = seen.find(({ atMs }) => atMs >= now.atMs - windowSeconds * 1000)!;
    most = Math.max(most, now.writes - since.writes);
    await sleep(50);
  }
  return most;
}

async function expectUndone(restoreJobId: string): Promise<void> {
  const undo = await bench.client.undoRestore({ params: { restoreJobId }, body: {} });
  const undone = await bench.untilRestore(undo.id, ended);
  expect(undone, JSON.stringify(undone.error)).toMatchObject({ status: 'completed', conflicts: 0 });
  expect(await contents()).toEqual(former);
}

describe('a restore of many documents', { timeout: 180_000 }, () => {
  test('is written by two workers, counted as one, equals the backup, and is taken back exactly', async () => {
    bench.firestore.control.addFault({ method: 'BatchWrite', latencyMs: 1500 });
    const id = await start();
    await untilShared(id);
    bench.firestore.control.clearFaults();
    const restore = await bench.untilRestore(id, ended);
    expect(restore, JSON.stringify(restore.error)).toMatchObject({
      status: 'completed',
      documentsRestored: documents,
      documentsDeleted: extra,
      collectionsRestored: 2,
      conflicts: 0,
      errors: { count: 0 },
    });
    expect(await contents()).toEqual(wanted);
    await expectUndone(id);
  });

  test('keeps the ramp-up of its target, however many write: 500 documents a second together', {
    tags: 'long',
  }, async () => {
    await setRampUp(true);
    const id = await start();
    await untilShared(id);
    const restore = bench.untilRestore(id, ended);
    expect(await mostWrites(restore)).toBeLessThan(1.2 * 500 * windowSeconds);
    expect(await restore).toMatchObject({ status: 'completed' });
    expect(await contents()).toEqual(wanted);
  });

  test('one of whose workers is killed in the middle of a range is finished by the others, nothing lost, and undone exactly', {
    tags: 'long',
  }, async () => {
    bench.firestore.control.addFault({ method: 'BatchWrite', latencyMs: 1500 });
    const id = await start();
    await untilShared(id);
    for (const worker of bench.cluster.workers.slice(0, 1)) worker.kill('SIGKILL');
    bench.firestore.control.clearFaults();
    await bench.cluster.startWorker();
    const restore = await bench.untilRestore(id, ended);
    expect(restore, JSON.stringify(restore.error)).toMatchObject({ status: 'completed', documentsRestored: documents });
    expect(await contents()).toEqual(wanted);
    await expectUndone(id);
  });

  test('that is cancelled in the middle writes nothing more once it says so, goes on when resumed, and is undone exactly', {
    tags: 'long',
  }, async () => {
    bench.firestore.control.addFault({ method: 'BatchWrite', latencyMs: 1500 });
    const id = await start();
    await untilShared(id);
    const cancelled = await bench.client.cancelRestore({ params: { restoreJobId: id } });
    expect(cancelled).toMatchObject({ status: 'cancelled', error: { code: 'CANCELLED' } });
    const { writes } = bench.firestore.control.counters();
    expect(await heldRanges(id)).toBe(0);
    bench.firestore.control.clearFaults();
    expect(await bench.untilBackup(await bench.start(), ended)).toMatchObject({ status: 'completed' });
    expect(bench.firestore.control.counters().writes).toBe(writes);
    await bench.client.resumeRestore({ params: { restoreJobId: id } });
    const restore = await bench.untilRestore(id, ended);
    expect(restore, JSON.stringify(restore.error)).toMatchObject({ status: 'completed', documentsRestored: documents });
    expect(await contents()).toEqual(wanted);
    await expectUndone(id);
  });

  test('that is cancelled while one of its workers is dead can be undone with all its writes, also those outside the journal', {
    tags: 'long',
  }, async () => {
    // Every write takes effect, and no answer arrives.
    bench.firestore.control.addFault({ method: 'BatchWrite', status: 'UNAVAILABLE', afterEffect: true });
    const id = await start();
    await untilShared(id);
    await untilWritten((written) => written > 2000);
    for (const worker of bench.cluster.workers.slice(0, 1)) worker.kill('SIGKILL');
    await bench.client.cancelRestore({ params: { restoreJobId: id } });
    await bench.cluster.startWorker();
    expect(await bench.untilRestore(id, ended)).toMatchObject({ status: 'cancelled' });
    bench.firestore.control.clearFaults();
    expect(await contents()).not.toEqual(former);
    await expectUndone(id);
  });
});

test('a restore that is cancelled just after another worker took it over can be undone with all writes of the dead worker', {
  tags: 'long',
}, async () => {
  bench.firestore.control.addFault({ method: 'BatchWrite', status: 'UNAVAILABLE', afterEffect: true });
  const { id } = await bench.client.startRestore({ body: { backupId, collections: ['few'] } });
  await untilWritten((written) => written === few);
  for (const worker of bench.cluster.workers) worker.kill('SIGKILL');
  bench.firestore.control.clearFaults();
  // Small batches, and after two of them nothing moves until it was told to stop: it cannot come to everything that the
  // dead one wrote.
  await setRampUp(true);
  const held = Promise.withResolvers<void>();
  bench.firestore.control.addFault({ method: 'BatchWrite', skip: 2, until: held.promise });
  await bench.cluster.startWorker();
  await bench.untilRestore(id, ({ documentsRestored }) => documentsRestored > 0);
  const cancelling = bench.client.cancelRestore({ params: { restoreJobId: id } });
  await untilToldToStop(id);
  held.resolve();
  const cancelled = await cancelling;
  expect(cancelled.status).toBe('cancelled');
  expect(cancelled.documentsRestored).toBeLessThan(few);
  bench.firestore.control.clearFaults();
  await setRampUp(false);
  await expectUndone(id);
});
