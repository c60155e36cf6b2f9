// @module-tag long
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createS3Store, manifestKey, type VersionedBlobStore } from '@holdfast/engine';
import { type S3Sandbox, sandboxS3Credential, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

let bench: BackupBench;
let s3: S3Sandbox;
let bucket: VersionedBlobStore;
let id: string;
let folderId: string;

beforeAll(async () => {
  s3 = await startS3Sandbox({ buckets: [] });
  const settings = { region: 'us-east-1', createdAtMs: Date.now(), versioning: 'Enabled' as const, objectLock: true };
  await s3.objects.saveBucket({ ...settings, name: 'keeping' });
  const place = { bucket: 'keeping', endpoint: s3.endpoint, forcePathStyle: true, credentials: sandboxS3Credential };
  bucket = await createS3Store({ kind: 's3', region: 'us-east-1', ...place });
  bench = await startBackupBench({ ...hasty, OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
  folderId = bench.shop.destinationId;
  const body = { name: 'Keeping', type: 's3', ...place };
  const made = await bench.app.request('POST', '/api/v1/storage-destinations', { ...bench.as, body });
  expect(made.status, made.text).toBe(201);
  id = made.body.data.id;
  await bench.firestore.doc('users/ada').set({ n: 1 });
});
afterAll(async () => {
  await bench.close();
  await bucket.close();
  await s3.stop();
});

async function runTask(destinationId: string, kind: string, body?: object) {
  const path = `/api/v1/storage-destinations/${destinationId}/${kind}`;
  const started = await bench.app.request('POST', path, { ...bench.as, ...(body ? { body } : {}) });
  expect(started.status, started.text).toBe(202);
  return untilEnded(bench.app, started.headers.get('location') as string, bench.as);
}

/** How many versions and marks lie there, whatever hides them. */
function left(prefix: string): number {
  const all = [...s3.objects.bucket('keeping').keys.entriesFrom(prefix)];
  return all.filter(([key]) => key.startsWith(prefix)).reduce((sum, [, versions]) => sum + versions.length, 0);
}

async function deleted(): Promise<string> {
  const backupId = await bench.backUp({ storageDestinationId: id });
  await bench.app.request('DELETE', `/api/v1/backups/${backupId}`, bench.as);
  await expect.poll(() => bucket.head(manifestKey(backupId))).toBeUndefined();
  const rows = async () => (await bench.get('/audit-logs?action=backup.objects_removed')).map(resourceId);
  await expect.poll(rows).toContain(backupId);
  return backupId;
}

const resourceId = (entry: { resource: { id: string } }) => entry.resource.id;
const exported = async (backupId: string) =>
  (await bench.app.request('GET', `/api/v1/backups/${backupId}/export`, bench.as)).text;

test('what was deleted goes for good; what lives, what is foreign and what is not hidden stays; the counts say so', async () => {
  const living = await bench.backUp({ storageDestinationId: id });
  const gone = await deleted();
  for (const key of ['backups/notes.txt', 'theirs', `backups/${gone}/notes.txt`]) {
    await bucket.put(key, Buffer.from('theirs'));
    await bucket.delete([key]);
  }
  const before = await exported(living);
  const hidden = left(`backups/${gone}/segments`);
  const counted = await runTask(id, 'purge', { dryRun: true });
  expect(counted.result).toMatchObject({ dryRun: true, removed: 0, locked: 0, skipped: 0, failures: [] });
  expect(counted.result.removable).toBeGreaterThanOrEqual(hidden / 2);
  expect(left(`backups/${gone}/segments`)).toBe(hidden);
  const purged = await runTask(id, 'purge');
  const { removable, bytes } = counted.result;
  expect(purged).toMatchObject({
    status: 'completed',
    kind: 'purge',
    result: { removed: removable, bytes, locked: 0 },
  });
  expect(left(`backups/${gone}/segments`) + left(manifestKey(gone))).toBe(0);
  for (const key of ['backups/notes.txt', 'theirs', `backups/${gone}/notes.txt`]) expect(left(key)).toBe(2);
  expect(await exported(living)).toBe(before);
  expect((await runTask(id, 'purge')).result).toMatchObject({ found: 0, removed: 0 });
  expect((await bench.get('/audit-logs?action=storage.versions_purged')).at(-1)).toMatchObject({
    resource: { id },
    details: { removed: removable, bytes },
  });
});

test('versions under lock or hold stay, hidden as before, and are counted', async () => {
  const gone = await deleted();
  const [manifest] = s3.objects
    .bucket('keeping')
    .keys.get(manifestKey(gone))!
    .filter((one) => !one.isDeleteMarker);
  manifest!.retention = { mode: 'GOVERNANCE', untilMs: Date.now() + 3_600_000 };
  const [key] = [...s3.objects.bucket('keeping').keys.entriesFrom(`backups/${gone}/segments/`)][0]!;
  for (const version of s3.objects.bucket('keeping').keys.get(key)!)
    if (!version.isDeleteMarker) version.legalHold = true;
  expect((await runTask(id, 'purge', { dryRun: true })).result).toMatchObject({ locked: 2 });
  const purged = await runTask(id, 'purge');
  expect(purged.result).toMatchObject({
    locked: 2,
    failures: expect.arrayContaining([expect.objectContaining({ key })]),
  });
  expect(left(`backups/${gone}/`)).toBe(4);
  expect(await bucket.head(manifestKey(gone))).toBeUndefined();
});

test('what a backup needs is not purged although somebody hid it, and comes back whole', async () => {
  const backupId = await bench.backUp({ storageDestinationId: id });
  const before = await exported(backupId);
  const keys: string[] = [];
  for await (const { key } of bucket.list(`backups/${backupId}/`)) keys.push(key);
  const segment = keys.find((key) => key.includes('/segments/'))!;
  for (const lost of [[segment], keys]) {
    await bucket.delete(lost);
    const { result } = await runTask(id, 'purge');
    expect(result.removed).toBe(0);
    expect(result.skipped).toBe(lost.length);
    expect(JSON.stringify(result.failures)).toContain(backupId);
    for (const key of lost) bringBack(key);
    expect(await exported(backupId)).toBe(before);
  }
});

/** As a provider's tools do: the mark goes. */
function bringBack(key: string): void {
  const { keys } = s3.objects.bucket('keeping');
  keys.set(
    key,
    keys.get(key)!.filter(({ isDeleteMarker }) => !isDeleteMarker),
  );
}

test('after a migration the hidden originals go only when the copies read well', async () => {
  const gone = await bench.backUp({ storageDestinationId: id });
  const moved = await runTask(id, 'migrate', { toStorageDestinationId: folderId });
  expect(moved, JSON.stringify(moved)).toMatchObject({ status: 'completed', result: { versionsKept: true } });
  const hidden = left(`backups/${gone}/`);
  expect(hidden).toBeGreaterThan(1);
  const folder = join(bench.app.folder, 'storage', bench.as.organizationId);
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const copy = files.find(({ name, parentPath }) => /^[0-9a-f]{32}$/.test(name) && parentPath.includes(gone))!;
  const path = join(copy.parentPath, copy.name);
  const bytes = await readFile(path);
  await writeFile(path, Buffer.from(bytes).reverse());
  const kept = await runTask(id, 'purge');
  expect(JSON.stringify(kept.result.failures)).toContain('does not read well');
  expect(left(`backups/${gone}/`)).toBe(hidden);
  await writeFile(path, bytes);
  await runTask(id, 'purge');
  expect(left(`backups/${gone}/`)).toBe(0);
  expect(await exported(gone)).toContain('ada');
});

test('an unknown backup’s versions stay while unknown whole backups lie beside it, which may build on it', async () => {
  const gone = await deleted();
  const stranger = 'backups/bkp_0000000000ABCDEFGHJKMNPQRS/manifest';
  await bucket.put(stranger, Buffer.from('another service wrote it'));
  const { result } = await runTask(id, 'purge');
  expect(result.removed).toBe(0);
  expect(JSON.stringify(result.failures)).toContain('rescan first');
  await bucket.delete([stranger], { purge: true });
  expect((await runTask(id, 'purge')).result.removed).toBeGreaterThan(1);
  expect(left(`backups/${gone}/`)).toBe(0);
});

test('a purge that breaks off leaves nothing visible again and is finished by another; a folder has nothing to purge', async () => {
  const gone = await deleted();
  s3.faults.set({ seed: 1, errorRate: 1, operations: ['DeleteObjects'] });
  expect(await runTask(id, 'purge')).toMatchObject({ status: 'failed', error: { code: 'STORAGE_UNAVAILABLE' } });
  s3.faults.clear();
  expect(await bucket.head(manifestKey(gone))).toBeUndefined();
  expect(await runTask(id, 'purge')).toMatchObject({ status: 'completed' });
  expect(left(`backups/${gone}/`)).toBe(0);
  expect((await runTask(folderId, 'purge')).result).toMatchObject({ found: 0, removed: 0 });
});
