import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FirestoreSandbox, fillFast, startFirestoreSandbox } from '@holdfast/sandbox';
import { type Client, Cluster, type Session } from './cluster.ts';
import { testMasterKey } from './test-app.ts';
import { createTestDatabase } from './test-database.ts';

export interface BackupCluster {
  readonly cluster: Cluster;
  readonly session: Session;
  readonly client: Client;
  readonly firestore: FirestoreSandbox;
  readonly database: { project: string; database: string };
  readonly databaseUrl: string;
  /** Where the processes keep their data; local destinations are below `storage`. */
  readonly folder: string;
  readonly projectId: string;
  /** Starts a backup and returns its id. */
  start(): Promise<string>;
  untilBackup(backupId: string, isEnough: (backup: Backup) => boolean): Promise<Backup>;
  untilRestore(restoreJobId: string, isEnough: (restore: Restore) => boolean): Promise<Restore>;
  close(): Promise<void>;
}

export type Backup = Awaited<ReturnType<Client['getBackup']>>;
export type Restore = Awaited<ReturnType<Client['getRestore']>>;

export const ended = ({ status }: { status: string }) => status !== 'pending' && status !== 'running';

/** The service in separate processes, a project with documents, and a folder for its backups. */
export async function startBackupCluster(options: {
  documents: number;
  /** The roles of the process that answers calls. */
  roles?: string;
  environment?: Record<string, string>;
  /** The database to copy; if absent, the template of the test run. */
  templateUrl?: string;
}): Promise<BackupCluster> {
  const database = { project: 'cluster', database: '(default)' };
  const { url: databaseUrl, drop } = await createTestDatabase(options.templateUrl);
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-cluster-'));
  const firestore = await startFirestoreSandbox();
  fillFast(firestore.control.database(database), { collection: 'items', documents: options.documents });
  const cluster = new Cluster({
    databaseUrl,
    folder,
    masterKey: testMasterKey,
    ...(options.environment ? { environment: options.environment } : {}),
  });
  await cluster.startApi(options.roles);
  const session = await cluster.signIn();
  const { client } = session;
  await client.createStorageDestination({ body: { name: 'Folder', type: 'local', path: 'storage' } });
  const connection = { type: 'emulator' as const, host: firestore.address };
  const project = await client.createProject({
    body: { name: 'Cluster', sourceProjectId: database.project, connection },
  });
  return {
    cluster,
    session,
    client,
    firestore,
    database,
    databaseUrl,
    folder,
    projectId: project.id,
    async start() {
      const started = await client.createBackup({ body: { projectId: project.id } });
      if ('dryRun' in started) throw new Error('a backup was not started');
      return started.id;
    },
    untilBackup: (backupId, isEnough) => until(() => client.getBackup({ params: { backupId } }), isEnough),
    untilRestore: (restoreJobId, isEnough) => until(() => client.getRestore({ params: { restoreJobId } }), isEnough),
    async close() {
      await cluster.close();
      await firestore.stop();
      await drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function until<Job>(read: () => Promise<Job>, isEnough: (job: Job) => boolean): Promise<Job> {
  for (;;) {
    const job = await read();
    if (isEnough(job)) return job;
    await new Promise((resolve) => setTimeout(resolve, 150));
  }
}
