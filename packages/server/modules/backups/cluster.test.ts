import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FirestoreSandbox, fillFast, startFirestoreSandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Client, Cluster } from '../../testing/cluster.ts';
import { asOwner } from '../../testing/people.ts';
import { testMasterKey } from '../../testing/test-app.ts';
import { createTestDatabase } from '../../testing/test-database.ts';

const documents = 30_000;
const database = { project: 'cluster', database: '(default)' };

let folder: string;
let drop: () => Promise<void>;
let databaseUrl: string;
let cluster: Cluster;
let client: Client;
let firestore: FirestoreSandbox;
let projectId: string;

beforeAll(async () => {
  const created = await createTestDatabase();
  drop = created.drop;
  databaseUrl = created.url;
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

type Backup = Awaited<ReturnType<Client['getBackup']>>;
type Restore = Awaited<ReturnType<Client['getRestore']>>;

async function until<Job>(read: () => Promise<Job>, isEnough: (job: Job) => boolean): Promise<Job> {
  for (;;) {
    const job = await read();
    if (isEnough(job)) return job;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const untilBackup = (backupId: string, isEnough: (backup: Backup) => boolean) =>
  until(() => client.getBackup({ params: { backupId } }), isEnough);
const untilRestore = (restoreJobId: string, isEnough: (restore: Restore) => boolean) =>
  until(() => client.getRestore({ params: { restoreJobId } }), isEnough);

const ended = ({ status }: { status: string }) => status !== 'pending' && status !== 'running';

test('a backup whose worker is killed in the middle is finished by another, whole and verified', async () => {
  firestore.control.addFault({ method: 'RunQuery', latencyMs: 1500 });
  const victim = await cluster.startWorker();
  const backupId = await start();
  await untilBackup(backupId, ({ status, progress }) => status === 'running' && progress.phase === 'Reading');
  victim.kill('SIGKILL');
  firestore.control.clearFaults();
  await cluster.startWorker();
  const backup = await untilBackup(backupId, ended);
  expect(backup.error).toBeNull();
  expect(backup).toMatchObject({ status: 'completed', documentCount: documents });
  await client.verifyBackup({ params: { backupId } });
  const { verification } = await untilBackup(
    backupId,
    (seen) => seen.verification !== null && seen.verification.status !== 'running',
  );
  expect(verification).toMatchObject({ status: 'passed', documents, errors: [] });
}, 120_000);

test('a restore whose worker is killed in the middle is finished by another, with every document once', async () => {
  const [backup] = (await client.listBackups({ query: { status: 'completed' } })).data;
  await client.updateProject({ params: { projectId }, body: { settings: { writeRampUp: false } } });
  const before = await cluster.startWorker();
  for (const worker of cluster.workers) if (worker !== before) worker.kill('SIGKILL');
  firestore.control.clear(database);
  firestore.control.addFault({ method: 'BatchWrite', latencyMs: 300 });
  const { id } = await client.startRestore({ body: { backupId: backup!.id, options: { safetyBackup: false } } });
  await untilRestore(id, ({ phase }) => phase === 'Restoring');
  before.kill('SIGKILL');
  firestore.control.clearFaults();
  await cluster.startWorker();
  const restore = await untilRestore(id, ended);
  expect(restore).toMatchObject({ status: 'completed', error: null, errors: { count: 0 } });
  const again = await untilBackup(await start(), ended);
  expect(again).toMatchObject({ status: 'completed', documentCount: documents });
}, 120_000);

test('a database that is away for a while costs a backup that while and nothing else', async () => {
  firestore.control.addFault({ method: 'RunQuery', latencyMs: 1000 });
  const backupId = await start();
  await untilBackup(backupId, ({ status, progress }) => status === 'running' && progress.phase === 'Reading');
  const name = new URL(databaseUrl).pathname.slice(1);
  const server = new URL(databaseUrl);
  server.pathname = '/postgres';
  await asOwner(server.href, async (owner) => {
    await owner.query(`alter database ${name} with allow_connections false`);
    for (let count = 0; count < 10; count++) {
      await owner.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    await owner.query(`alter database ${name} with allow_connections true`);
  });
  firestore.control.clearFaults();
  const backup = await untilBackup(backupId, ended);
  expect(backup).toMatchObject({ status: 'completed', documentCount: documents, error: null });
}, 120_000);
