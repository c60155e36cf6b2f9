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
  world = await startBackupCluster({ documents });
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
    const old = await world.cluster.startRole('worker', earlier.main);
    const scheduler = await world.cluster.startRole('scheduler', earlier.main);
    const byOld = await backUp();
    await restore(byOld);
    for (const process of [old, scheduler]) process.kill('SIGTERM');
    await world.cluster.startWorker();
    await restore(byOld);
    const byNew = await backUp();
    for (const worker of world.cluster.workers) worker.kill('SIGTERM');
    await world.cluster.startRole('worker', earlier.main);
    await restore(byNew);
  },
);
