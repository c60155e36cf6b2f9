import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { createClient } from '@holdfast/contract/client';
import { lowerThreadPriority } from '@holdfast/engine/lower-thread-priority';
import { fillFast } from '@holdfast/sandbox';
import { Callers } from '@holdfast/server/testing/callers';
import { testCertificate } from '@holdfast/server/testing/webhook-receiver';
import pg from 'pg';
import { importPath, putForeignFile } from './chaos/foreign-file.ts';
import { bucketAt, createWorld, database, pause, projectAt, type World } from './chaos/world.ts';
import { type Bench, figure, median } from './figure.ts';
import type { NoiseOptions, NoiseReport } from './noisy/noise.ts';
import { percentile } from './webhooks/verdict.ts';

const documents = 20_000;
const projects = 8;
const webhooks = 50;
const rounds = 5;
const roundMs = 12_000;
/** Tenants who ask now and then, each below its own limit: one alone would ask too seldom to tell a hundredth. */
const quietTenants = 5;
const quietBackups = 5;
const tinyCollection = 'tiny';
const askEveryMs = 150;
const warmUpMs = 2000;
/** Whatever is under way when the noise ends is over by then, or the bench fails. */
const drainMsMax = 180_000;

/** The service as it comes, with its usual limits: what a tenant notices of another who does all that is allowed, and more. */
export const noisyBench: Bench = {
  name: 'noisy',
  about: `The slowest hundredth of GET /backups of tenants beside one that does everything it may at once, at and beyond its limits: backups, restores, imports, drills, exports, browsing, comparing, lists, ${webhooks} webhooks, wrong calls; against the same without it, in turns, one service of all roles with the usual limits.`,
  async run() {
    const authority = fileURLToPath(import.meta.resolve('@holdfast/server/testing/webhook-receiver'));
    const world = await createWorld({
      documents,
      workers: 0,
      roles: 'api,worker,scheduler',
      environment: {
        RATE_LIMIT_PER_MINUTE: '600',
        NODE_EXTRA_CA_CERTS: authority.replace('webhook-receiver.ts', 'certificates/authority.pem'),
      },
    });
    const receiver = await startReceiver();
    const asking = new Callers({
      url: `${world.cluster.address}/api/v1/backups`,
      identities: await quietKeys(world),
      callers: quietTenants,
      pauseMs: askEveryMs,
    });
    // The source, the bucket, the receiver and the neighbour stand elsewhere: where the cores do not suffice, they wait.
    lowerThreadPriority();
    const noise = new Worker(new URL('./noisy/noise.ts', import.meta.url), {
      workerData: await furnishNeighbour(world, receiver.port),
    });
    try {
      const [idle, busy]: [number[], number[]] = [[], []];
      const reports: NoiseReport[] = [];
      await pause(warmUpMs);
      for (let round = 0; round < rounds; round += 1) {
        idle.push(await p99During(asking, () => pause(roundMs)));
        noise.postMessage('begin');
        await pause(warmUpMs);
        busy.push(await p99During(asking, () => pause(roundMs)));
        noise.postMessage('end');
        reports.push(((await once(noise, 'message')) as [NoiseReport])[0]);
        await untilQuiet(world);
      }
      const [quiet, loaded] = [median(idle), median(busy)];
      const details = {
        'idle p99 ms': round1(quiet),
        'p99 ms beside the noise': round1(loaded),
        'each idle round': idle.map(round1).join(' '),
        'each noisy round': busy.map(round1).join(' '),
        ...answersOf(reports),
      };
      return [figure('noisy', 'a quiet service', loaded / quiet, 5, 'lower', details)];
    } finally {
      await Promise.all([asking.stop(), noise.terminate()]);
      receiver.close();
      await world.close();
    }
  },
};

const round1 = (value: number) => Math.round(value * 10) / 10;

async function p99During(asking: Callers, work: () => Promise<void>): Promise<number> {
  await asking.latencies();
  await work();
  return percentile(await asking.latencies(), 0.99);
}

/** The next quiet round begins when nothing of the noise is left, so that the two are not mixed. */
async function untilQuiet({ databaseUrl }: World): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    for (let waitedMs = 0; waitedMs < drainMsMax; waitedMs += 200) {
      const { rows } = await client.query(
        `select (select count(*) from backups where status in ('pending', 'running'))
              + (select count(*) from restores where status in ('pending', 'running'))
              + (select count(*) from webhook_deliveries where status = 'pending') as open`,
      );
      if (Number(rows[0].open) === 0) return;
      await pause(200);
    }
    throw new Error('what the noisy tenant began did not end');
  } finally {
    await client.end();
  }
}

/** So that nobody takes a tenant that was refused everything for a noisy one. */
function answersOf(reports: readonly NoiseReport[]): Record<string, number> {
  const total: Record<string, number> = {};
  for (const report of reports)
    for (const [status, count] of Object.entries(report))
      total[`answers ${status}`] = (total[`answers ${status}`] ?? 0) + count;
  return total;
}

/** Organizations with a few backups, and a key with which somebody looks at them. */
async function quietKeys(world: World): Promise<Record<string, string>[]> {
  fillFast(world.firestore.control.database(database), { collection: tinyCollection, documents: 1 });
  const keys: Record<string, string>[] = [];
  while (keys.length < quietTenants) keys.push(await quietKey(world, `Quiet ${keys.length}`));
  return keys;
}

async function quietKey({ cluster, session, s3, firestore }: World, name: string): Promise<Record<string, string>> {
  const person = createClient({ baseUrl: cluster.address, token: session.token });
  const { id: organizationId } = await person.createOrganization({ body: { name } });
  const owner = createClient({ baseUrl: cluster.address, token: session.token, organizationId });
  const permissions = ['backups:write', 'projects:write', 'storage:write'] as const;
  const { apiKey } = await owner.createServiceAccount({ body: { name, permissions: [...permissions] } });
  if (apiKey === null) throw new Error('a new key is shown');
  const client = createClient({ baseUrl: cluster.address, token: apiKey });
  await client.createStorageDestination({ body: bucketAt(s3) });
  const { id: projectId } = await client.createProject({ body: projectAt(firestore, name) });
  for (let count = 0; count < quietBackups; count += 1)
    await completedBackup(client, { projectId, collections: [tinyCollection] });
  return { authorization: `Bearer ${apiKey}` };
}

async function furnishNeighbour(world: World, receiverPort: number): Promise<NoiseOptions> {
  const { client, session, firestore, destinationId } = world;
  await putForeignFile(world);
  const projectIds = [world.projectId];
  while (projectIds.length < projects)
    projectIds.push((await client.createProject({ body: projectAt(firestore, `Shop ${projectIds.length}`) })).id);
  const backupIds: string[] = [];
  for (const projectId of projectIds.slice(0, 2)) backupIds.push(await completedBackup(client, { projectId }));
  for (let index = 0; index < webhooks; index += 1) {
    const body = { name: `Hook ${index}`, url: `https://localhost:${receiverPort}/${index}`, events: ['*'] };
    await client.createWebhook({ body });
  }
  const { token, organizationId } = session;
  const { address } = world.cluster;
  return { address, token, organizationId, destinationId, projectIds, backupIds, importPath };
}

async function completedBackup(
  client: World['client'],
  body: { projectId: string; collections?: string[] },
): Promise<string> {
  const { id: backupId } = await client.createBackup({ body });
  for (;;) {
    const { status, error } = await client.getBackup({ params: { backupId } });
    if (status === 'completed') return backupId;
    if (status !== 'pending' && status !== 'running') throw new Error(`the backup ${status}: ${error?.message}`);
    await pause(200);
  }
}

/** Takes every delivery and remembers none. */
async function startReceiver(): Promise<{ port: number; close(): void }> {
  const server = createServer(testCertificate, (request, response) => {
    request.resume();
    response.writeHead(200).end('ok');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
