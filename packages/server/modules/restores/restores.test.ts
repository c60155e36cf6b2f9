import { Firestore } from '@google-cloud/firestore';
import { loadSample } from '@holdfast/sandbox';
import { compactVerify, createLocalJWKSet } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type BackupBench, startBackupBench } from '../../testing/backup-bench.ts';
import { untilEnded } from '../../testing/protected-project.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench();
});
afterAll(() => bench.close());
beforeEach(() => bench.clear());

async function restore(body: object) {
  const started = await bench.app.request('POST', '/api/v1/backups/restore', { ...bench.as, body });
  expect(started.status, started.text).toBe(202);
  expect(started.headers.get('location')).toBe(`/api/v1/backups/restore/${started.body.data.id}`);
  return untilEnded(bench.app, `/api/v1/backups/restore/${started.body.data.id}`, bench.as);
}

async function contents(): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const collection of await bench.firestore.listCollections())
    for (const document of (await collection.get()).docs) found[document.ref.path] = document.data();
  return found;
}

describe('a restore', () => {
  test('brings a wiped database back, byte for byte, and says so phase by phase', async () => {
    loadSample(bench.sandbox.control.database({ project: 'shop', database: '(default)' }), {
      seed: 3,
      documents: 1500,
    });
    const backupId = await bench.backUp();
    bench.clear();
    const done = await restore({ backupId, options: { safetyBackup: false } });
    expect(done).toMatchObject({
      status: 'completed',
      displayStatus: 'Success',
      phase: 'Completed',
      mergeMode: 'overwrite',
      documentsRestored: 1500,
      errors: { count: 0, sample: [] },
      error: null,
    });
    const compared = await bench.backUp();
    const [before, after] = await Promise.all(
      [backupId, compared].map((id) => bench.app.request('GET', `/api/v1/backups/${id}`, bench.as)),
    );
    expect(after?.body.data.documentCount).toBe(before?.body.data.documentCount);
    const drill = await bench.app.request('POST', `/api/v1/backups/${compared}/drill`, { ...bench.as, body: {} });
    expect(drill.status, drill.text).toBe(202);
  });

  test('of one document leaves the others alone', async () => {
    await bench.firestore.doc('users/ada').set({ name: 'Ada', deep: { kept: true } });
    await bench.firestore.doc('users/bob').set({ name: 'Bob' });
    const backupId = await bench.backUp();
    await bench.firestore.doc('users/ada').set({ name: 'Mallory' });
    await bench.firestore.doc('users/bob').set({ name: 'Robert' });
    const done = await restore({ backupId, documentIds: ['users/ada'] });
    expect(done).toMatchObject({ status: 'completed', documentsRestored: 1, collectionsRestored: 1 });
    expect(await contents()).toEqual({
      'users/ada': { name: 'Ada', deep: { kept: true } },
      'users/bob': { name: 'Robert' },
    });
    const project = await bench.app.request('GET', `/api/v1/projects/${bench.shop.projectId}`, bench.as);
    expect(project.body.data.statistics).toMatchObject({ documentCount: 2, lastBackupStatus: 'completed' });
  });

  test('can be undone with the safety backup it took first', async () => {
    await bench.firestore.doc('users/ada').set({ name: 'Ada' });
    const backupId = await bench.backUp();
    await bench.firestore.doc('users/ada').set({ name: 'Ada Lovelace' });
    await bench.firestore.doc('users/new').set({ name: 'Newcomer' });
    const done = await restore({ backupId, options: { deleteExtra: true } });
    expect(done.status, JSON.stringify(done.error)).toBe('completed');
    expect(await contents()).toEqual({ 'users/ada': { name: 'Ada' } });
    const safety = await bench.app.request('GET', `/api/v1/backups/${done.safetyBackupId}`, bench.as);
    expect(safety.body.data).toMatchObject({ trigger: 'pre_restore', status: 'completed', documentCount: 2 });
    await restore({ backupId: done.safetyBackupId, options: { safetyBackup: false } });
    expect(await contents()).toEqual({ 'users/ada': { name: 'Ada Lovelace' }, 'users/new': { name: 'Newcomer' } });
  });

  test.each([
    ['overwrite', { a: { x: 1 }, list: [1] }],
    ['skip_existing', { a: { y: 2 }, list: [2], mine: true }],
    ['merge', { a: { x: 1, y: 2 }, list: [1], mine: true }],
  ])('in mode %s does what its name says', async (mergeMode, expected) => {
    await bench.firestore.doc('users/ada').set({ a: { x: 1 }, list: [1] });
    await bench.firestore.doc('users/gone').set({ back: true });
    const backupId = await bench.backUp();
    await bench.firestore.doc('users/gone').delete();
    await bench.firestore.doc('users/ada').set({ a: { y: 2 }, list: [2], mine: true });
    const preview = await restore({ backupId, options: { mergeMode, dryRun: true } });
    expect(preview).toMatchObject({ status: 'completed', dryRun: true, documentsRestored: 0 });
    const existing = { overwrite: 'replace', skip_existing: 'skip', merge: 'merge' }[mergeMode] as string;
    expect(preview.preview).toMatchObject({ create: 1, replace: 0, merge: 0, skip: 0, delete: 0, [existing]: 1 });
    const done = await restore({ backupId, options: { mergeMode } });
    expect(done.status, JSON.stringify(done.error)).toBe('completed');
    expect(await contents()).toEqual({ 'users/ada': expected, 'users/gone': { back: true } });
  });

  test('into another project takes its references along', async () => {
    await bench.firestore.doc('users/ada').set({ friend: bench.firestore.doc('users/bob') });
    const backupId = await bench.backUp();
    const host = `${bench.sandbox.host}:${bench.sandbox.port}`;
    const created = await bench.app.request('POST', '/api/v1/projects', {
      ...bench.as,
      body: { name: 'Staging', sourceProjectId: 'staging', connection: { type: 'emulator', host } },
    });
    const done = await restore({ backupId, targetProjectId: created.body.data.id });
    expect(done.status, JSON.stringify(done.error)).toBe('completed');
    const staging = new Firestore({ projectId: 'staging' });
    const friend = (await staging.doc('users/ada').get()).get('friend');
    expect(friend.firestore.projectId).toBe('staging');
    expect(friend.path).toBe('users/bob');
    await staging.terminate();
  });

  test('of a basket from backups of a project that was disconnected goes where it is told to', async () => {
    const connection = { type: 'emulator', host: bench.sandbox.address };
    const body = { name: 'Leaving', sourceProjectId: 'leaving', connection };
    const { id: projectId } = (await bench.app.request('POST', '/api/v1/projects', { ...bench.as, body })).body.data;
    const leaving = new Firestore({ projectId: 'leaving' });
    await leaving.doc('users/ada').set({ name: 'Ada' });
    await leaving.terminate();
    const items = [{ backupId: await bench.backUp({ projectId }), path: 'users/ada' }];
    await bench.app.request('DELETE', `/api/v1/projects/${projectId}`, bench.as);
    const nowhere = await bench.app.request('POST', '/api/v1/backups/restore', { ...bench.as, body: { items } });
    expect(nowhere.body.error).toMatchObject({
      code: 'PROJECT_NOT_FOUND',
      message: expect.stringContaining('targetProjectId'),
    });
    const done = await restore({ items, targetProjectId: bench.shop.projectId });
    expect(done.status, JSON.stringify(done.error)).toBe('completed');
    expect(await contents()).toEqual({ 'users/ada': { name: 'Ada' } });
  });

  test('of a basket takes documents from before and after its project was connected anew, and from no other', async () => {
    const connect = async (sourceProjectId: string): Promise<string> => {
      const connection = { type: 'emulator', host: bench.sandbox.address };
      const body = { name: sourceProjectId, sourceProjectId, connection };
      return (await bench.app.request('POST', '/api/v1/projects', { ...bench.as, body })).body.data.id;
    };
    const old = await connect('again');
    const again = new Firestore({ projectId: 'again' });
    await again.doc('users/ada').set({ n: 1 });
    await again.doc('users/bob').set({ n: 1 });
    const before = await bench.backUp({ projectId: old });
    await bench.app.request('DELETE', `/api/v1/projects/${old}`, bench.as);
    const anew = await connect('again');
    await again.doc('users/bob').set({ n: 2 });
    const after = await bench.backUp({ projectId: anew });
    for (const path of ['users/ada', 'users/bob']) await again.doc(path).set({ n: 3 });
    const items = [
      { backupId: before, path: 'users/ada' },
      { backupId: after, path: 'users/bob' },
    ];
    const done = await restore({ items });
    expect(done, JSON.stringify(done.error)).toMatchObject({ status: 'completed', targetProjectId: anew });
    const found = (await again.collection('users').get()).docs.map((document) => [document.id, document.get('n')]);
    expect(found).toEqual([
      ['ada', 1],
      ['bob', 2],
    ]);
    await again.terminate();
    await bench.firestore.doc('shops/1').set({ n: 1 });
    const other = { backupId: await bench.backUp(), path: 'shops/1' };
    const body = { items: [...items, other] };
    const refused = await bench.app.request('POST', '/api/v1/backups/restore', { ...bench.as, body });
    expect([refused.status, refused.body.error.details.field], refused.text).toEqual([400, 'items']);
  });

  test('of a basket looks each backup up once, however many documents are picked from it', async () => {
    await bench.firestore.doc('users/1').set({ n: 1 });
    const backupId = await bench.backUp();
    const items = Array.from({ length: 1000 }, (_, index) => ({ backupId, path: `users/${index}` }));
    const asked = vi.spyOn(bench.app.platform.database, 'tenant');
    const body = { items, options: { dryRun: true } };
    const started = await bench.app.request('POST', '/api/v1/backups/restore', { ...bench.as, body });
    expect(started.status, started.text).toBe(202);
    expect(asked.mock.calls.length).toBeLessThan(100);
    asked.mockRestore();
    await untilEnded(bench.app, `/api/v1/backups/restore/${started.body.data.id}`, bench.as);
  });

  test('whose every write is refused ends failed and says how to go on', async () => {
    loadSample(bench.sandbox.control.database({ project: 'shop', database: '(default)' }), {
      seed: 9,
      documents: 3000,
    });
    const backupId = await bench.backUp();
    bench.sandbox.control.deny({ project: 'shop', access: 'write' });
    const done = await restore({ backupId, options: { safetyBackup: false } });
    expect(done).toMatchObject({
      status: 'failed',
      displayStatus: 'Failed',
      error: { code: 'RESTORE_PERMISSION_DENIED', retryable: false },
    });
    expect(done.error.advice).toMatch(/resume/);
    bench.sandbox.control.clearAccess();
    const resumed = await bench.app.request('POST', `/api/v1/backups/restore/${done.id}/resume`, bench.as);
    expect(resumed.status, resumed.text).toBe(202);
    expect((await untilEnded(bench.app, `/api/v1/backups/restore/${done.id}`, bench.as)).status).toBe('completed');
  });

  test('of a document outside of the collections that are named is refused, and one below them is not', async () => {
    for (const path of ['users/ada', 'users/ada/orders/1', 'shops/1']) await bench.firestore.doc(path).set({ n: 1 });
    const backupId = await bench.backUp();
    await bench.firestore.doc('users/ada').set({ n: 2 });
    const body = { backupId, collections: ['shops'], documentIds: ['shops/1', 'users/ada'] };
    const refused = await bench.app.request('POST', '/api/v1/backups/restore', { ...bench.as, body });
    expect([refused.status, refused.body.error.details.field], refused.text).toEqual([400, 'documentIds']);
    expect((await contents())['users/ada']).toEqual({ n: 2 });
    const paths = ['users/ada', 'users/ada/orders/1'];
    const done = await restore({ backupId, collections: ['users'], documentIds: paths });
    expect([done.status, done.documentsRestored]).toEqual(['completed', 2]);
  });

  test('of single documents takes nothing that lies below them, and says so; a basket names each for itself', async () => {
    const paths = ['users/ada', 'users/ada/orders/1'];
    for (const path of paths) await bench.firestore.doc(path).set({ n: 1 });
    const backupId = await bench.backUp();
    for (const path of paths) await bench.firestore.doc(path).set({ n: 2 });
    for (const named of [{ backupId, documentIds: ['users/ada'] }, { items: [{ backupId, path: 'users/ada' }] }]) {
      const done = await restore(named);
      expect(done).toMatchObject({ status: 'completed', documentsRestored: 1, includeSubcollections: false });
      expect((await bench.firestore.doc('users/ada/orders/1').get()).data()).toEqual({ n: 2 });
    }
    const items = [{ backupId, path: 'users/ada' }];
    const body = { items, options: { includeSubcollections: true } };
    const refused = await bench.app.request('POST', '/api/v1/backups/restore', { ...bench.as, body });
    expect([refused.status, refused.body.error.details.field]).toEqual([400, 'options.includeSubcollections']);
  });

  test('of a document the backup does not hold fails before anything is written', async () => {
    await bench.firestore.doc('users/ada').set({ name: 'Ada' });
    const backupId = await bench.backUp();
    const done = await restore({ backupId, documentIds: ['users/ada', 'users/nobody'] });
    expect(done).toMatchObject({
      status: 'failed',
      documentsRestored: 0,
      error: { code: 'DOCUMENT_NOT_FOUND', retryable: false, message: expect.stringContaining('users/nobody') },
    });
  });
});

test('the history leaves dry runs out or shows them alone, page by page, and a cursor belongs to that', async () => {
  await bench.firestore.doc('users/ada').set({ name: 'Ada' });
  const backupId = await bench.backUp();
  const made: { id: string; dryRun: boolean }[] = [];
  for (const dryRun of [false, true, true, false, true]) made.unshift(await restore({ backupId, options: { dryRun } }));
  const list = (query: string) =>
    bench.app.request('GET', `/api/v1/backups/restore?backupId=${backupId}&${query}`, bench.as);
  const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id);
  for (const dryRun of [true, false]) {
    const seen: string[] = [];
    let next = '';
    do {
      const { body } = await list(`dryRun=${dryRun}&limit=1${next}`);
      seen.push(...idsOf(body.data));
      next = body.pagination.hasMore ? `&cursor=${body.pagination.nextCursor}` : '';
    } while (next !== '');
    expect(seen).toEqual(idsOf(made.filter((one) => one.dryRun === dryRun)));
  }
  expect(idsOf((await list('limit=200')).body.data)).toEqual(idsOf(made));
  const { nextCursor } = (await list('dryRun=true&limit=1')).body.pagination;
  for (const other of ['', 'dryRun=false&']) {
    const mixed = await list(`${other}limit=1&cursor=${nextCursor}`);
    expect([mixed.status, mixed.body.error?.code], mixed.text).toEqual([400, 'VALIDATION_ERROR']);
  }
  expect((await list('dryRun=maybe')).body.error.details.field).toBe('dryRun');
});

test('a drill proves a backup in a scratch database and signs what it found', async () => {
  loadSample(bench.sandbox.control.database({ project: 'shop', database: '(default)' }), { seed: 5, documents: 600 });
  const backupId = await bench.backUp();
  const started = await bench.app.request('POST', `/api/v1/backups/${backupId}/drill`, { ...bench.as, body: {} });
  expect(started.status, started.text).toBe(202);
  const drill = await untilDrilled(backupId);
  expect(drill).toMatchObject({
    status: 'completed',
    passed: true,
    targetProjectId: null,
    report: { documentsExpected: 600, documentsRestored: 600, documentsMatched: 600, mismatches: [] },
  });
  expect(drill.report.sha256Restored).toBe(drill.report.sha256Expected);
  const keys = createLocalJWKSet((await bench.app.request('GET', '/.well-known/jwks.json')).body);
  const { payload } = await compactVerify(drill.signedReport, keys);
  expect(JSON.parse(new TextDecoder().decode(payload))).toMatchObject({ backupId, documentsMatched: 600 });
});

async function untilDrilled(backupId: string) {
  for (;;) {
    const { body } = await bench.app.request('GET', `/api/v1/backups/${backupId}/drills`, bench.as);
    const [drill] = body.data;
    if (drill && drill.status !== 'pending' && drill.status !== 'running') return drill;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
