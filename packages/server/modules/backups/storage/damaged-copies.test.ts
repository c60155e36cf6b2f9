import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
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
    const verified = await post(`/backups/${backupId}/verify`);
    expect(verified.status).toBe(202);
    const verification = async () => (await bench.get(`/backups/${backupId}`)).verification;
    await expect.poll(async () => (await verification()).status).toBe('failed');
    expect((await verification()).errors).toMatchObject([{ message: expect.stringContaining('read-a') }]);
    expect((await verification()).errors).toHaveLength(1);
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
  await writeFile(source, whole);
  expect(await migrate(from, to)).toMatchObject({ status: 'completed' });
  expect(Buffer.compare(await readFile(target), whole)).toBe(0);
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
  await expect
    .poll(async () => (await bench.get(`/backups/${base}`)).verification?.status, { timeout: 20_000 })
    .toBe('failed');
  const next = await bench.run({ type: 'incremental', storageDestinationIds });
  expect(next).toMatchObject({ status: 'completed', type: 'full', warnings: [{ code: 'BECAME_FULL' }] });
  expect(next.warnings[0].message).toContain(`${base} did not pass its verification`);
  expect(await restore(next.id)).toMatchObject({ status: 'completed' });
});
