import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from '../../testing/backup-bench.ts';
import { contentsOf } from '../../testing/firestore-contents.ts';
import { untilEnded } from '../../testing/protected-project.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench();
});
afterAll(() => bench.close());
beforeEach(() => bench.clear());

const post = (path: string, body: object) =>
  bench.app.request('POST', `/api/v1/backups/restore${path}`, { ...bench.as, body });

async function run(path: string, body: object) {
  const started = await post(path, body);
  expect(started.status, started.text).toBe(202);
  return untilEnded(bench.app, `/api/v1/backups/restore/${started.body.data.id}`, bench.as);
}

const contents = () => contentsOf(bench.firestore);
const options = { includeSubcollections: true };

describe('a restore of documents with all that lies below them', () => {
  test('takes that and nothing beside it, and is undone as one', { tags: 'long' }, async () => {
    const below = ['users/7', 'users/7/orders/1', 'users/7/orders/1/lines/2', 'gone/x/left/1'];
    const beside = ['users/70/orders/1', 'users/6', 'users/7-a', 'orders/7', 'gone/xy'];
    for (const path of [...below, ...beside]) await bench.firestore.doc(path).set({ n: 1 });
    const backupId = await bench.backUp();
    await bench.firestore.doc('users/7/orders/1').delete();
    for (const path of [below[0]!, below[2]!, below[3]!, ...beside]) await bench.firestore.doc(path).set({ n: 2 });
    await bench.firestore.doc('users/7/new/1').set({ n: 2 });
    const changed = await contents();
    const documentIds = ['users/7', 'gone/x'];
    const tried = await run('', { backupId, documentIds, options: { ...options, dryRun: true } });
    expect(tried).toMatchObject({ status: 'completed', preview: { create: 1, replace: 3, delete: 0 } });
    const done = await run('', { backupId, documentIds, options });
    expect(done).toMatchObject({ status: 'completed', documentsRestored: 4, documentIds, includeSubcollections: true });
    expect(await contents()).toEqual({ ...changed, ...Object.fromEntries(below.map((path) => [path, { n: 1 }])) });
    expect(await run(`/${done.id}/undo`, {})).toMatchObject({ status: 'completed', conflicts: 0 });
    expect(await contents()).toEqual(changed);
  });

  test('knows documents by number from their neighbours', async () => {
    const numbers = ['users/__id7__', 'users/__id7__/orders/__id-3__', 'users/__id8__', 'users/__id70__/orders/1'];
    for (const path of numbers) await bench.firestore.doc(path).set({ n: 1 });
    const backupId = await bench.backUp();
    bench.clear();
    const done = await run('', { backupId, documentIds: ['users/__id7__'], options });
    expect(done).toMatchObject({ status: 'completed', documentsRestored: 2 });
  });

  test('takes one that lies below another, and is only a way to others, as well', async () => {
    await bench.firestore.doc('users/ada/rooms/gone/beds/1').set({ n: 1 });
    const backupId = await bench.backUp();
    bench.clear();
    const done = await run('', { backupId, documentIds: ['users/ada', 'users/ada/rooms/gone'], options });
    expect(done, JSON.stringify(done.error)).toMatchObject({ status: 'completed', documentsRestored: 1 });
  });

  test('fails by name where the backup holds neither them nor anything below, before the first write', {
    tags: 'long',
  }, async () => {
    await bench.firestore.doc('users/ada/orders/1').set({ n: 1 });
    const backupId = await bench.backUp();
    bench.clear();
    const missing = await run('', { backupId, documentIds: ['users/ada', 'users/eve'], options });
    expect([missing.status, missing.error.code]).toEqual(['failed', 'DOCUMENT_NOT_FOUND']);
    expect(missing.error.message).toContain('users/eve');
    expect(await contents()).toEqual({});
  });

  test('is refused of a backup that was made without subcollections, and with deleteExtra', async () => {
    await bench.firestore.doc('users/ada').set({ n: 1 });
    const flat = await bench.backUp({ includeSubcollections: false });
    const whole = await bench.backUp();
    const documentIds = ['users/ada'];
    for (const [body, field] of [
      [{ backupId: flat, documentIds, options }, 'options.includeSubcollections'],
      [{ backupId: whole, documentIds, options: { ...options, deleteExtra: true } }, 'options.deleteExtra'],
    ] as const) {
      const refused = await post('', body);
      expect([refused.status, refused.body.error.details.field], refused.text).toEqual([400, field]);
    }
  });
});
