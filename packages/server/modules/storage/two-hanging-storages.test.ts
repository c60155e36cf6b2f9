// @module-tag long
import { sandboxS3Credential, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type HostileStorage, startHostileStorage } from '../../../engine/testing/hostile-storage.ts';
import { asOwner } from '../../testing/people.ts';
import { type ProtectedProject, protectProject, untilEnded } from '../../testing/protected-project.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

/** One organization with backups in three destinations. */
interface Tenant {
  as: { token: string; organizationId: string };
  shop: ProtectedProject;
  destinationIds: string[];
  backupIds: string[];
}

let app: TestApp;
let s3: Awaited<ReturnType<typeof startS3Sandbox>>;
let storage: HostileStorage;
let attackers: Tenant[];
let third: Tenant;
const destinations = [0, 1, 2];
const backupsEach = 4;
/** What the third may lose: the time after which silence counts, a look each second, and its own work on a slow machine. */
const patienceMs = 15_000;

beforeAll(async () => {
  s3 = await startS3Sandbox({ buckets: ['things'] });
  storage = await startHostileStorage('honest', s3.endpoint);
  app = await startTestApp({ OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8', WORKER_CONCURRENCY: '2' });
  const shop = await protectProject(app);
  shop.firestore.control.loadSample({ project: 'shop', database: '(default)' }, { documents: 5, seed: 1 });
  const bucket = (n: number) => ({
    ...{ type: 's3', bucket: 'things', endpoint: storage.endpoint, forcePathStyle: true },
    ...{ prefix: `place-${n}`, credentials: sandboxS3Credential },
  });
  third = await settle(shop, (n) => ({ type: 'local', path: `storage/third-${n}` }));
  attackers = [];
  for (const attacker of [1, 2]) {
    const project = await protectProject(app, { firestore: shop.firestore });
    attackers.push(await settle(project, (n) => bucket(attacker * 10 + n)));
  }
  // From now on it takes what proves that two destinations are two places, and answers nothing else.
  storage.mischief = ({ url }) => (url?.includes('holdfast-probe-') ? 'honest' : 'silent');
}, 240_000);
afterAll(async () => {
  await app.close();
  await third.shop.close();
  await storage.stop();
  await s3.stop();
});

async function settle(shop: ProtectedProject, place: (n: number) => object): Promise<Tenant> {
  const as = { token: shop.owner.token, organizationId: shop.organizationId };
  const tenant: Tenant = { as, shop, destinationIds: [], backupIds: [] };
  for (const n of destinations) {
    const body = { name: `Place ${n}`, ...place(n) };
    const { body: created, text } = await app.request('POST', '/api/v1/storage-destinations', { ...as, body });
    expect(created.data?.status, text).toBe('connected');
    tenant.destinationIds.push(created.data.id);
  }
  for (let n = 0; n < backupsEach; n++) {
    const body = { projectId: shop.projectId, storageDestinationIds: [tenant.destinationIds[n % 2]] };
    const started = await app.request('POST', '/api/v1/backups', { ...as, body });
    const ended = await untilEnded(app, `/api/v1/backups/${started.body.data.id}`, as);
    expect(ended, JSON.stringify(ended.error)).toMatchObject({ status: 'completed' });
    tenant.backupIds.push(ended.id);
  }
  return tenant;
}

async function post({ as }: Tenant, path: string, body?: object, method = 'POST') {
  const answer = await app.request(method, `/api/v1${path}`, { ...as, ...(body && { body }) });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer;
}

/** Until both attackers hold every place of a kind that they can get. */
async function allPlacesTaken(job: string, places: number): Promise<void> {
  const active = async () =>
    (await app.platform.queue.counts()).find((one) => one.kind === job && one.state === 'active');
  await expect.poll(active).toMatchObject({ count: places });
}

test('a rescan and a migration of a third organization begin although two others hang in theirs', async () => {
  for (const one of attackers)
    for (const id of one.destinationIds) await post(one, `/storage-destinations/${id}/rescan`);
  await allPlacesTaken('storage-task-run', 3);
  const [from, scanned, to] = third.destinationIds;
  const tasks = [
    await post(third, `/storage-destinations/${from}/migrate`, { toStorageDestinationId: to }),
    await post(third, `/storage-destinations/${scanned}/rescan`),
  ];
  const [migrated, found] = await Promise.all(
    tasks.map(({ headers }) => untilEnded(app, headers.get('location') as string, third.as, patienceMs)),
  );
  expect(migrated, JSON.stringify(migrated)).toMatchObject({ status: 'completed', result: { copied: 2 } });
  expect(found, JSON.stringify(found)).toMatchObject({ status: 'completed', result: { found: 2 } });
});

test('a verification of a third organization begins although two others hang in theirs', async () => {
  for (const one of attackers) for (const id of one.backupIds) await post(one, `/backups/${id}/verify`);
  await allPlacesTaken('backup-verify', 3);
  const [id] = third.backupIds;
  await post(third, `/backups/${id}/verify`);
  const verified = async () => (await app.request('GET', `/api/v1/backups/${id}`, third.as)).body.data.verification;
  await expect.poll(verified, { timeout: patienceMs }).toMatchObject({ status: 'passed' });
});

test('the objects of a third organization’s backup go although two others have many removals that hang', async () => {
  for (const one of attackers)
    for (const id of one.backupIds.slice(0, -1)) await post(one, `/backups/${id}`, undefined, 'DELETE');
  await allPlacesTaken('backup-remove', 4);
  const [id] = third.backupIds.slice(-2);
  await post(third, `/backups/${id}`, undefined, 'DELETE');
  const removed = async () => {
    const path = '/api/v1/audit-logs?action=backup.objects_removed';
    return (await app.request('GET', path, third.as)).text.includes(id as string);
  };
  await expect.poll(removed, { timeout: patienceMs }).toBe(true);
});

/** As if nobody had looked at the destinations of these organizations for long, and at all others just now. */
async function lookAt(tenants: readonly Tenant[]): Promise<void> {
  const ids = tenants.map(({ as }) => as.organizationId);
  await asOwner(app.databaseUrl, (client) =>
    client.query(
      `update storage_destinations set last_checked_at = case when organization_id = any($1) then $2::timestamptz else $3 end`,
      [ids, new Date(0), app.clock.now()],
    ),
  );
  await app.tasks.runNow('recheck storage');
}

interface Looked {
  id: string;
  lastCheckedAt: string;
  status: string;
  error: object | null;
}

async function lookedAt({ as, destinationIds }: Tenant): Promise<Looked[]> {
  const { body } = await app.request('GET', '/api/v1/storage-destinations', as);
  return body.data.filter(({ id }: Looked) => destinationIds.includes(id));
}

test('destinations of a third organization are looked at although those of two others do not answer, which is told in the end', async () => {
  await lookAt(attackers);
  await allPlacesTaken('storage-check', 4);
  const before = app.clock.now().toISOString();
  await lookAt([third]);
  const isLookedAt = async () => (await lookedAt(third)).every(({ lastCheckedAt }) => lastCheckedAt > before);
  await expect.poll(isLookedAt, { timeout: patienceMs }).toBe(true);
  for (const { status } of await lookedAt(third)) expect(status).toBe('connected');
  const told = async () => (await lookedAt(attackers[0]!)).filter(({ status }) => status === 'error');
  await expect.poll(async () => (await told()).length, { timeout: 90_000, interval: 500 }).toBeGreaterThan(0);
  for (const { error } of await told()) expect(error).toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
});
