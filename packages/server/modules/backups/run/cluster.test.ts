import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupCluster, ended, startBackupCluster } from '../../../testing/backup-cluster.ts';
import { asOwner } from '../../../testing/people.ts';

const documents = 3_000;
let bench: BackupCluster;

beforeAll(async () => {
  bench = await startBackupCluster({ documents });
});
afterAll(() => bench.close());

test('a backup whose worker is killed in the middle is finished by another, whole and verified', async () => {
  bench.firestore.control.addFault({ method: 'RunQuery', latencyMs: 1500 });
  const victim = await bench.cluster.startWorker();
  const backupId = await bench.start();
  await bench.untilBackup(backupId, ({ status, progress }) => status === 'running' && progress.phase === 'Reading');
  victim.kill('SIGKILL');
  bench.firestore.control.clearFaults();
  await bench.cluster.startWorker();
  const backup = await bench.untilBackup(backupId, ended);
  expect(backup.error).toBeNull();
  expect(backup).toMatchObject({ status: 'completed', documentCount: documents });
  await bench.client.verifyBackup({ params: { backupId } });
  const { verification } = await bench.untilBackup(
    backupId,
    (seen) => seen.verification !== null && seen.verification.status !== 'running',
  );
  expect(verification).toMatchObject({ status: 'passed', documents, errors: [] });
});

test('a restore whose worker is killed in the middle is finished by another, with every document once', {
  tags: 'long',
}, async () => {
  const [backup] = (await bench.client.listBackups({ query: { status: 'completed' } })).data;
  await bench.client.updateProject({
    params: { projectId: bench.projectId },
    body: { settings: { writeRampUp: false } },
  });
  const before = await bench.cluster.startWorker();
  for (const worker of bench.cluster.workers) if (worker !== before) worker.kill('SIGKILL');
  bench.firestore.control.clear(bench.database);
  bench.firestore.control.addFault({ method: 'BatchWrite', latencyMs: 300 });
  const { id } = await bench.client.startRestore({ body: { backupId: backup!.id, options: { safetyBackup: false } } });
  await bench.untilRestore(id, ({ phase }) => phase === 'Restoring');
  before.kill('SIGKILL');
  bench.firestore.control.clearFaults();
  await bench.cluster.startWorker();
  const restore = await bench.untilRestore(id, ended);
  expect(restore).toMatchObject({ status: 'completed', error: null, errors: { count: 0 } });
  const again = await bench.untilBackup(await bench.start(), ended);
  expect(again).toMatchObject({ status: 'completed', documentCount: documents });
});

test('a database that is away for a while costs a backup that while and nothing else', { tags: 'long' }, async () => {
  bench.firestore.control.addFault({ method: 'RunQuery', latencyMs: 1000 });
  const backupId = await bench.start();
  await bench.untilBackup(backupId, ({ status, progress }) => status === 'running' && progress.phase === 'Reading');
  const name = new URL(bench.databaseUrl).pathname.slice(1);
  const server = new URL(bench.databaseUrl);
  server.pathname = '/postgres';
  await asOwner(server.href, async (owner) => {
    await owner.query(`alter database ${name} with allow_connections false`);
    for (let count = 0; count < 10; count++) {
      await owner.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    await owner.query(`alter database ${name} with allow_connections true`);
  });
  bench.firestore.control.clearFaults();
  const backup = await bench.untilBackup(backupId, ended);
  expect(backup).toMatchObject({ status: 'completed', documentCount: documents, error: null });
});
