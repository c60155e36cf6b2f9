import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fillFast } from '@holdfast/sandbox';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from '../../testing/backup-bench.ts';
import { contentsOf } from '../../testing/firestore-contents.ts';
import { foundOrganization } from '../../testing/people.ts';
import { protectProject, untilEnded } from '../../testing/protected-project.ts';

let bench: BackupBench;
const database = { project: 'shop', database: '(default)' };

beforeAll(async () => {
  bench = await startBackupBench({ JOB_ATTEMPTS: '1', SOURCE_RETRY_ATTEMPTS: '2' });
});
afterAll(() => bench.close());
beforeEach(() => {
  bench.sandbox.control.clearFaults();
  bench.clear();
});

async function fill(documents: Record<string, object>): Promise<void> {
  for (const [path, data] of Object.entries(documents)) await bench.firestore.doc(path).set(data);
}

const post = (path: string, body: object = {}) =>
  bench.app.request('POST', `/api/v1/backups/restore${path}`, { ...bench.as, body });

async function run(path: string, body: object = {}) {
  const started = await post(path, body);
  expect(started.status, started.text).toBe(202);
  return untilEnded(bench.app, `/api/v1/backups/restore/${started.body.data.id}`, bench.as);
}

const contents = () => contentsOf(bench.firestore);
const before = { 'users/ada': { name: 'Ada' }, 'users/bob': { name: 'Bob' }, 'users/ada/orders/1': { total: 1 } };

describe('an undo', () => {
  test('of picked documents finds a destination for its own safety backup', { tags: 'long' }, async () => {
    await fill(before);
    const backupId = await bench.backUp();
    await bench.firestore.doc('users/bob').delete();
    const items = [{ backupId, path: 'users/bob' }];
    const restored = await run('', { items, options: { mergeMode: 'skip_existing' } });
    expect(restored).toMatchObject({ status: 'completed', documentsRestored: 1 });
    expect(await run(`/${restored.id}/undo`)).toMatchObject({ status: 'completed', error: null });
    expect(Object.keys(await contents()).toSorted()).toEqual(['users/ada', 'users/ada/orders/1']);
  });

  test('of what a deleted backup had saved is refused and changes nothing', { tags: 'long' }, async () => {
    await fill(before);
    const backupId = await bench.backUp();
    await fill({ 'users/ada': { name: 'Countess' } });
    const restored = await run('', { backupId });
    const removed = await bench.app.request('DELETE', `/api/v1/backups/${restored.safetyBackupId}`, bench.as);
    expect(removed.status, removed.text).toBe(200);
    for (const dryRun of [true, false]) {
      const refused = await post(`/${restored.id}/undo`, { dryRun });
      expect([refused.status, refused.body.error], refused.text).toMatchObject([
        409,
        { code: 'INVALID_STATE', message: expect.stringContaining(`${restored.safetyBackupId}, which was deleted`) },
      ]);
    }
    expect((await bench.get(`/backups/restore/${restored.id}`)).undoneBy).toBeNull();
  });

  test.each(['overwrite', 'merge', 'skip_existing'])(
    'returns replaced and deleted documents and removes created ones, after mode %s',
    async (mergeMode) => {
      await fill(before);
      const backupId = await bench.backUp();
      bench.clear();
      const changed = {
        'users/ada': { name: 'Countess', born: 1815 },
        'users/new': { name: 'New' },
        'other/x': { y: 1 },
      };
      await fill(changed);
      const done = await run('', { backupId, options: { mergeMode, deleteExtra: true } });
      expect(done.status, JSON.stringify(done.error)).toBe('completed');
      expect(Object.keys(await contents()).sort()).toEqual(Object.keys(before).sort());
      const undone = await run(`/${done.id}/undo`);
      expect(undone, JSON.stringify(undone.error)).toMatchObject({
        status: 'completed',
        undoOf: done.id,
        conflicts: 0,
      });
      expect(await contents()).toEqual(changed);
      const original = await bench.app.request('GET', `/api/v1/backups/restore/${done.id}`, bench.as);
      expect(original.body.data.undoneBy).toBe(undone.id);
      expect((await post(`/${done.id}/undo`)).body.error.code).toBe('INVALID_STATE');
      // An undo is a restore, and can be taken back as one.
      const redone = await run(`/${undone.id}/undo`);
      expect(redone, JSON.stringify(redone.error)).toMatchObject({ status: 'completed', conflicts: 0 });
      expect(Object.keys(await contents()).sort()).toEqual(Object.keys(before).sort());
    },
  );

  test('leaves what somebody changed, deleted or made again since, and says so; force takes it too', async () => {
    await fill({ 'users/a': { v: 1 }, 'users/b': { v: 1 }, 'users/c': { v: 1 } });
    const backupId = await bench.backUp();
    await fill({ 'users/a': { v: 2 }, 'users/b': { v: 2 }, 'users/c': { v: 2 }, 'users/extra': { v: 2 } });
    const done = await run('', { backupId, options: { deleteExtra: true } });
    await bench.firestore.doc('users/a').set({ v: 3 });
    await bench.firestore.doc('users/b').delete();
    await bench.firestore.doc('users/extra').set({ v: 3 });
    const undone = await run(`/${done.id}/undo`);
    expect(undone).toMatchObject({ status: 'completed', conflicts: 3 });
    expect(undone.conflictSample.toSorted()).toEqual(['users/a', 'users/b', 'users/extra']);
    expect(await contents()).toEqual({ 'users/a': { v: 3 }, 'users/c': { v: 2 }, 'users/extra': { v: 3 } });
    const forced = await run(`/${done.id}/undo`, { force: true });
    expect(forced, JSON.stringify(forced.error)).toMatchObject({ status: 'completed', conflicts: 0 });
    expect(await contents()).toEqual({
      'users/a': { v: 2 },
      'users/b': { v: 2 },
      'users/c': { v: 2 },
      'users/extra': { v: 2 },
    });
  });

  test('counts before it writes, as a dry run, and changes nothing', { tags: 'long' }, async () => {
    await fill({ 'users/a': { v: 1 }, 'users/b': { v: 1 } });
    const backupId = await bench.backUp();
    await bench.firestore.doc('users/b').delete();
    await fill({ 'users/c': { v: 1 } });
    const done = await run('', { backupId, options: { deleteExtra: true } });
    const planned = await run(`/${done.id}/undo`, { dryRun: true });
    expect(planned.preview).toMatchObject({ replace: 1, delete: 1, create: 1 });
    expect(Object.keys(await contents()).sort()).toEqual(['users/a', 'users/b']);
  });

  test('tells before it writes what somebody changed since, and what force would do', { tags: 'long' }, async () => {
    const kinds = ['new', 'old', 'gone'].flatMap((kind) => [1, 2, 3].map((n) => `users/${kind}${n}`));
    await fill(Object.fromEntries(kinds.filter((path) => !path.includes('gone')).map((path) => [path, { v: 1 }])));
    const backupId = await bench.backUp();
    bench.clear();
    await fill(Object.fromEntries(kinds.filter((path) => !path.includes('new')).map((path) => [path, { v: 2 }])));
    const done = await run('', { backupId, options: { deleteExtra: true } });
    // Of each kind the first is changed, or made again, and the second is deleted where it can be.
    await fill({ 'users/new1': { v: 3 }, 'users/old1': { v: 3 }, 'users/gone1': { v: 3 } });
    for (const path of ['users/new2', 'users/old2']) await bench.firestore.doc(path).delete();
    const theirs = ['users/gone1', 'users/new1', 'users/new2', 'users/old1', 'users/old2'];
    const current = await contents();

    const planned = await run(`/${done.id}/undo`, { dryRun: true });
    expect(planned.preview).toMatchObject({ replace: 1, delete: 1, create: 2, skip: 0 });
    expect([planned.conflicts, planned.conflictSample.toSorted()]).toEqual([5, theirs]);
    const forced = await run(`/${done.id}/undo`, { dryRun: true, force: true });
    expect(forced).toMatchObject({ preview: { replace: 3, delete: 2, create: 3, skip: 1 }, conflicts: 0 });
    expect(await contents()).toEqual(current);

    const undone = await run(`/${done.id}/undo`);
    expect(undone).toMatchObject({ status: 'completed', conflicts: 5, documentsRestored: 3, documentsDeleted: 1 });
    expect(undone.conflictSample.toSorted()).toEqual(theirs);
  });

  test('is refused where nothing was saved, for a dry run, and to others', async () => {
    await fill({ 'users/a': { v: 1 } });
    const backupId = await bench.backUp();
    const unsafe = await run('', { backupId, options: { safetyBackup: false } });
    expect((await post(`/${unsafe.id}/undo`)).body.error.code).toBe('INVALID_STATE');
    const dry = await run('', { backupId, options: { dryRun: true } });
    expect((await post(`/${dry.id}/undo`)).body.error.code).toBe('INVALID_STATE');
    const other = await protectProject(bench.app, { sourceProjectId: 'other', firestore: bench.sandbox });
    const foreign = await bench.app.request('POST', `/api/v1/backups/restore/${dry.id}/undo`, {
      token: other.owner.token,
      organizationId: other.organizationId,
      body: {},
    });
    expect(foreign.body.error.code).toBe('RESTORE_NOT_FOUND');
  });

  test.each(['overwrite', 'merge', 'skip_existing'])(
    'takes back what a restore wrote last and never heard of (%s)',
    async (mergeMode) => {
      await fill({ 'users/a': { v: 1 }, 'users/b': { v: 1, only: 'backup' } });
      const backupId = await bench.backUp();
      bench.clear();
      const changed = { 'users/b': { v: 2 }, 'users/other': { v: 2 }, 'users/same': { v: 1 } };
      await fill(changed);
      // The writes take effect; their answers are lost until nobody tries any more.
      bench.sandbox.control.addFault({ method: 'BatchWrite', status: 'UNAVAILABLE', afterEffect: true });
      const failed = await run('', { backupId, options: { mergeMode, deleteExtra: true } });
      expect(failed.status).toBe('failed');
      bench.sandbox.control.clearFaults();
      expect(await contents()).toMatchObject({ 'users/a': { v: 1 } });
      const undone = await run(`/${failed.id}/undo`);
      expect(undone, JSON.stringify(undone.error)).toMatchObject({ status: 'completed', conflicts: 0 });
      expect(await contents()).toEqual(changed);
    },
  );

  describe('of a restore that broke off, when what it wrote from is', () => {
    const lost = {
      damaged: async (backupId: string) => {
        const folder = join(bench.app.folder, 'storage', bench.as.organizationId, 'backups', backupId, 'segments');
        for (const segment of await readdir(folder)) await rm(join(folder, segment));
      },
      deleted: (backupId: string) => bench.app.request('DELETE', `/api/v1/backups/${backupId}`, bench.as),
    };
    test.each(['damaged', 'deleted'] as const)(
      '%s since, says that its last writes cannot be told, and takes back the rest by force',
      async (how) => {
        await fill({ 'users/a': { v: 1 }, 'users/b': { v: 1 } });
        const backupId = await bench.backUp();
        bench.clear();
        bench.sandbox.control.addFault({ method: 'BatchWrite', status: 'UNAVAILABLE' });
        const broken = await run('', { backupId, options: { mergeMode: 'skip_existing' } });
        expect(broken.status).toBe('failed');
        bench.sandbox.control.clearFaults();
        await lost[how](backupId);
        const refused = await run(`/${broken.id}/undo`);
        expect(refused).toMatchObject({
          status: 'failed',
          error: {
            code: 'INTEGRITY_ERROR',
            message: expect.stringContaining('An undo with force takes back the rest'),
          },
        });
        expect(await run(`/${broken.id}/undo`, { force: true })).toMatchObject({ status: 'completed', error: null });
        expect(await contents()).toEqual({});
        const late = await post(`/${refused.id}/resume`);
        expect([late.status, late.body.error.code]).toEqual([409, 'INVALID_STATE']);
      },
    );
  });

  test('as a dry run changes nothing for a resume and a later undo', { tags: 'long' }, async () => {
    await fill({ 'users/a': { v: 1 }, 'users/b': { v: 1 } });
    const backupId = await bench.backUp();
    bench.clear();
    const changed = { 'users/b': { v: 2 }, 'users/other': { v: 2 } };
    await fill(changed);
    bench.sandbox.control.addFault({ method: 'BatchWrite', status: 'UNAVAILABLE', afterEffect: true });
    const failed = await run('', { backupId, options: { deleteExtra: true } });
    expect(failed.status).toBe('failed');
    bench.sandbox.control.clearFaults();
    const tried = await run(`/${failed.id}/undo`, { dryRun: true });
    expect(tried).toMatchObject({ status: 'completed', preview: { delete: 1, replace: 1 } });
    const resumed = await run(`/${failed.id}/resume`);
    expect(resumed, JSON.stringify(resumed.error)).toMatchObject({ status: 'completed' });
    const again = await run(`/${failed.id}/undo`, { dryRun: true });
    expect(again).toMatchObject({ preview: { delete: 1, replace: 1, create: 1 } });
    const undone = await run(`/${failed.id}/undo`);
    expect(undone, JSON.stringify(undone.error)).toMatchObject({ status: 'completed', conflicts: 0 });
    expect(await contents()).toEqual(changed);
  });

  test('works after a change of the encryption key', { tags: 'long' }, async () => {
    await fill({ 'users/a': { v: 1 } });
    const backupId = await bench.backUp();
    await fill({ 'users/a': { v: 2 } });
    const done = await run('', { backupId });
    const rotated = await bench.app.request('POST', '/api/v1/organizations/current/encryption-key/rotate', {
      ...bench.as,
      body: {},
    });
    expect(rotated.status, rotated.text).toBe(200);
    expect(await run(`/${done.id}/undo`)).toMatchObject({ status: 'completed', conflicts: 0 });
    expect(await contents()).toEqual({ 'users/a': { v: 2 } });
  });
});

describe('deleteExtra', () => {
  test('with a backup of some collections deletes nothing outside them', { tags: 'long' }, async () => {
    await fill({ 'users/a': { v: 1 }, 'users/b': { v: 1 }, 'orders/1': { v: 1 } });
    const backupId = await bench.backUp({ collections: ['users'] });
    await fill({ 'users/new': { v: 2 }, 'orders/2': { v: 2 } });
    const done = await run('', { backupId, options: { deleteExtra: true } });
    expect(done).toMatchObject({ status: 'completed' });
    expect(Object.keys(await contents()).sort()).toEqual(['orders/1', 'orders/2', 'users/a', 'users/b']);
  });

  test('wider than the backup, or from single documents, is refused at once', { tags: 'long' }, async () => {
    await fill({ 'users/a': { v: 1 }, 'orders/1': { v: 1 } });
    const backupId = await bench.backUp({ collections: ['users'] });
    const wider = await post('', { backupId, collections: ['orders'], options: { deleteExtra: true } });
    expect(wider.body.error).toMatchObject({ code: 'VALIDATION_ERROR', details: { field: 'collections' } });
    const single = await post('', { backupId, documentIds: ['users/a'], options: { deleteExtra: true } });
    expect([single.status, single.body.error.details]).toEqual([
      400,
      { field: 'options.deleteExtra', reason: 'single documents are restored: nothing else is deleted' },
    ]);
    const one = await run('', { backupId, documentIds: ['users/a'] });
    const safety = await bench.app.request('GET', `/api/v1/backups/${one.safetyBackupId}`, bench.as);
    expect(safety.body.data.scope.documents).toEqual({ count: 1, paths: ['users/a'] });
    const wipe = await post('', { backupId: one.safetyBackupId, options: { deleteExtra: true } });
    expect(wipe.body.error).toMatchObject({ code: 'VALIDATION_ERROR' });
    expect(Object.keys(await contents()).sort()).toEqual(['orders/1', 'users/a']);
  });
});

test('documents may be named in any order, and those that are not there are told', { tags: 'long' }, async () => {
  await fill({ 'users/a': { v: 1 }, 'users/b': { v: 1 }, 'users/c': { v: 1 } });
  const backupId = await bench.backUp();
  await fill({ 'users/a': { v: 2 }, 'users/b': { v: 2 }, 'users/c': { v: 2 } });
  const done = await run('', { backupId, documentIds: ['users/c', 'users/a', 'users/b'] });
  expect(done, JSON.stringify(done.error)).toMatchObject({ status: 'completed', documentsRestored: 3 });
  expect((await run('', { backupId, documentIds: ['users/none'] })).error.code).toBe('DOCUMENT_NOT_FOUND');
  expect((await run('', { backupId, collections: ['none'] })).error.code).toBe('COLLECTION_NOT_FOUND');
});

test('an empty collection in the scope of a backup is no obstacle to a restore', { tags: 'long' }, async () => {
  await fill({ 'users/a': { v: 1 } });
  const partly = await bench.backUp({ collections: ['users', 'none'], includeSubcollections: false });
  await fill({ 'users/a': { v: 2 } });
  const done = await run('', { backupId: partly });
  expect(done, JSON.stringify(done.error)).toMatchObject({ status: 'completed', documentsRestored: 1 });
  expect(await run('', { backupId: partly, documentIds: ['users/a'] })).toMatchObject({ status: 'completed' });
  // A safety backup of documents that were not there.
  await bench.firestore.doc('users/a').delete();
  const again = await run('', { backupId: partly });
  const empty = await run('', { backupId: again.safetyBackupId });
  expect(empty, JSON.stringify(empty.error)).toMatchObject({ status: 'completed', documentsRestored: 0 });
  expect(await contents()).toEqual({ 'users/a': { v: 1 } });
});

test('a basket of several backups comes back in one restore, with one undo', { tags: 'long' }, async () => {
  await fill({ 'users/a': { v: 1 }, 'orders/1': { v: 1 } });
  const first = await bench.backUp();
  await fill({ 'users/a': { v: 2 }, 'orders/1': { v: 2 } });
  const second = await bench.backUp();
  await fill({ 'users/a': { v: 3 }, 'orders/1': { v: 3 } });
  const items = [
    { backupId: first, path: 'users/a' },
    { backupId: second, path: 'orders/1' },
  ];
  const done = await run('', { items });
  expect(done, JSON.stringify(done.error)).toMatchObject({ status: 'completed', documentsRestored: 2 });
  expect(await contents()).toEqual({ 'users/a': { v: 1 }, 'orders/1': { v: 2 } });
  await run(`/${done.id}/undo`);
  expect(await contents()).toEqual({ 'users/a': { v: 3 }, 'orders/1': { v: 3 } });
});

test('an undo needs journal and safety backup, not the restored backup', { tags: 'long' }, async () => {
  await fill({ 'users/a': { v: 1 }, 'users/b': { v: 1 } });
  const backupId = await bench.backUp();
  await fill({ 'users/a': { v: 2 }, 'users/c': { v: 2 } });
  const done = await run('', { backupId, options: { deleteExtra: true } });
  expect(await contents()).toEqual({ 'users/a': { v: 1 }, 'users/b': { v: 1 } });
  const removed = await bench.app.request('DELETE', `/api/v1/backups/${backupId}`, bench.as);
  expect(removed.status, removed.text).toBe(200);
  const gone = async () => (await bench.app.request('GET', `/api/v1/backups/${backupId}`, bench.as)).status;
  await expect.poll(gone).toBe(404);
  expect(await run(`/${done.id}/undo`)).toMatchObject({ status: 'completed', conflicts: 0 });
  expect(await contents()).toEqual({ 'users/a': { v: 2 }, 'users/b': { v: 1 }, 'users/c': { v: 2 } });
});

test('a cancelled restore writes nothing more, runs when it is resumed at once, and can be undone', async () => {
  fillFast(bench.sandbox.control.database(database), { collection: 'c', documents: 3000 });
  const backupId = await bench.backUp();
  bench.clear();
  await fill({ 'c/d000000001': { v: 2 } });
  // The ramp-up of a cold database makes it slow enough to be stopped in the middle.
  const started = await post('', { backupId });
  const path = `/api/v1/backups/restore/${started.body.data.id}`;
  await expect
    .poll(async () => (await bench.app.request('GET', path, bench.as)).body.data.documentsRestored)
    .toBeGreaterThan(0);
  const cancelled = await bench.app.request('POST', `${path}/cancel`, { ...bench.as, body: {} });
  expect(cancelled.body.data.status).toBe('cancelled');
  const count = async () => (await bench.firestore.collection('c').count().get()).data().count;
  const atCancel = await count();
  expect(atCancel).toBe(cancelled.body.data.documentsRestored);
  const resumed = await bench.app.request('POST', `${path}/resume`, { ...bench.as, body: {} });
  expect(resumed.status, resumed.text).toBe(202);
  await expect
    .poll(async () => (await bench.app.request('GET', path, bench.as)).body.data.documentsRestored)
    .toBeGreaterThan(atCancel);
  await bench.app.request('POST', `${path}/cancel`, { ...bench.as, body: {} });
  const undone = await run(`/${started.body.data.id}/undo`);
  expect(undone, JSON.stringify(undone.error)).toMatchObject({ status: 'completed', conflicts: 0 });
  expect(await contents()).toEqual({ 'c/d000000001': { v: 2 } });
});

test('an undo works in the organization that the project moved to, and back again', { tags: 'long' }, async () => {
  await fill({ 'users/a': { v: 1 } });
  const backupId = await bench.backUp();
  await fill({ 'users/a': { v: 2 } });
  const done = await run('', { backupId });
  const again = await run('', { backupId });
  const home = bench.as;
  const away = { token: home.token, organizationId: await foundOrganization(bench.app, bench.shop.owner) };
  const move = async (to: typeof home) => {
    const body = { organizationId: to.organizationId };
    const moved = await bench.app.request('PATCH', `/api/v1/projects/${bench.shop.projectId}`, { ...bench.as, body });
    expect(moved.status, moved.text).toBe(200);
    bench.as = to;
  };
  try {
    await move(away);
    expect(await run(`/${again.id}/undo`)).toMatchObject({ status: 'completed', conflicts: 0 });
    expect(await contents()).toEqual({ 'users/a': { v: 1 } });
    await move(home);
    expect(await run(`/${done.id}/undo`, { force: true })).toMatchObject({ status: 'completed' });
    expect(await contents()).toEqual({ 'users/a': { v: 2 } });
  } finally {
    bench.as = home;
  }
});
