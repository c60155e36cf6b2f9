// @module-tag long
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../testing/backup-bench.ts';
import { untilEnded } from '../../testing/protected-project.ts';

let bench: BackupBench;
beforeAll(async () => {
  // A few documents are a large restore already, so that its ranges are bounded by such names.
  bench = await startBackupBench({ ...hasty, RESTORE_RANGE_DOCUMENTS: '2' });
});
afterAll(() => bench.close());

const post = (path: string, body: object = {}) => bench.app.request('POST', `/api/v1${path}`, { ...bench.as, body });
const ended = (id: string) => untilEnded(bench.app, `/api/v1/backups/restore/${id}`, bench.as);

test('names that hold a null character are backed up, restored and taken back like all others', async () => {
  const paths = ['c/A', 'c/a\0', 'c/a\0\u001a', 'c/b', 'd\0/x', 'd\0/x/e/\0', 'z/\0'];
  const write = (n: number) => Promise.all(paths.map((path) => bench.firestore.doc(path).set({ n })));
  const found = async () =>
    Promise.all(paths.map(async (path) => (await bench.firestore.doc(path).get()).data()?.n ?? null));
  await write(1);
  const backupId = await bench.backUp();
  await write(2);
  const next = await bench.backUp({ type: 'incremental' });
  expect(await bench.get(`/backups/${next}`)).toMatchObject({ type: 'incremental', documentCount: paths.length });
  await Promise.all(paths.slice(3).map((path) => bench.firestore.doc(path).delete()));
  const changed = await found();
  const options = { deleteExtra: true };
  const { data: started } = (await post('/backups/restore', { backupId, options })).body;
  expect(await ended(started.id)).toMatchObject({ status: 'completed', error: null });
  expect(await found()).toEqual(paths.map(() => 1));
  const undone = await post(`/backups/restore/${started.id}/undo`);
  expect(undone.status, undone.text).toBe(202);
  expect(await ended(undone.body.data.id)).toMatchObject({ status: 'completed', conflicts: 0 });
  expect(await found()).toEqual(changed);
});

test('names in error and warning messages stay on one line', async () => {
  const path = 'c/a\nb\0';
  await bench.firestore.doc(path).set({ mine: 'x'.repeat(600_000) });
  const { warnings } = await bench.run({ collections: ['c', 'no\nsuch'] });
  expect(warnings).toMatchObject([{ code: 'COLLECTION_NOT_FOUND', message: expect.stringContaining('no such') }]);
  const backupId = await bench.backUp({ collections: ['c'] });
  await bench.firestore.doc(path).set({ theirs: 'x'.repeat(600_000) });
  const { data: started } = (await post('/backups/restore', { backupId, options: { mergeMode: 'merge' } })).body;
  const failed = await ended(started.id);
  expect(failed.errors.sample).toMatchObject([{ path, message: expect.stringContaining('a b ') }]);
  expect(failed.error.message).toContain('a b ');
});

test('paging works with the longest possible paths', async () => {
  const long = (index: number) => `long/${String(index)}${'é'.repeat(700)}/sub/${'ü'.repeat(700)}`;
  for (let index = 0; index < 5; index++) await bench.firestore.doc(long(index)).set({ index });
  const backupId = await bench.backUp({ collections: ['long'] });
  const seen: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query = new URLSearchParams({ limit: '2', ...(cursor ? { cursor } : {}) });
    const page = await bench.app.request('GET', `/api/v1/backups/${backupId}/documents?${query}`, bench.as);
    expect(page.status, page.text.slice(0, 300)).toBe(200);
    seen.push(...page.body.data.map(({ path }: { path: string }) => path));
    cursor = page.body.pagination.nextCursor;
  }
  expect(seen).toEqual([0, 1, 2, 3, 4].map(long));
});
