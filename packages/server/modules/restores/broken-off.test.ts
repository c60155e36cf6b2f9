import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../testing/backup-bench.ts';
import { untilEnded } from '../../testing/protected-project.ts';

/** Restores that broke off, and whose backup is gone since: the journal alone is left to take them back by. */
let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench({ ...hasty, RESTORE_RANGE_DOCUMENTS: '100' });
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

/** A restore of so many documents that ends after its first request, the others with this status. */
async function breakOff(
  documents: number,
  fault: { status: 'PERMISSION_DENIED' | 'UNAVAILABLE'; afterEffect?: boolean },
) {
  await fill(documents, 1);
  const backupId = await bench.backUp();
  await fill(documents, 2);
  bench.sandbox.control.addFault({ method: 'BatchWrite', skip: 1, ...fault });
  const broken = await run('', { backupId });
  bench.sandbox.control.clearFaults();
  expect(broken).toMatchObject({ status: 'failed' });
  expect(broken.documentsRestored).toBeGreaterThan(0);
  expect(broken.documentsRestored).toBeLessThan(documents);
  const gone = await bench.app.request('DELETE', `/api/v1/backups/${backupId}`, bench.as);
  expect(gone.status, gone.text).toBe(200);
  return broken;
}

test.each([
  ['in one piece', 90],
  ['in ranges', 250],
])(
  'a restore %s that was refused half-way is undone without force, and what people changed since stays',
  async (_, documents) => {
    const broken = await breakOff(documents, { status: 'PERMISSION_DENIED' });
    const [edited] = [...(await versions())].find(([, version]) => version === 1)!;
    await bench.firestore.doc(edited).set({ version: 3 });
    const undo = await run(`/${broken.id}/undo`);
    expect(undo, JSON.stringify(undo.error)).toMatchObject({ status: 'completed', conflicts: 1 });
    const now = await versions();
    expect(now.size).toBe(documents);
    expect([...now].filter(([, version]) => version !== 2)).toEqual([[edited, 3]]);
  },
  120_000,
);

test.each([
  ['in one piece', 90],
  ['in ranges', 250],
])(
  'a restore %s whose last answers were lost is not undone without force',
  async (_, documents) => {
    const broken = await breakOff(documents, { status: 'UNAVAILABLE', afterEffect: true });
    const undo = await run(`/${broken.id}/undo`);
    expect(undo).toMatchObject({ status: 'failed', error: { code: 'INTEGRITY_ERROR' } });
  },
  120_000,
);
