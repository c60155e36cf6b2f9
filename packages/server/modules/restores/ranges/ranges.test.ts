// @module-tag long
import { fillFast } from '@holdfast/sandbox';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

const database = { project: 'shop', database: '(default)' };

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench({ ...hasty, RESTORE_RANGE_DOCUMENTS: '50' });
  const settings = { settings: { writeRampUp: false } };
  await bench.app.request('PATCH', `/api/v1/projects/${bench.shop.projectId}`, { ...bench.as, body: settings });
});
afterAll(() => bench.close());
beforeEach(() => bench.clear());
afterEach(() => bench.sandbox.control.clearFaults());

const restorePath = (id: string) => `/api/v1/backups/restore/${id}`;
const ended = (id: string) => untilEnded(bench.app, restorePath(id), bench.as);
const post = (path: string, body: object = {}) =>
  bench.app.request('POST', `/api/v1/backups/restore${path}`, { ...bench.as, body });

async function start(body: object): Promise<string> {
  const started = await post('', body);
  expect(started.status, started.text).toBe(202);
  return started.body.data.id;
}

function fill(documents: number): void {
  fillFast(bench.sandbox.control.database(database), { collection: 'items', documents });
}

const pathOf = (n: number) => `items/d${String(n).padStart(9, '0')}`;

async function numbers(): Promise<Map<string, unknown>> {
  const { docs } = await bench.firestore.collection('items').get();
  return new Map(docs.map((document) => [document.ref.path, document.data()]));
}

describe('a restore that is cut into ranges', () => {
  test('writes over what somebody edits meanwhile only after it has saved it: an undo brings the edit back', async () => {
    fill(500);
    const backupId = await bench.backUp();
    const wanted = await numbers();
    const paths = [pathOf(3), pathOf(260), pathOf(499)];
    expect(paths.every((path) => wanted.has(path))).toBe(true);
    for (const path of wanted.keys()) await bench.firestore.doc(path).set({ v: 'before' });
    let go: () => void = () => undefined;
    const until = new Promise<void>((resolve) => {
      go = resolve;
    });
    bench.sandbox.control.addFault({ method: 'BatchWrite', until });
    const id = await start({ backupId });
    const phase = async () => (await bench.get(`/backups/restore/${id}`)).phase;
    await expect.poll(phase).toBe('Restoring');
    for (const path of paths) await bench.firestore.doc(path).set({ v: 'edited' });
    go();
    expect(await ended(id)).toMatchObject({ status: 'completed', documentsRestored: 500, conflicts: 0 });
    expect(await numbers()).toEqual(wanted);
    const undo = await post(`/${id}/undo`);
    expect(await ended(undo.body.data.id)).toMatchObject({ status: 'completed', conflicts: 0 });
    const undone = await numbers();
    for (const [path, data] of undone) expect(data).toEqual({ v: paths.includes(path) ? 'edited' : 'before' });
    expect(undone.size).toBe(500);
  });

  test('leaves what somebody makes meanwhile where existing documents are skipped, and an undo leaves it too', async () => {
    fill(300);
    const backupId = await bench.backUp();
    bench.clear();
    let go: () => void = () => undefined;
    const until = new Promise<void>((resolve) => {
      go = resolve;
    });
    bench.sandbox.control.addFault({ method: 'BatchWrite', until });
    const id = await start({ backupId, options: { mergeMode: 'skip_existing' } });
    const phase = async () => (await bench.get(`/backups/restore/${id}`)).phase;
    await expect.poll(phase).toBe('Restoring');
    await bench.firestore.doc(pathOf(270)).set({ v: 'theirs' });
    go();
    expect(await ended(id)).toMatchObject({ status: 'completed', documentsRestored: 299, conflicts: 0 });
    const undo = await post(`/${id}/undo`);
    expect(await ended(undo.body.data.id)).toMatchObject({ status: 'completed', conflicts: 0 });
    expect(await numbers()).toEqual(new Map([[pathOf(270), { v: 'theirs' }]]));
  });

  test('tries those documents again that the target did not take, and only those', async () => {
    fill(300);
    for (let n = 0; n < 30; n++) await bench.firestore.doc(`${pathOf(n * 10)}/orders/1`).set({ n });
    const backupId = await bench.backUp();
    bench.clear();
    bench.sandbox.control.addFault({ method: 'BatchWrite', status: 'INVALID_ARGUMENT', times: 9 });
    const id = await start({ backupId, options: { safetyBackup: false } });
    const failed = await ended(id);
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'INVALID_STATE', retryable: false } });
    const refused = failed.errors.count;
    expect(refused).toBeGreaterThan(0);
    expect(failed.errors.sample.length).toBe(Math.min(100, refused));
    expect(failed.documentsRestored).toBe(330 - refused);
    const { writes } = bench.sandbox.control.counters();
    expect((await post(`/${id}/resume`)).status).toBe(202);
    expect(await ended(id)).toMatchObject({
      status: 'completed',
      error: null,
      documentsRestored: 330,
      collectionsRestored: 31,
      errors: { count: 0 },
    });
    expect(bench.sandbox.control.counters().writes - writes).toBe(refused);
    expect((await numbers()).size).toBe(300);
  });

  test('that a target refuses altogether fails with its reason, and goes on where it stands with the right', async () => {
    fill(300);
    const backupId = await bench.backUp();
    bench.clear();
    bench.sandbox.control.deny({ access: 'write' });
    const id = await start({ backupId, options: { safetyBackup: false } });
    expect(await ended(id)).toMatchObject({ status: 'failed', error: { code: 'RESTORE_PERMISSION_DENIED' } });
    bench.sandbox.control.clearAccess();
    expect((await post(`/${id}/resume`)).status).toBe(202);
    expect(await ended(id)).toMatchObject({ status: 'completed', documentsRestored: 300 });
  });
});
