import { once } from 'node:events';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupCluster, ended, startBackupCluster } from './testing/backup-cluster.ts';
import { checkOutEarlier, type EarlierVersion, knowsCommit } from './testing/earlier-version.ts';

/** The last commit of the release before: the schema may only grow as long as its processes may still run. */
const earlierCommit = 'd94f96b06cebd4aefb2aec769588b56d249f4469';
const documents = 300;
const isKnown = knowsCommit(earlierCommit);

let world: BackupCluster;
let earlier: EarlierVersion;
beforeAll(async () => {
  if (!isKnown) return;
  earlier = await checkOutEarlier(earlierCommit);
  world = await startBackupCluster({ documents, environment: { RESTORE_RANGE_DOCUMENTS: '50' } });
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
  'while an update rolls, processes of the release before work on the new schema, and each reads what the other wrote (needs the history)',
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

test.skipIf(!isKnown)(
  'a restore that has ranges cannot be taken by a worker of the release before, which knows nothing of them; one of today finishes it (needs the history)',
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
    const owner = new pg.Client({ connectionString: world.databaseUrl });
    await owner.connect();
    const epochOf = async () => (await owner.query('select epoch from restores where id = $1', [id])).rows[0].epoch;
    const epoch = await epochOf();
    const old = await world.cluster.startRole('worker', earlier.main);
    today.kill('SIGKILL');
    const reasons = async () => {
      const { rows } = await owner.query<{ reason: string }>(
        `select output::text as reason from pgboss.job where name = 'restore-run' and data->>'restoreId' = $1`,
        [id],
      );
      return rows.map(({ reason }) => reason).join();
    };
    await expect.poll(reasons, { timeout: 60_000 }).toMatch('restores_ranges_epoch');
    expect(await epochOf()).toBe(epoch);
    world.firestore.control.clearFaults();
    goOn();
    old.kill('SIGTERM');
    await world.cluster.startWorker();
    expect(await world.untilRestore(id, ended)).toMatchObject({ status: 'completed', documentsRestored: documents });
    await owner.end();
  },
);
