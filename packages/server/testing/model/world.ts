import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type BlobStore, createS3Store } from '@holdfast/engine';
import { type FirestoreSandbox, type S3Sandbox, sandboxS3Credential, startS3Sandbox } from '@holdfast/sandbox';
import { hasty } from '../backup-bench.ts';
import { foundOrganization, signUp, type TestPerson } from '../people.ts';
import { freshToken } from '../sessions.ts';
import { startTestApp, type TestApp, type TestAppOverrides, type TestResponse } from '../test-app.ts';
import { paths, plainPaths } from './documents.ts';
import { LiveDatabase } from './live-database.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely
export type Answer = any;

const pollMs = 10;
const endTimeoutMs = 60_000;
const bucket = 'model';
/** Empty. */
export const otherBucket = 'elsewhere';
const foreignKeys = ['backups/mysql/2024-01-01.sql.gz', 'backups/notes.txt', 'keys/other', 'theirs/file'];

/** One service for all runs, with the Firestore it protects and a bucket. */
export interface ModelService {
  readonly app: TestApp;
  readonly owner: TestPerson;
  readonly s3: S3Sandbox;
  /** The address of the databases. */
  readonly address: string;
  /** What can misbehave; absent where the Firestore is not ours. */
  readonly sandbox: FirestoreSandbox | undefined;
  close(): Promise<void>;
}

export async function startModelService(
  firestore: { address: string; sandbox?: FirestoreSandbox },
  overrides: TestAppOverrides = {},
  environment: { [name: string]: string } = {},
): Promise<ModelService> {
  const s3 = await startS3Sandbox({ buckets: [bucket, otherBucket] });
  // Removed objects are only hidden there, so that there is something to purge.
  await s3.objects.saveBucket({ ...s3.objects.bucket(bucket).settings, versioning: 'Enabled' });
  const app = await startTestApp(
    // A few documents count as a large restore, so that both kinds occur.
    {
      ...hasty,
      OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8',
      LOG_LEVEL: 'warn',
      RESTORE_RANGE_DOCUMENTS: '3',
      ...environment,
    },
    overrides,
  );
  const owner = await signUp(app, 'owner@example.com');
  return {
    app,
    owner,
    s3,
    address: firestore.address,
    sandbox: firestore.sandbox,
    close: async () => {
      await app.close();
      await s3.stop();
    },
  };
}

export interface Destination {
  readonly id: string;
  /** The body of its creation. */
  readonly body: object;
  /** Every key with its content. */
  objects(): Promise<Map<string, string>>;
  /** Changes storage directly; null removes the object. */
  put(key: string, content: string | null): Promise<void>;
  /** Makes it unreachable until it is restored. Returns what was put there meanwhile. */
  leave(): Promise<void>;
  comeBack(): Promise<string[]>;
}

export interface Project {
  readonly id: string;
  readonly live: LiveDatabase;
}

let runs = 0;

/** What one run uses: its own organization, with databases, destinations, and foreign objects in them. */
export class World {
  readonly service: ModelService;
  readonly organizationId: string;
  readonly projects: Project[] = [];
  readonly destinations: Destination[] = [];
  readonly #foreign = new Map<string, Map<string, string>>();
  readonly #stores: BlobStore[] = [];
  readonly #indexes = new Map<string, number>();
  #token: string;

  private constructor(service: ModelService, organizationId: string) {
    this.service = service;
    this.organizationId = organizationId;
    this.#token = service.owner.token;
  }

  static async create(service: ModelService): Promise<World> {
    const world = new World(service, await foundOrganization(service.app, service.owner));
    runs += 1;
    await world.#addFolder('one');
    await world.#addBucket(`run-${runs}`);
    await world.#addFolder('two');
    for (const { id, objects } of world.destinations) world.#foreign.set(id, foreignOf(await objects()));
    await world.addProject(`shop-${runs}`);
    await world.addProject(`copy-${runs}`);
    return world;
  }

  async addProject(sourceProjectId: string): Promise<Project> {
    const { address, sandbox } = this.service;
    const live = new LiveDatabase(sourceProjectId, address, sandbox ? paths : plainPaths);
    const project = { id: await this.#connect(sourceProjectId), live };
    this.#indexes.set(project.id, this.projects.length);
    this.projects.push(project);
    return project;
  }

  /** The same database as a new project, after it was disconnected. */
  async connectAgain(index: number): Promise<void> {
    const { live } = this.projects[index]!;
    const id = await this.#connect(live.projectId);
    this.#indexes.set(id, index);
    this.projects[index] = { id, live };
  }

  /** Also of a project that was disconnected. */
  indexOf(projectId: string): number {
    return this.#indexes.get(projectId) ?? -1;
  }

  async #connect(sourceProjectId: string): Promise<string> {
    const connection = { type: 'emulator', host: this.service.address };
    const { id } = await this.must('POST', '/projects', { name: sourceProjectId, sourceProjectId, connection });
    await this.must('PATCH', `/projects/${id}`, { settings: { writeRampUp: false } });
    return id;
  }

  async #addFolder(name: string): Promise<void> {
    const body = { name, type: 'local', path: name };
    const made = await this.must('POST', '/storage-destinations', body);
    const folder = join(this.service.app.folder, 'storage', this.organizationId, name);
    for (const key of foreignKeys) {
      await mkdir(dirname(join(folder, key)), { recursive: true });
      await writeFile(join(folder, key), `not ours: ${key}`);
    }
    this.destinations.push({ id: made.id, body, ...placeOfFolder(folder) });
  }

  async #addBucket(prefix: string): Promise<void> {
    const { endpoint } = this.service.s3;
    const place = { bucket, prefix, endpoint, forcePathStyle: true, credentials: { ...sandboxS3Credential } };
    const body = { name: prefix, type: 's3', ...place };
    const made = await this.must('POST', '/storage-destinations', body);
    const store = await createS3Store({ kind: 's3', region: 'us-east-1', ...place });
    this.#stores.push(store);
    for (const key of foreignKeys) await store.put(key, Buffer.from(`not ours: ${key}`));
    this.destinations.push({ id: made.id, body, ...placeOfBucket(store, this.service.s3) });
  }

  /** Adds the place of a removed record again, as a new record, and makes it the default if there is none. */
  async addAgain(index: number): Promise<void> {
    const former = this.destinations[index]!;
    const { id } = await this.must('POST', '/storage-destinations', former.body);
    this.destinations[index] = { ...former, id };
    this.#foreign.set(id, this.#foreign.get(former.id) ?? new Map());
    const { settings } = await this.get('/organizations/current');
    if (settings.defaultStorageId === null)
      await this.must('PUT', '/organizations/current', { settings: { defaultStorageId: id } });
  }

  call(method: string, path: string, body?: object): Promise<TestResponse> {
    const as = { token: this.#token, organizationId: this.organizationId };
    return this.service.app.request(method, `/api/v1${path}`, { ...as, ...(body ? { body } : {}) });
  }

  async must(method: string, path: string, body?: object): Promise<Answer> {
    const answer = await this.call(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
    return answer.body.data;
  }

  get(path: string): Promise<Answer> {
    return this.must('GET', path);
  }

  /** Polls until the job has ended. A job that never does is a broken promise. */
  async untilEnded(path: string): Promise<Answer> {
    for (const deadline = performance.now() + endTimeoutMs; ; await sleep(pollMs)) {
      const job = await this.get(path);
      if (job.status !== 'pending' && job.status !== 'running') return job;
      if (performance.now() > deadline) throw new Error(`stuck: ${path} ${JSON.stringify(job)}`);
    }
  }

  /** Runs the work as if days had passed. */
  async inDays<Result>(days: number, work: () => Promise<Result>): Promise<Result> {
    const { app, owner } = this.service;
    app.clock.advance(days * 86_400_000);
    this.#token = await freshToken(app, owner.token);
    try {
      return await work();
    } finally {
      app.clock.advance(-days * 86_400_000);
      this.#token = owner.token;
    }
  }

  /** Foreign objects are there, unchanged. */
  async foreignObjectsThatChanged(): Promise<string[]> {
    const changed: string[] = [];
    for (const { id, objects } of this.destinations) {
      const now = await objects();
      for (const [key, content] of this.#foreign.get(id) ?? []) if (now.get(key) !== content) changed.push(key);
    }
    return changed;
  }

  async close(): Promise<void> {
    for (const { live } of this.projects) await live.close();
    for (const store of this.#stores) await store.close();
  }
}

type Place = Omit<Destination, 'id' | 'body'>;

function placeOfFolder(folder: string): Place {
  const away = `${folder} away`;
  return {
    objects: () => filesOf(folder),
    put: (key, content) => (content === null ? rm(join(folder, key)) : writeFile(join(folder, key), content, 'latin1')),
    leave: () => rename(folder, away),
    async comeBack() {
      const made = await filesOf(folder).catch(() => undefined);
      // The service may be storing keys there at this moment.
      await rm(folder, { recursive: true, force: true, maxRetries: 10 });
      await rename(away, folder);
      return made ? [`the folder was made anew while it was away: ${[...made.keys()].join(', ')}`] : [];
    },
  };
}

function placeOfBucket(store: BlobStore, { faults }: S3Sandbox): Place {
  return {
    objects: () => objectsOf(store),
    put: async (key, content) => {
      if (content === null) await store.delete([key]);
      else await store.put(key, Buffer.from(content, 'latin1'));
    },
    leave: async () => void faults.set({ errorRate: 1 }),
    async comeBack() {
      faults.clear();
      return [];
    },
  };
}

function foreignOf(objects: ReadonlyMap<string, string>): Map<string, string> {
  return new Map([...objects].filter(([key]) => foreignKeys.includes(key)));
}

async function filesOf(folder: string): Promise<Map<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const found = new Map<string, string>();
  for (const file of files) {
    const content = await readFile(file, 'latin1').catch(() => undefined);
    if (content !== undefined) found.set(file.slice(folder.length + 1), content);
  }
  return found;
}

async function objectsOf(store: BlobStore): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for await (const { key } of store.list('')) {
    // Others may be removing it at this moment.
    const content = await store.get(key).catch(() => undefined);
    if (content) found.set(key, Buffer.from(content).toString('latin1'));
  }
  return found;
}
