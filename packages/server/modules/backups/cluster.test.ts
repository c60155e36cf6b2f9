import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FirestoreSandbox, fillFast, startFirestoreSandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Client, Cluster } from '../../testing/cluster.ts';
import { testMasterKey } from '../../testing/test-app.ts';
import { createTestDatabase } from '../../testing/test-database.ts';

const documents = 30_000;
const database = { project: 'cluster', database: '(default)' };

let folder: string;
let drop: () => Promise<void>;
let cluster: Cluster;
let client: Client;
let firestore: FirestoreSandbox;
let projectId: string;

beforeAll(async () => {
  const created = await createTestDatabase();
  drop = created.drop;
  folder = await mkdtemp(join(tmpdir(), 'holdfast-cluster-'));
  firestore = await startFirestoreSandbox();
  fillFast(firestore.control.database(database), { collection: 'items', documents });
  cluster = new Cluster({ databaseUrl: created.url, folder, masterKey: testMasterKey });
  await cluster.startApi();
  ({ client } = await cluster.signIn());
  await client.createStorageDestination({ body: { name: 'Folder', type: 'local', path: 'storage' } });
  const project = await client.createProject({
    body: {
      name: 'Cluster',
      sourceProjectId: database.project,
      connection: { type: 'emulator', host: firestore.address },
    },
  });
  projectId = project.id;
}, 120_000);
afterAll(async () => {
  await cluster.close();
  await firestore.stop();
  await drop();
  await rm(folder, { recursive: true, force: true });
});

async function start(): Promise<string> {
  const started = await client.createBackup({ body: { projectId } });
  if ('dryRun' in started) throw new Error('a backup was not started');
  return started.id;
}

async function until(backupId: string, isEnough: (backup: Awaited<ReturnType<Client['getBackup']>>) => boolean) {
  for (;;) {
    const backup = await client.getBackup({ params: { backupId } });
    if (isEnough(backup)) return backup;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const ended = ({ status }: { status: string }) => status !== 'pending' && status !== 'running';

test('a backup whose worker is killed in the middle is finished by another, whole and verified', async () => {
  firestore.control.addFault({ method: 'RunQuery', latencyMs: 1500 });
  const victim = await cluster.startWorker();
  const backupId = await start();
  await until(backupId, ({ status, progress }) => status === 'running' && progress.phase === 'Reading');
  victim.kill('SIGKILL');
  firestore.control.clearFaults();
  await cluster.startWorker();
  const backup = await until(backupId, ended);
  expect(backup.error).toBeNull();
  expect(backup).toMatchObject({ status: 'completed', documentCount: documents });
  await client.verifyBackup({ params: { backupId } });
  const { verification } = await until(
    backupId,
    (seen) => seen.verification !== null && seen.verification.status !== 'running',
  );
  expect(verification).toMatchObject({ status: 'passed', documents, errors: [] });
}, 120_000);
