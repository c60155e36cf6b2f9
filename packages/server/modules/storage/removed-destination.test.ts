import { copyFile, mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BlobStore, createS3Store } from '@holdfast/engine';
import { type S3Sandbox, sandboxS3Credential, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../testing/backup-bench.ts';

let bench: BackupBench;
let s3: S3Sandbox;
const mayNotDelete = { accessKeyId: 'keeper', secretAccessKey: 'k' };
beforeAll(async () => {
  s3 = await startS3Sandbox({
    buckets: ['left', 'shared', 'kept'],
    credentials: [sandboxS3Credential, { ...mayNotDelete, deny: ['DeleteObject', 'DeleteObjects'] }],
  });
  bench = await startBackupBench({ ...hasty, OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
});
afterAll(async () => {
  await bench.close();
  await s3.stop();
});

const call = (method: string, path: string, body?: object) =>
  bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body && { body }) });

const place = (bucket: string, { endpoint } = s3) => ({ bucket, endpoint, forcePathStyle: true, region: 'us-east-1' });
const addBucket = (bucket: string, at = s3) =>
  add({ name: bucket, type: 's3', ...place(bucket, at), credentials: sandboxS3Credential });

async function add(body: object): Promise<string> {
  const created = await call('POST', '/storage-destinations', { isDefault: false, ...body });
  expect(created.body.data?.status, created.text).toBe('connected');
  return created.body.data.id;
}

const open = (bucket: string) => createS3Store({ kind: 's3', credentials: sandboxS3Credential, ...place(bucket) });

async function keysIn(store: BlobStore): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list('keys/')) keys.push(key);
  return keys;
}

async function actionsOn(id: string): Promise<string[]> {
  const entries: { action: string }[] = await bench.get(`/audit-logs?resourceId=${id}`);
  return entries.map(({ action }) => action).filter((action) => !action.endsWith('created'));
}

const ownKeys = () => `keys/${bench.as.organizationId}`;

test("a destination that is removed keeps no copy of the organization's keys, and all that is not ours", async () => {
  const id = await addBucket('left');
  const store = await open('left');
  await expect.poll(() => keysIn(store)).toHaveLength(1);
  const foreign = [`${ownKeys()}/notes.txt`, `keys/org_other/${'a'.repeat(32)}`];
  for (const key of foreign) await store.put(key, Buffer.from('not ours'));
  const removed = await call('DELETE', `/storage-destinations/${id}`);
  expect([removed.status, removed.body.message ?? removed.body.data?.message], removed.text).toEqual([
    200,
    expect.stringContaining('keys in it are removed too'),
  ]);
  expect(await keysIn(store)).toEqual(foreign.toSorted());
  expect(await actionsOn(id)).toEqual(['storage.keys_removed', 'storage.deleted']);
  await store.close();
});

test('one that cannot be reached is removed all the same, and it is told that the keys stay', async () => {
  const gone = await startS3Sandbox({ buckets: ['gone'] });
  const id = await addBucket('gone', gone);
  await gone.stop();
  const removed = await call('DELETE', `/storage-destinations/${id}`);
  expect(removed.status, removed.text).toBe(200);
  expect(removed.text).toContain('stay in it under keys/');
  expect(await actionsOn(id)).toEqual(['storage.keys_left', 'storage.deleted']);
  expect((await call('GET', `/storage-destinations/${id}`)).status).toBe(404);
});

test('one that does not let them go is not called out of reach', async () => {
  const id = await addBucket('kept');
  const store = await open('kept');
  await expect.poll(() => keysIn(store)).toHaveLength(1);
  const changed = await call('PATCH', `/storage-destinations/${id}`, { credentials: mayNotDelete });
  expect(changed.status, changed.text).toBe(200);
  const removed = await call('DELETE', `/storage-destinations/${id}`);
  expect(removed.body.message, removed.text).toContain('could not be removed, because a lock keeps them');
  expect(removed.text).toContain('stay in it under keys/');
  expect(await keysIn(store)).toHaveLength(1);
  expect(await actionsOn(id)).toEqual(['storage.keys_left', 'storage.deleted', 'storage.updated']);
  await store.close();
});

test('where another destination is the same place, its keys stay until that one is removed too', async () => {
  const [first, second] = [await addBucket('shared'), await addBucket('shared')];
  const store = await open('shared');
  await expect.poll(() => keysIn(store)).toHaveLength(1);
  expect((await call('DELETE', `/storage-destinations/${first}`)).text).toContain('another destination is the same');
  expect(await keysIn(store)).toHaveLength(1);
  expect((await call('DELETE', `/storage-destinations/${second}`)).text).toContain('removed too');
  expect(await keysIn(store)).toEqual([]);
  await store.close();
});

test('what stayed in a removed folder leaves it when its key is withdrawn, or the organization purged', {
  tags: 'long',
}, async () => {
  const folder = (name: string) => join(bench.app.folder, 'storage', bench.as.organizationId, name);
  const there = async (name: string) => await readdir(join(folder(name), ownKeys()));
  const set = await call('PUT', '/organizations/current/encryption-key', {
    passphrase: 'a passphrase of the customer',
  });
  expect(set.status, set.text).toBe(200);
  const [id, goneId] = [
    await add({ name: 'two', type: 'local', path: 'two' }),
    await add({ name: 'x', type: 'local', path: 'x' }),
  ];
  for (const each of [id, goneId])
    await expect.poll(() => bench.app.logged()).toMatch(new RegExp(`${each}.*a job ended`));
  const [name] = await there('two');
  const kept = join(bench.app.folder, 'kept');
  await copyFile(join(folder('two'), ownKeys(), name!), kept);
  for (const each of [id, goneId]) expect((await call('DELETE', `/storage-destinations/${each}`)).status).toBe(200);
  expect(await there('two')).toEqual([]);
  await rename(folder('x'), join(bench.app.folder, 'x'));
  await copyFile(kept, join(folder('two'), ownKeys(), name!));

  expect((await call('DELETE', '/organizations/current/encryption-key')).status).toBe(200);
  await expect.poll(() => there('two')).toEqual([]);

  await mkdir(join(folder('two'), ownKeys()), { recursive: true });
  await writeFile(join(folder('two'), ownKeys(), 'b'.repeat(32)), 'sealed');
  const { name: confirmName } = await bench.get('/organizations/current');
  const purged = await call('POST', '/organizations/current/delete', { confirmName, force: true });
  expect(purged.body.data?.deletionType, purged.text).toBe('permanent');
  await expect.poll(() => there('two')).toEqual([]);
  await expect.poll(() => bench.app.logged()).toContain('a removed folder of a purged organization is gone');
});
