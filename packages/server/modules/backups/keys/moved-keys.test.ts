// @module-tag long
import {
  BackupReader,
  type BlobStore,
  copyKeyOf,
  createS3Store,
  KeyRing,
  readKeyCopies,
  SegmentCodec,
  secretsOf,
} from '@holdfast/engine';
import { type S3Sandbox, sandboxS3Credential, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { asOwner, foundOrganization } from '../../../testing/people.ts';
import { testMasterKey } from '../../../testing/test-app.ts';

let bench: BackupBench;
let s3: S3Sandbox;
/** The organization that the project was moved to. */
let there: { token: string; organizationId: string };
const prefixes = ['removed', 'purged'] as const;
const stores = {} as Record<(typeof prefixes)[number], BlobStore>;
const destinations = {} as Record<(typeof prefixes)[number], string>;
let backupId: string;

const call = (as: typeof there, method: string, path: string, body?: object) =>
  bench.app.request(method, `/api/v1${path}`, { ...as, ...(body && { body }) });

beforeAll(async () => {
  s3 = await startS3Sandbox({ buckets: ['backups'] });
  bench = await startBackupBench({ ...hasty, OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
  await bench.firestore.doc('users/ada').set({ n: 1 });
  for (const prefix of prefixes) {
    const place = { bucket: 'backups', prefix, endpoint: s3.endpoint, forcePathStyle: true };
    const body = { name: prefix, type: 's3', ...place, credentials: sandboxS3Credential };
    destinations[prefix] = (await call(bench.as, 'POST', '/storage-destinations', body)).body.data.id;
    const connection = { ...place, region: 'us-east-1', credentials: sandboxS3Credential };
    stores[prefix] = await createS3Store({ kind: 's3', ...connection });
  }
  backupId = await bench.backUp({ storageDestinationIds: Object.values(destinations) });
  there = { token: bench.as.token, organizationId: await foundOrganization(bench.app, bench.shop.owner) };
  const { organizationId } = there;
  const moved = await call(bench.as, 'PATCH', `/projects/${bench.shop.projectId}`, { organizationId });
  expect(moved.status, moved.text).toBe(200);
});
afterAll(async () => {
  for (const store of Object.values(stores)) await store.close();
  await bench.close();
  await s3.stop();
});

/** Whose keys lie in a place, and whether they open the backup for whoever has the master key besides. */
async function readWithMasterKey(store: BlobStore): Promise<{ owners: string[]; opens: boolean }> {
  const { copies } = await readKeyCopies(store, [copyKeyOf(Buffer.from(testMasterKey, 'base64'))]);
  const keys = new KeyRing(copies.flatMap((copy) => secretsOf(copy.keys)));
  const opens = await BackupReader.open({ store, backupId, keys, codec: new SegmentCodec() }).then(
    () => true,
    () => false,
  );
  return { owners: copies.map(({ organizationId }) => organizationId), opens };
}

const byFormerOwner = () => ({ owners: [bench.as.organizationId], opens: true });
const byNewOwner = () => ({ owners: [there.organizationId], opens: true });

async function giveCredentials(prefix: string): Promise<void> {
  const list: { id: string; name: string }[] = (await call(there, 'GET', '/storage-destinations')).body.data;
  const { id } = list.find(({ name }) => name === prefix)!;
  const credentials = sandboxS3Credential;
  const given = await call(there, 'PATCH', `/storage-destinations/${id}`, { credentials });
  expect(given.body.data?.status, given.text).toBe('connected');
}

test('a removed destination keeps the keys that backups of a moved project need, and says so', async () => {
  const removed = await call(bench.as, 'DELETE', `/storage-destinations/${destinations.removed}`);
  expect(removed.status, removed.text).toBe(200);
  expect(removed.text).toContain('moved to another organization need them');
  expect(await readWithMasterKey(stores.removed)).toEqual(byFormerOwner());
  const [entry] = await bench.get(`/audit-logs?resourceId=${destinations.removed}&action=storage.keys_left`);
  expect(entry.details).toMatchObject({ neededByMovedBackups: true });
});

test('once the new organization has given credentials, its own keys open what lies there', async () => {
  await giveCredentials('removed');
  const opensByNewOwner = async () => {
    const { copies } = await readKeyCopies(stores.removed, [copyKeyOf(Buffer.from(testMasterKey, 'base64'))]);
    const own = copies.filter(({ organizationId }) => organizationId === there.organizationId);
    const keys = new KeyRing(own.flatMap((copy) => secretsOf(copy.keys)));
    const reader = BackupReader.open({ store: stores.removed, backupId, keys, codec: new SegmentCodec() });
    return reader.then(
      () => true,
      () => false,
    );
  };
  await expect.poll(opensByNewOwner).toBe(true);
});

test('a purge of the former organization keeps these keys too, and removes them once nobody needs them', async () => {
  const { name: confirmName } = await bench.get('/organizations/current');
  const purged = await call(bench.as, 'POST', '/organizations/current/delete', { confirmName, force: true });
  expect(purged.body.data?.deletionType, purged.text).toBe('permanent');
  const waits = () =>
    asOwner(bench.app.databaseUrl, async (client) => {
      const { rowCount } = await client.query(
        `select 1 from pgboss.job where name = 'organization-objects-remove' and start_after > now() + interval '20 hours'`,
      );
      return rowCount;
    });
  await expect.poll(waits).toBe(1);
  expect(await readWithMasterKey(stores.purged)).toEqual(byFormerOwner());

  await giveCredentials('purged');
  const ownersThere = async () => (await readWithMasterKey(stores.purged)).owners.toSorted();
  const both = [bench.as.organizationId, there.organizationId].toSorted();
  await expect.poll(ownersThere).toEqual(both);
  const itsTime = `update pgboss.job set start_after = now() where name = 'organization-objects-remove' and start_after > now() + interval '20 hours'`;
  const again = async () => {
    await asOwner(bench.app.databaseUrl, (client) => client.query(itsTime));
    return readWithMasterKey(stores.purged);
  };
  await expect.poll(again).toEqual(byNewOwner());
});
