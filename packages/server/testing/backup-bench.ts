import { Firestore } from '@google-cloud/firestore';
import { type FirestoreSandbox, type S3Sandbox, sandboxS3Credential, startFirestoreSandbox } from '@holdfast/sandbox';
import { type ProtectedProject, protectProject, untilEnded } from './protected-project.ts';
import { freshToken } from './sessions.ts';
import { startTestApp, type TestApp } from './test-app.ts';

// biome-ignore lint/suspicious/noExplicitAny: the shape is what the tests are about
type Record = any;

/** The service with one protected project whose database is written by Google's own client. */
export interface BackupBench {
  app: TestApp;
  shop: ProtectedProject;
  as: { token: string; organizationId: string };
  firestore: Firestore;
  sandbox: FirestoreSandbox;
  /** Starts a backup and waits for its end, with any result. */
  run(body?: object): Promise<Record>;
  /** The same for one that must succeed; returns its id. */
  backUp(body?: object): Promise<string>;
  get(path: string): Promise<Record>;
  clear(): void;
  /** Clears the database and writes one document. */
  startOver(): Promise<void>;
  /** Adds a bucket of the sandbox as another destination; returns its id. */
  addBucket(s3: S3Sandbox): Promise<string>;
  /** Runs the work as if days had passed. Jobs that the service's clock delays wait until it is back. */
  inDays<Result>(days: number, work: () => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

/** Faults end jobs soon, and the clock can be moved by hours without a new sign-in. */
export const hasty = {
  ACCESS_TOKEN_TTL: '86400',
  JOB_ATTEMPTS: '1',
  SOURCE_RETRY_ATTEMPTS: '2',
  STORAGE_RETRY_ATTEMPTS: '2',
};

export async function startBackupBench(
  environment: { [name: string]: string } = {},
  sandbox?: Parameters<typeof startFirestoreSandbox>[0],
): Promise<BackupBench> {
  const own = sandbox && (await startFirestoreSandbox(sandbox));
  const app = await startTestApp(environment);
  const shop = await protectProject(app, own ? { firestore: own } : {});
  const as = { token: shop.owner.token, organizationId: shop.organizationId };
  process.env.FIRESTORE_EMULATOR_HOST = shop.firestore.address;
  const firestore = new Firestore({ projectId: 'shop' });
  const clear = () => shop.firestore.control.clear({ project: 'shop', database: '(default)' });
  const run = async (body: object = {}) => {
    const request = { ...as, body: { projectId: shop.projectId, ...body } };
    const started = await app.request('POST', '/api/v1/backups', request);
    if (started.status !== 202) throw new Error(started.text);
    return untilEnded(app, `/api/v1/backups/${started.body.data.id}`, as);
  };
  return {
    app,
    shop,
    as,
    firestore,
    sandbox: shop.firestore,
    run,
    backUp: async (body) => {
      const backup = await run(body);
      if (backup.status !== 'completed') throw new Error(JSON.stringify(backup.error));
      return backup.id;
    },
    get: async (path) => {
      const answer = await app.request('GET', `/api/v1${path}`, as);
      if (answer.status !== 200) throw new Error(`${path}: ${answer.text}`);
      return answer.body.data;
    },
    inDays: async (days, work) => {
      const { token } = as;
      app.clock.advance(days * 86_400_000);
      as.token = await freshToken(app, token);
      try {
        return await work();
      } finally {
        app.clock.advance(-days * 86_400_000);
        as.token = token;
      }
    },
    clear,
    startOver: async () => {
      clear();
      await firestore.doc('users/ada').set({ n: 1 });
    },
    addBucket: async ({ endpoint }) => {
      const place = { bucket: 'backups', endpoint, forcePathStyle: true, credentials: sandboxS3Credential };
      const body = { name: 'Bucket', type: 's3', ...place };
      const created = await app.request('POST', '/api/v1/storage-destinations', { ...as, body });
      if (created.status !== 201) throw new Error(created.text);
      return created.body.data.id;
    },
    close: async () => {
      delete process.env.FIRESTORE_EMULATOR_HOST;
      await firestore.terminate();
      await app.close();
      await shop.close();
      await own?.stop();
    },
  };
}
