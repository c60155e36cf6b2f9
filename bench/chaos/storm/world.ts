import { type ChildProcess, execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createClient } from '@holdfast/contract/client';
import { type FirestoreSandbox, type S3Sandbox, startFirestoreSandbox, startS3Sandbox } from '@holdfast/sandbox';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@holdfast/server/platform/database/embedded-postgres';
import { freePort } from '@holdfast/server/platform/free-port';
import { createLogger } from '@holdfast/server/platform/log';
import { Cluster } from '@holdfast/server/testing/cluster';
import { startWebhookReceiver, type WebhookReceiver } from '@holdfast/server/testing/webhook-receiver';
import { pause } from '../world.ts';
import { Link } from './link.ts';
import { furnish, type Tenant } from './tenant.ts';

const authority = fileURLToPath(
  new URL('../../../packages/server/testing/certificates/authority.pem', import.meta.url),
);
const skewedClock = new URL('./skewed-clock.ts', import.meta.url).href;
/** Of the folder that destinations on this machine lie in; small, so that it can be filled. */
const diskMegabytes = 64;

/** Everything the service stands on, each behind a wire that can be cut. */
export class StormWorld {
  readonly folder: string;
  readonly dataFolder: string;
  readonly source: FirestoreSandbox;
  readonly target: FirestoreSandbox;
  readonly s3: S3Sandbox;
  readonly receiver: WebhookReceiver;
  readonly links: { postgres: Link; source: Link; target: Link; s3: Link };
  readonly isDiskSmall: boolean;
  readonly tenants: Tenant[] = [];
  readonly schedulers: ChildProcess[] = [];
  #postgres: EmbeddedPostgres;
  #cluster!: Cluster;
  #apiPort = 0;

  private constructor(
    given: Pick<
      StormWorld,
      'folder' | 'dataFolder' | 'source' | 'target' | 's3' | 'receiver' | 'links' | 'isDiskSmall'
    > & { postgres: EmbeddedPostgres },
  ) {
    this.folder = given.folder;
    this.dataFolder = given.dataFolder;
    this.source = given.source;
    this.target = given.target;
    this.s3 = given.s3;
    this.receiver = given.receiver;
    this.links = given.links;
    this.isDiskSmall = given.isDiskSmall;
    this.#postgres = given.postgres;
  }

  static async open(clockSkewMsMax: number): Promise<StormWorld> {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-storm-'));
    // Open to the user the database server drops to.
    await chmod(folder, 0o755);
    const dataFolder = join(folder, 'data');
    await mkdir(dataFolder);
    // What it has acknowledged survives its own crash, as with everybody: no shortcuts here.
    const postgres = await startPostgres(folder);
    const [source, target] = [await startFirestoreSandbox(), await startFirestoreSandbox()];
    const s3 = await startS3Sandbox({ buckets: ['storm'] });
    const links = {
      postgres: await Link.to(portOf(postgres.url)),
      source: await Link.to(portOf(`http://${source.address}`)),
      target: await Link.to(portOf(`http://${target.address}`)),
      s3: await Link.to(portOf(s3.endpoint)),
    };
    const receiver = await startWebhookReceiver();
    const isDiskSmall = mountSmallDisk(dataFolder);
    const world = new StormWorld({ folder, dataFolder, postgres, source, target, s3, receiver, links, isDiskSmall });
    await world.#start(clockSkewMsMax);
    return world;
  }

  get cluster(): Cluster {
    return this.#cluster;
  }

  async restartApi(): Promise<void> {
    await this.#cluster.killApi();
    await this.#cluster.startApi('api', { PORT: String(this.#apiPort) });
  }

  /** Without a warning, as when the machine under it dies; or in good order. */
  async restartPostgres(isCrash: boolean): Promise<void> {
    if (isCrash) await this.#crashPostgres();
    await this.#postgres.stop();
    this.#postgres = await startPostgres(this.folder);
    this.links.postgres.leadTo(portOf(this.#postgres.url));
  }

  async close(): Promise<void> {
    await this.#cluster.close();
    for (const { shop, target } of this.tenants) await Promise.all([shop.close(), target.close()]);
    await Promise.all(Object.values(this.links).map((link) => link.close()));
    await Promise.all([this.source.stop(), this.target.stop(), this.s3.stop(), this.receiver.close()]);
    await this.#postgres.stop();
    if (this.isDiskSmall) execFileSync('umount', ['-l', this.dataFolder]);
    await rm(this.folder, { recursive: true, force: true });
  }

  async #start(clockSkewMsMax: number): Promise<void> {
    const databaseUrl = new URL(this.#postgres.url);
    databaseUrl.port = String(this.links.postgres.port);
    this.#cluster = new Cluster({
      databaseUrl: databaseUrl.href,
      folder: this.dataFolder,
      masterKey: randomBytes(32).toString('base64'),
      environment: {
        NODE_EXTRA_CA_CERTS: authority,
        NODE_OPTIONS: `--import ${skewedClock}`,
        CLOCK_SKEW_MS_MAX: String(clockSkewMsMax),
        LOG_LEVEL: 'fatal',
      },
    });
    this.#apiPort = await freePort();
    await this.#cluster.startApi('api', { PORT: String(this.#apiPort) });
    await Promise.all([this.#cluster.startWorker(), this.#cluster.startWorker()]);
    for (let count = 0; count < 2; count++) this.schedulers.push(await this.#cluster.startRole('scheduler'));
    const { token, organizationId } = await this.#cluster.signIn();
    const baseUrl = this.#cluster.address;
    const person = createClient({ baseUrl, token });
    const second = await person.createOrganization({ body: { name: 'Second' } });
    const { source, target, s3, receiver, links } = this;
    const ports = { sourcePort: links.source.port, targetPort: links.target.port, s3Port: links.s3.port };
    const around = { baseUrl, token, source, target, s3, receiver, ...ports };
    this.tenants.push(await furnish('first', organizationId, around), await furnish('second', second.id, around));
  }

  async #crashPostgres(): Promise<void> {
    const [pid] = (await readFile(join(this.folder, 'database', 'postgres', 'postmaster.pid'), 'utf8')).split('\n');
    process.kill(Number(pid), 'SIGQUIT');
    for (let tries = 0; tries < 500 && isAlive(Number(pid)); tries++) await pause(20);
  }
}

function startPostgres(folder: string): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ folder: join(folder, 'database'), log: createLogger('fatal') });
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

/** Only who may mount can have a disk of its own; without it the disk is never full, and the report says so. */
function mountSmallDisk(folder: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskMegabytes}m`, 'holdfast-storm', folder], {
      stdio: 'ignore',
    });
    return true;
  } catch {
    return false;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
