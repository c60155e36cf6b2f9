import { fillFast } from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from '../../testing/backup-bench.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench();
  const paths = [
    ...['users/ada', 'users/bob', 'users/ada/users/1', 'users/ada/users/2', 'users/ada/users/3'],
    ...['customers/acme/orders/1', 'customers/acme/orders/1/events/a', 'customers/acme/orders/1/events/b'],
    // The same collection name at two levels: no count of the database distinguishes them.
    ...['places/home', 'places/home/notes/1', 'places/home/rooms/r', 'places/home/rooms/r/notes/2'],
  ];
  for (const path of paths) await bench.firestore.doc(path).set({ n: 1 });
});
afterAll(() => bench.close());

interface Node {
  path: string;
  documentCount: number;
  sampled: boolean;
  collections: Node[];
}
const flat = (nodes: Node[]): [string, number, boolean][] =>
  nodes.flatMap((node) => [[node.path, node.documentCount, node.sampled], ...flat(node.collections)]);

test('the tree of a live project has every level with its real path and its exact count', async () => {
  const tree = flat(await bench.get(`/projects/${bench.shop.projectId}/collections`));
  expect(tree.sort()).toEqual([
    ['customers', 0, false],
    ['customers/*/orders', 1, false],
    ['customers/*/orders/*/events', 2, false],
    ['places', 1, false],
    ['places/*/notes', 1, false],
    ['places/*/rooms', 1, false],
    ['places/*/rooms/*/notes', 1, false],
    ['users', 2, false],
    ['users/*/users', 3, false],
  ]);
});

test('the pages of a long tree come from one read of the database', async () => {
  const path = `/api/v1/projects/${bench.shop.projectId}/collections?limit=1`;
  const reads = () =>
    Object.values(bench.sandbox.control.counters().methods).reduce((sum, { calls }) => sum + calls, 0);
  const seen: string[] = [];
  let before = 0;
  for (let cursor = ''; ; ) {
    const page = await bench.app.request('GET', `${path}${cursor && `&cursor=${cursor}`}`, bench.as);
    expect(page.status, page.text).toBe(200);
    seen.push(page.body.data[0].path);
    if (seen.length > 1) expect(reads()).toBe(before);
    before = reads();
    cursor = page.body.pagination.nextCursor;
    if (cursor === null) break;
  }
  expect(seen.sort()).toEqual(['customers', 'places', 'users']);
});

test('estimates count each document once, and include the ramp-up of writes and the read rate limit', {
  tags: 'long',
}, async () => {
  const path = `/projects/${bench.shop.projectId}`;
  const before = await bench.get(`${path}/cost-estimate`);
  expect(before).toMatchObject({ documentCount: 12, full: { reads: 13, durationSeconds: 1 }, restore: { writes: 12 } });
  const change = (settings: object) =>
    bench.app.request('PATCH', `/api/v1${path}`, { ...bench.as, body: { settings } });
  await change({ readRateLimit: 1 });
  expect((await bench.get(`${path}/cost-estimate`)).full.durationSeconds).toBe(13);
  const body = { projectId: bench.shop.projectId, dryRun: true };
  const dry = await bench.app.request('POST', '/api/v1/backups', { ...bench.as, body });
  expect(dry.body.data, dry.text).toMatchObject({
    documentCount: 12,
    estimatedReads: 13,
    estimatedDurationSeconds: 13,
  });
  await change({ readRateLimit: null });
});

test('a tree that was only sampled says so, and so does a dry run, and certain values stay exact', async () => {
  const database = { project: 'shop', database: '(default)' };
  fillFast(bench.sandbox.control.database(database), { collection: 'places', documents: 20_100 });
  const tree = flat(await bench.get(`/projects/${bench.shop.projectId}/collections`));
  expect(tree).toContainEqual(['places', 20_101, true]);
  expect(tree).toContainEqual(['users/*/users', 3, false]);
  const body = { projectId: bench.shop.projectId, dryRun: true };
  const dry = await bench.app.request('POST', '/api/v1/backups', { ...bench.as, body });
  expect(dry.body.data.documentCount).toBe(20_112);
  const restoreSeconds = async (writeRampUp: boolean) => {
    const path = `/projects/${bench.shop.projectId}`;
    await bench.app.request('PATCH', `/api/v1${path}`, { ...bench.as, body: { settings: { writeRampUp } } });
    return (await bench.get(`${path}/cost-estimate`)).restore.durationSeconds;
  };
  // 500 writes a second for the first five minutes, as Firestore asks for.
  expect([await restoreSeconds(false), await restoreSeconds(true)]).toEqual([5, 41]);
  expect(dry.body.data.collections).toContainEqual(
    expect.objectContaining({ path: 'places', documentCount: 20_101, sampled: true }),
  );
  expect(dry.body.data.collections).toContainEqual(
    expect.objectContaining({ path: 'customers/*/orders/*/events', documentCount: 2, sampled: false }),
  );
});
