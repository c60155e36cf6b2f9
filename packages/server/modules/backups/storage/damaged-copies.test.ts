// @module-tag long
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

let bench: BackupBench;

beforeAll(async () => {
  bench = await startBackupBench(hasty);
  await bench.firestore.doc('users/ada').set({ n: 1 });
  await bench.firestore.doc('users/bob').set({ n: 2 });
});
afterAll(() => bench.close());

const post = (path: string, body: object = {}) => bench.app.request('POST', `/api/v1${path}`, { ...bench.as, body });

async function folder(name: string): Promise<{ id: string; path: string }> {
  const made = await post('/storage-destinations', { name, type: 'local', path: name });
  return { id: made.body.data.id, path: join(bench.app.folder, 'storage', bench.shop.organizationId, name) };
}

/** The file of the one segment of a backup. */
async function segmentIn({ path }: { path: string }, backupId: string): Promise<string> {
  const files = await readdir(join(path, 'backups', backupId), { recursive: true });
  const segments = files.filter((name) => name.startsWith('segments/') && !name.endsWith('/'));
  return join(path, 'backups', backupId, segments[0]!);
}

async function flipByte(file: string): Promise<void> {
  const bytes = await readFile(file);
  bytes[bytes.length >> 1]! ^= 1;
  await writeFile(file, bytes);
}

async function restore(backupId: string) {
  const started = await post('/backups/restore', { backupId });
  return untilEnded(bench.app, `/api/v1/backups/restore/${started.body.data.id}`, bench.as);
}

/** What the verification of a damaged backup says. */
async function verify(backupId: string) {
  expect((await post(`/backups/${backupId}/verify`)).status).toBe(202);
  const verification = async () => (await bench.get(`/backups/${backupId}`)).verification;
  await expect.poll(async () => (await verification()).status).toBe('failed');
  return verification();
}

async function migrate(from: { id: string }, to: { id: string }) {
  const path = `/storage-destinations/${from.id}`;
  const { data } = (await post(`${path}/migrate`, { toStorageDestinationId: to.id })).body;
  return untilEnded(bench.app, `/api/v1${path}/tasks/${data.id}`, bench.as);
}

test('what is damaged or missing in one copy is read from the other, by whoever reads the backup', async () => {
  const [first, second] = [await folder('read-a'), await folder('read-b')];
  for (const harm of [flipByte, rm]) {
    const backupId = await bench.backUp({ storageDestinationIds: [first.id, second.id] });
    await harm(await segmentIn(first, backupId));
    expect((await bench.get(`/backups/${backupId}/documents?collection=users`)).length).toBe(2);
    expect(await restore(backupId)).toMatchObject({ status: 'completed', error: null });
    const { errors } = await verify(backupId);
    expect(errors).toMatchObject([{ message: expect.stringContaining('read-a') }]);
    expect(errors).toHaveLength(1);
  }
});

test.each([
  [0, 'the first'],
  [1, 'the second'],
])(
  'leaving a destination whose copy is damaged keeps the whole copy in the other one (%s: it is %s)',
  async (position) => {
    const [bad, good] = [await folder(`leave-${position}`), await folder(`keep-${position}`)];
    const order = position === 0 ? [bad, good] : [good, bad];
    const backupId = await bench.backUp({ storageDestinationIds: order.map(({ id }) => id) });
    await flipByte(await segmentIn(bad, backupId));
    const whole = await readFile(await segmentIn(good, backupId));
    expect(await migrate(bad, good)).toMatchObject({ status: 'completed' });
    expect(Buffer.compare(await readFile(await segmentIn(good, backupId)), whole)).toBe(0);
    expect((await bench.get(`/backups/${backupId}`)).copies).toMatchObject([
      { storageDestinationId: good.id, status: 'completed' },
    ]);
    expect(await restore(backupId)).toMatchObject({ status: 'completed' });
  },
);

test('a damaged copy in the new place is mended by the migration, and two damaged ones stay as they are', async () => {
  const [from, to] = [await folder('old'), await folder('new')];
  const backupId = await bench.backUp({ storageDestinationIds: [from.id, to.id] });
  const [source, target] = [await segmentIn(from, backupId), await segmentIn(to, backupId)];
  const whole = await readFile(source);
  await writeFile(source, whole.subarray(0, -1));
  await flipByte(target);
  const harmed = await readFile(target);
  expect(await migrate(from, to)).toMatchObject({ status: 'failed', error: { code: 'INTEGRITY_ERROR' } });
  expect(Buffer.compare(await readFile(target), harmed)).toBe(0);
  const verified = async () => (await bench.get(`/backups/${backupId}`)).verification?.status;
  await expect.poll(verified).toBe('failed');
  await writeFile(source, whole);
  expect(await migrate(from, to)).toMatchObject({ status: 'completed' });
  expect(Buffer.compare(await readFile(target), whole)).toBe(0);
  await expect.poll(verified).toBe('passed');
  expect(await restore(backupId)).toMatchObject({ status: 'completed' });
});

test('an increment on a damaged base fails once; the base is verified by itself, and the next one is full and says why', async () => {
  const place = await folder('chain');
  const storageDestinationIds = [place.id];
  const base = await bench.backUp({ storageDestinationIds });
  await rm(await segmentIn(place, base));
  await bench.firestore.doc('users/ada').set({ n: 3 });
  const failed = await bench.run({ type: 'incremental', storageDestinationIds });
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'INTEGRITY_ERROR' } });
  await expect.poll(async () => (await bench.get(`/backups/${base}`)).verification?.status).toBe('failed');
  const next = await bench.run({ type: 'incremental', storageDestinationIds });
  expect(next).toMatchObject({ status: 'completed', type: 'full', warnings: [{ code: 'BECAME_FULL' }] });
  expect(next.warnings[0].message).toContain(`${base} did not pass its verification`);
  expect(await restore(next.id)).toMatchObject({ status: 'completed' });
});

test('what is known of a base counts for the increments on it: the next one is full', async () => {
  const place = await folder('known');
  const storageDestinationIds = [place.id];
  const base = await bench.backUp({ storageDestinationIds });
  await bench.firestore.doc('users/ada').set({ n: 4 });
  const between = await bench.run({ type: 'incremental', storageDestinationIds });
  expect(between).toMatchObject({ status: 'completed', parentId: base });
  const segment = await segmentIn(place, base);
  const whole = await readFile(segment);
  await flipByte(segment);
  await verify(base);
  // It reads well again, but nobody has looked since.
  await writeFile(segment, whole);
  const next = await bench.run({ type: 'incremental', storageDestinationIds });
  expect(next).toMatchObject({ status: 'completed', type: 'full', warnings: [{ code: 'BECAME_FULL' }] });
  expect(next.warnings[0].message).toContain(`${base} did not pass its verification`);
});

test('a damaged backup does not keep the others from moving: it stays with what it builds on, and the task tells', async () => {
  const [from, to] = [await folder('leaving'), await folder('arriving')];
  const storageDestinationIds = [from.id];
  const base = await bench.backUp({ storageDestinationIds });
  await bench.firestore.doc('users/ada').set({ n: 5 });
  const increment = (await bench.run({ type: 'incremental', storageDestinationIds })).id;
  await bench.firestore.doc('users/ada').set({ n: 6 });
  const further = (await bench.run({ type: 'incremental', storageDestinationIds })).id;
  const other = await bench.backUp({ storageDestinationIds });
  await flipByte(await segmentIn(from, increment));

  const task = await migrate(from, to);
  expect(task).toMatchObject({ status: 'completed', result: { found: 4, copied: 2, removed: 1 } });
  expect(task.result.failures).toEqual([
    { key: `backups/${increment}/`, reason: expect.stringContaining('no whole copy of it was found') },
    { key: `backups/${further}/`, reason: `${further} stays: it builds on ${increment}, which stays.` },
    { key: `backups/${base}/`, reason: `${base} stays here too: ${further} builds on it.` },
  ]);
  const placesOf = async (id: string) =>
    (await bench.get(`/backups/${id}`)).copies.map(
      (copy: { storageDestinationId: string }) => copy.storageDestinationId,
    );
  expect(await placesOf(other)).toEqual([to.id]);
  expect((await placesOf(base)).toSorted()).toEqual([from.id, to.id].toSorted());
  for (const id of [increment, further]) expect(await placesOf(id)).toEqual([from.id]);
  const left = await readdir(join(to.path, 'backups', increment), { recursive: true, withFileTypes: true });
  expect(left.filter((entry) => entry.isFile())).toEqual([]);
  for (const id of [base, other]) expect(await restore(id)).toMatchObject({ status: 'completed' });
  await expect.poll(async () => (await bench.get(`/backups/${increment}`)).verification?.status).toBe('failed');
});

test('a backup that is damaged in the old place is migrated from a third place where it is whole', async () => {
  const [from, third, to] = [await folder('one'), await folder('three'), await folder('two')];
  const backupId = await bench.backUp({ storageDestinationIds: [from.id, third.id] });
  await rm(await segmentIn(from, backupId));
  const whole = await readFile(await segmentIn(third, backupId));
  expect(await migrate(from, to)).toMatchObject({ status: 'completed', result: { copied: 1, failures: [] } });
  expect(Buffer.compare(await readFile(await segmentIn(to, backupId)), whole)).toBe(0);
});

test('a damaged manifest in one place does not keep the other under the former key', async () => {
  const [bad, good] = [await folder('locked-a'), await folder('locked-b')];
  const backupId = await bench.backUp({ storageDestinationIds: [bad.id, good.id] });
  const manifestIn = ({ path }: { path: string }) => join(path, 'backups', backupId, 'manifest');
  await rm(manifestIn(bad));
  const former = await readFile(manifestIn(good));
  expect((await post('/organizations/current/encryption-key/rotate')).status).toBe(200);
  await expect.poll(async () => Buffer.compare(await readFile(manifestIn(good)), former)).not.toBe(0);
  expect(await restore(backupId)).toMatchObject({ status: 'completed' });
});

test.each([
  ['fits', (digit: number) => (digit === 0x30 ? 0x31 : 0x30)],
  ['is written as one', () => 0x78],
])(
  'a key in a manifest that no longer %s is made up for, told by a verification, and written anew',
  async (how, harm) => {
    const place = await folder(`alone ${how}`);
    const backupId = await bench.backUp({ storageDestinationIds: [place.id] });
    const manifest = join(place.path, 'backups', backupId, 'manifest');
    const whole = await readFile(manifest);
    const harmed = Buffer.from(whole);
    const at = whole.indexOf('"wrapped":"') + 20;
    harmed[at] = harm(whole[at]!);
    await writeFile(manifest, harmed);
    expect(await restore(backupId)).toMatchObject({ status: 'completed' });
    expect(await verify(backupId)).toMatchObject({
      errors: [{ code: 'INTEGRITY_ERROR', message: expect.stringContaining('does not open'), object: backupId }],
    });
    await expect.poll(async () => Buffer.compare(await readFile(manifest), whole)).toBe(0);
    await post(`/backups/${backupId}/verify`);
    await expect.poll(async () => (await bench.get(`/backups/${backupId}`)).verification.status).toBe('passed');
  },
);

test('a backup whose key was withdrawn is not called damaged by a verification or a migration, and moves once the key is back', async () => {
  const [from, to] = [await folder('sealed'), await folder('elsewhere')];
  const path = '/api/v1/organizations/current/encryption-key';
  const passphrase = 'correct horse battery staple';
  const set = (method: string, body?: object) =>
    bench.app.request(method, path, { ...bench.as, ...(body ? { body } : {}) });
  expect((await set('PUT', { passphrase })).status).toBeLessThan(300);
  const backupId = await bench.backUp({ storageDestinationIds: [from.id] });
  expect((await set('DELETE')).status).toBeLessThan(300);
  expect(await verify(backupId)).toMatchObject({ status: 'failed', errors: [{ code: 'DECRYPTION_ERROR' }] });
  expect(await migrate(from, to)).toMatchObject({ status: 'failed', error: { code: 'DECRYPTION_ERROR' } });
  expect((await bench.get(`/backups/${backupId}`)).anomaly).toBeNull();
  expect((await set('PUT', { passphrase })).status).toBeLessThan(300);
  await expect.poll(async () => (await bench.get(`/backups/${backupId}`)).verification.status).toBe('passed');
  expect(await migrate(from, to)).toMatchObject({ status: 'completed', result: { copied: 1 } });
  expect(await restore(backupId)).toMatchObject({ status: 'completed' });
});

test('of single documents too, nothing is written when one of them lies in what is damaged', async () => {
  const place = await folder('single');
  const storageDestinationIds = [place.id];
  const paths = Array.from({ length: 1200 }, (_, index) => `many/${String(index).padStart(4, '0')}`);
  const writer = bench.firestore.bulkWriter();
  for (const path of paths) void writer.set(bench.firestore.doc(path), { text: path.repeat(3600) });
  await writer.close();
  const backupId = await bench.backUp({ storageDestinationIds });
  // Full segments, and the rest: what comes last is damaged behind its index.
  const segments = join(place.path, 'backups', backupId, 'segments');
  const files = (await readdir(segments)).map((name) => join(segments, name));
  expect(files.length).toBeGreaterThan(4);
  const [rest] = (await Promise.all(files.map(async (file) => ({ file, size: (await stat(file)).size })))).toSorted(
    (left, right) => left.size - right.size,
  );
  const bytes = await readFile(rest!.file);
  bytes[bytes.length - 50]! ^= 1;
  await writeFile(rest!.file, bytes);
  const clearing = bench.firestore.bulkWriter();
  for (const path of paths) void clearing.delete(bench.firestore.doc(path));
  await clearing.close();
  const started = await post('/backups/restore', { backupId, documentIds: paths });
  const ended = await untilEnded(bench.app, `/api/v1/backups/restore/${started.body.data.id}`, bench.as);
  expect(ended).toMatchObject({ status: 'failed', error: { code: 'INTEGRITY_ERROR' }, documentsRestored: 0 });
  expect((await bench.firestore.collection('many').get()).size).toBe(0);
});
