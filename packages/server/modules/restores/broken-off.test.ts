// @module-tag long
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../testing/backup-bench.ts';
import { asOwner } from '../../testing/people.ts';
import { untilEnded } from '../../testing/protected-project.ts';

/** Restores that broke off, and whose backup is gone since: the journal alone is left to take them back by. */
let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench({ ...hasty, JOB_ATTEMPTS: '2', RESTORE_RANGE_DOCUMENTS: '160' });
});
afterAll(() => bench.close());
beforeEach(() => {
  bench.sandbox.control.clearFaults();
  bench.clear();
});

async function versions(): Promise<Map<string, number>> {
  const { docs } = await bench.firestore.collection('users').get();
  return new Map(docs.map((document) => [document.ref.path, document.get('version')]));
}

async function run(path: string, body: object = {}) {
  const started = await bench.app.request('POST', `/api/v1/backups/restore${path}`, { ...bench.as, body });
  expect(started.status, started.text).toBe(202);
  return untilEnded(bench.app, `/api/v1/backups/restore/${started.body.data.id}`, bench.as);
}

async function fill(documents: number, version: number): Promise<void> {
  const batch = bench.firestore.batch();
  for (let n = 0; n < documents; n++) batch.set(bench.firestore.doc(`users/${n}`), { n, version });
  await batch.commit();
}

interface Fault {
  status: 'PERMISSION_DENIED' | 'UNAVAILABLE';
  afterEffect?: boolean;
}

/** Does something of which the first request to write is taken, and all others end with this status. */
async function breakOff(fault: Fault, work: () => ReturnType<typeof run>) {
  bench.sandbox.control.addFault({ method: 'BatchWrite', skip: 1, ...fault });
  const broken = await work();
  bench.sandbox.control.clearFaults();
  expect(broken, JSON.stringify(broken)).toMatchObject({ status: 'failed' });
  return broken;
}

async function backedUp(documents: number): Promise<string> {
  await fill(documents, 1);
  const backupId = await bench.backUp();
  await fill(documents, 2);
  return backupId;
}

async function remove(backupId: string): Promise<void> {
  const gone = await bench.app.request('DELETE', `/api/v1/backups/${backupId}`, bench.as);
  expect(gone.status, gone.text).toBe(200);
}

/** A restore of so many documents that ends after its first request, and whose backup is gone then. */
async function brokenRestore(documents: number, fault: Fault) {
  const backupId = await backedUp(documents);
  const broken = await breakOff(fault, () => run('', { backupId }));
  expect(broken.documentsRestored).toBeGreaterThan(0);
  expect(broken.documentsRestored).toBeLessThan(documents);
  await remove(backupId);
  return broken;
}

/** Without force: everything is as it was, and what people changed since stays. */
async function expectUndone({ id }: { id: string }, documents: number): Promise<void> {
  const [edited] = [...(await versions())].find(([, version]) => version === 1)!;
  await bench.firestore.doc(edited).set({ version: 3 });
  const undo = await run(`/${id}/undo`);
  expect(undo, JSON.stringify(undo.error)).toMatchObject({ status: 'completed', conflicts: 1 });
  const now = await versions();
  expect(now.size).toBe(documents);
  expect([...now].filter(([, version]) => version !== 2)).toEqual([[edited, 3]]);
}

const pieces = [
  ['in one piece', 150],
  ['in ranges', 400],
] as const;

test.each(pieces)(
  'a restore %s that was refused half-way is undone without force, and what people changed since stays',
  async (_, documents) => {
    await expectUndone(await brokenRestore(documents, { status: 'PERMISSION_DENIED' }), documents);
  },
);

test.each(pieces)(
  'a restore %s that was tried again by itself before it was refused is undone without force',
  async (_, documents) => {
    const backupId = await backedUp(documents);
    bench.sandbox.control.addFault({ method: 'RunQuery', status: 'UNAVAILABLE', times: 2 });
    const broken = await breakOff({ status: 'PERMISSION_DENIED' }, () => run('', { backupId }));
    expect(broken.documentsRestored).toBeGreaterThan(0);
    await remove(backupId);
    await expectUndone(broken, documents);
  },
);

test.each(pieces)('a restore %s that was resumed and refused again is undone without force', async (_, documents) => {
  const backupId = await backedUp(documents);
  const first = await breakOff({ status: 'PERMISSION_DENIED' }, () => run('', { backupId }));
  const second = await breakOff({ status: 'PERMISSION_DENIED' }, () => run(`/${first.id}/resume`));
  expect(second.documentsRestored).toBeGreaterThan(first.documentsRestored);
  expect(second.documentsRestored).toBeLessThan(documents);
  await remove(backupId);
  await expectUndone(second, documents);
});

test.each(pieces)(
  'a restore %s of which one run lost its last answers is not undone without force, however the next one ended',
  async (_, documents) => {
    const backupId = await backedUp(documents);
    const first = await breakOff({ status: 'UNAVAILABLE', afterEffect: true }, () => run('', { backupId }));
    bench.sandbox.control.addFault({ method: 'BatchWrite', status: 'PERMISSION_DENIED' });
    const second = await run(`/${first.id}/resume`);
    bench.sandbox.control.clearFaults();
    expect(second).toMatchObject({ status: 'failed' });
    await remove(backupId);
    expect(await run(`/${second.id}/undo`)).toMatchObject({ status: 'failed', error: { code: 'INTEGRITY_ERROR' } });
  },
);

test('an undo takes back writes of a resume whose answers were lost', async () => {
  const backupId = await backedUp(30);
  // One write of the request is refused for good, and found by halving.
  bench.sandbox.control.addFault({ method: 'BatchWrite', status: 'INVALID_ARGUMENT', times: 6 });
  const partly = await run('', { backupId });
  bench.sandbox.control.clearFaults();
  expect(partly).toMatchObject({ status: 'failed', errors: { count: expect.any(Number) } });
  bench.sandbox.control.addFault({ method: 'BatchWrite', status: 'UNAVAILABLE', afterEffect: true });
  const lost = await run(`/${partly.id}/resume`);
  bench.sandbox.control.clearFaults();
  expect(lost).toMatchObject({ status: 'failed' });
  expect([...(await versions()).values()].every((version) => version === 1)).toBe(true);
  const undo = await run(`/${partly.id}/undo`);
  expect(undo, JSON.stringify(undo.error)).toMatchObject({ status: 'completed', conflicts: 0 });
  expect([...(await versions()).values()].every((version) => version === 2)).toBe(true);
});

test.each(pieces)(
  'a restore %s that lost its last answers and is cancelled before it is tried again is taken back whole by an undo',
  async (_, documents) => {
    const backupId = await backedUp(documents);
    bench.sandbox.control.addFault({ method: 'BatchWrite', skip: 1, status: 'UNAVAILABLE', afterEffect: true });
    const started = await bench.app.request('POST', '/api/v1/backups/restore', { ...bench.as, body: { backupId } });
    const { id } = started.body.data;
    await asOwner(bench.app.databaseUrl, (client) =>
      expect
        .poll(async () => (await client.query('select failures from restores where id = $1', [id])).rows, {
          timeout: 60_000,
        })
        .toEqual([{ failures: 1 }]),
    );
    const cancelled = await bench.app.request('POST', `/api/v1/backups/restore/${id}/cancel`, bench.as);
    bench.sandbox.control.clearFaults();
    expect(cancelled.body.data, cancelled.text).toMatchObject({ status: 'cancelled' });
    expect([...(await versions()).values()]).toContain(1);
    const undo = await run(`/${id}/undo`);
    expect(undo, JSON.stringify(undo.error)).toMatchObject({ status: 'completed', conflicts: 0 });
    expect([...(await versions()).values()].filter((version) => version !== 2)).toEqual([]);
  },
);

test.each(pieces)('a restore %s whose last answers were lost is not undone without force', async (_, documents) => {
  const broken = await brokenRestore(documents, { status: 'UNAVAILABLE', afterEffect: true });
  const undo = await run(`/${broken.id}/undo`);
  expect(undo).toMatchObject({ status: 'failed', error: { code: 'INTEGRITY_ERROR' } });
});
