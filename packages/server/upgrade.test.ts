// @module-tag long
import { once } from 'node:events';
import { Firestore } from '@google-cloud/firestore';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupCluster, ended, startBackupCluster } from './testing/backup-cluster.ts';
import { checkOutEarlier, type EarlierVersion, knowsCommit } from './testing/earlier-version.ts';

/** The last commit of the previous release: while its processes may still run, the schema may only grow. */
const earlierCommit = 'd94f96b06cebd4aefb2aec769588b56d249f4469';
const documents = 300;
const whole = ['wholes/1', 'wholes/1/parts/1'];
const isKnown = knowsCommit(earlierCommit);

let world: BackupCluster;
let earlier: EarlierVersion;
beforeAll(async () => {
  if (!isKnown) return;
  earlier = await checkOutEarlier(earlierCommit);
  world = await startBackupCluster({
    documents: documents - whole.length,
    environment: { RESTORE_RANGE_DOCUMENTS: '50' },
  });
  process.env.FIRESTORE_EMULATOR_HOST = world.firestore.address;
  const firestore = new Firestore({ projectId: world.database.project });
  // The next files in this worker have their own databases.
  delete process.env.FIRESTORE_EMULATOR_HOST;
  for (const path of whole) await firestore.doc(path).set({ n: 1 });
  await firestore.terminate();
});
afterAll(async () => {
  if (!isKnown) return;
  await world.close();
  await earlier.remove();
});

async function backUp(): Promise<string> {
  const backupId = await world.start();
  const backup = await world.untilBackup(backupId, ended);
  expect(backup, JSON.stringify(backup.error)).toMatchObject({ status: 'completed', documentCount: documents });
  return backupId;
}

async function restore(backupId: string): Promise<void> {
  const { restoreJobId } = await world.client.startRestore({ body: { backupId } });
  expect(await world.untilRestore(restoreJobId, ended)).toMatchObject({ status: 'completed' });
}

test.skipIf(!isKnown)(
  'during a rolling update, processes of the previous release work on the new schema, and each reads what the other wrote (needs the history)',
  { timeout: 180_000 },
  async () => {
    const old = await world.cluster.startRole('worker,scheduler', earlier.main);
    const byOld = await backUp();
    await restore(byOld);
    old.kill('SIGTERM');
    await world.cluster.startWorker();
    await restore(byOld);
    const byNew = await backUp();
    for (const worker of world.cluster.workers) worker.kill('SIGTERM');
    const last = await world.cluster.startRole('worker', earlier.main);
    await restore(byNew);
    last.kill('SIGTERM');
    await once(last, 'exit');
  },
);

const ownerClient = async () => {
  const owner = new pg.Client({ connectionString: world.databaseUrl });
  await owner.connect();
  return owner;
};

/** The queue's errors of workers that tried to run a restore and could not. */
async function reasonsOf(owner: pg.Client, restoreId: string): Promise<string> {
  const { rows } = await owner.query<{ reason: string }>(
    `select output::text as reason from pgboss.job where name = 'restore-run' and data->>'restoreId' = $1`,
    [restoreId],
  );
  return rows.map(({ reason }) => reason).join();
}

test.skipIf(!isKnown)(
  'a restore of a document with everything below it is not taken by a worker of the previous release, which does not know that, and a current one restores all of it (needs the history)',
  { timeout: 180_000 },
  async () => {
    for (const worker of world.cluster.workers) worker.kill('SIGKILL');
    const today = await world.cluster.startWorker();
    const backupId = await backUp();
    today.kill('SIGKILL');
    const old = await world.cluster.startRole('worker', earlier.main);
    const { id } = await world.client.startRestore({
      body: { backupId, documentIds: whole.slice(0, 1), options: { includeSubcollections: true } },
    });
    const owner = await ownerClient();
    await expect.poll(() => reasonsOf(owner, id)).toMatch('restores_below_epoch');
    old.kill('SIGTERM');
    await world.cluster.startWorker();
    expect(await world.untilRestore(id, ended)).toMatchObject({ status: 'completed', documentsRestored: whole.length });
    await owner.end();
  },
);

test.skipIf(!isKnown)(
  'a restore with ranges cannot be taken by a worker of the previous release, which does not know them, and a current one finishes it (needs the history)',
  { timeout: 180_000 },
  async () => {
    for (const worker of world.cluster.workers) worker.kill('SIGKILL');
    const today = await world.cluster.startWorker();
    const backupId = await backUp();
    const { projectId } = world;
    await world.client.updateProject({ params: { projectId }, body: { settings: { writeRampUp: false } } });
    world.firestore.control.clear(world.database);
    // One range is written, and the others wait.
    const { promise: until, resolve: goOn } = Promise.withResolvers<void>();
    world.firestore.control.addFault({ method: 'BatchWrite', skip: 1, until });
    const { id } = await world.client.startRestore({ body: { backupId, options: { safetyBackup: false } } });
    await world.untilRestore(id, ({ documentsRestored }) => documentsRestored > 0);
    const owner = await ownerClient();
    const epochOf = async () => (await owner.query('select epoch from restores where id = $1', [id])).rows[0].epoch;
    const epoch = await epochOf();
    const old = await world.cluster.startRole('worker', earlier.main);
    today.kill('SIGKILL');
    await expect.poll(() => reasonsOf(owner, id)).toMatch('restores_ranges_epoch');
    expect(await epochOf()).toBe(epoch);
    world.firestore.control.clearFaults();
    goOn();
    old.kill('SIGTERM');
    await world.cluster.startWorker();
    expect(await world.untilRestore(id, ended)).toMatchObject({ status: 'completed', documentsRestored: documents });
    await owner.end();
  },
);
