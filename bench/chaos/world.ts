import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type FirestoreSandbox,
  fillFast,
  type S3Sandbox,
  sandboxS3Credential,
  startFirestoreSandbox,
  startS3Sandbox,
} from '@holdfast/sandbox';
import { startEmbeddedPostgres } from '@holdfast/server/platform/database/embedded-postgres';
import { createLogger } from '@holdfast/server/platform/log';
import { type Client, Cluster, type Session } from '@holdfast/server/testing/cluster';
import { Repetition } from '@holdfast/server/testing/repetition';

export { pause } from '@holdfast/server/testing/repetition';

export const database = { project: 'chaos', database: '(default)' };

/** PostgreSQL, Firestore and S3 for the processes that are going to be killed. */
export interface World {
  cluster: Cluster;
  client: Client;
  session: Session;
  firestore: FirestoreSandbox;
  s3: S3Sandbox;
  projectId: string;
  destinationId: string;
  databaseUrl: string;
  close(): Promise<void>;
}

export async function createWorld(options: {
  documents: number;
  workers: number;
  /** Of the first process, which answers calls. */
  roles?: string;
  environment?: Record<string, string>;
  /** What time the bucket thinks it is. */
  s3Now?: () => number;
}): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-chaos-'));
  // Open to the user the server drops to, so that the database lies in here and goes with it.
  await chmod(folder, 0o755);
  const postgres = await startEmbeddedPostgres({
    folder: join(folder, 'database'),
    log: createLogger('warn'),
    unsafeFast: true,
  });
  const firestore = await startFirestoreSandbox();
  const s3 = await startS3Sandbox({ buckets: ['chaos'], ...(options.s3Now ? { now: options.s3Now } : {}) });
  fillFast(firestore.control.database(database), { collection: 'items', documents: options.documents });
  const cluster = new Cluster({
    databaseUrl: postgres.url,
    folder: join(folder, 'data'),
    masterKey: randomBytes(32).toString('base64'),
    ...(options.environment ? { environment: options.environment } : {}),
  });
  await cluster.startApi(options.roles);
  for (let count = 0; count < options.workers; count++) await cluster.startWorker();
  const session = await cluster.signIn();
  const { client } = session;
  const destination = await client.createStorageDestination({ body: bucketAt(s3) });
  if (destination.status !== 'connected')
    throw new Error(`the destination does not work: ${destination.error?.message}`);
  const project = await client.createProject({ body: projectAt(firestore, 'Chaos') });
  return {
    cluster,
    client,
    session,
    firestore,
    s3,
    projectId: project.id,
    destinationId: destination.id,
    databaseUrl: postgres.url,
    close: async () => {
      await cluster.close();
      await Promise.all([firestore.stop(), s3.stop(), postgres.stop()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export function bucketAt({ endpoint }: S3Sandbox) {
  const { accessKeyId, secretAccessKey } = sandboxS3Credential;
  return {
    name: 'Sandbox',
    type: 's3' as const,
    bucket: 'chaos',
    region: 'us-east-1',
    endpoint,
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
  };
}

export function projectAt({ address }: FirestoreSandbox, name: string) {
  return { name, sourceProjectId: database.project, connection: { type: 'emulator' as const, host: address } };
}

/** Kills a random worker at a random moment and starts another in its place, until told to stop. */
export class Killer {
  readonly #cluster: Cluster;
  readonly #repetition: Repetition;
  kills = 0;

  constructor(cluster: Cluster, everyMs: { least: number; most: number }) {
    this.#cluster = cluster;
    this.#repetition = new Repetition(
      () => everyMs.least + Math.random() * (everyMs.most - everyMs.least),
      () => this.#killOne(),
    );
  }

  start(): void {
    this.#repetition.start();
  }

  stop(): Promise<void> {
    return this.#repetition.stop();
  }

  async #killOne(): Promise<void> {
    const { workers } = this.#cluster;
    const victim = workers[Math.floor(Math.random() * workers.length)];
    if (!victim) return;
    victim.kill('SIGKILL');
    this.kills++;
    await this.#cluster.startWorker();
  }
}
