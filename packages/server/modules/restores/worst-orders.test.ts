// @module-tag long
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { Firestore } from '@google-cloud/firestore';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../testing/backup-bench.ts';
import { contentsOf } from '../../testing/firestore-contents.ts';
import { asOwner, foundOrganization } from '../../testing/people.ts';
import { untilEnded } from '../../testing/protected-project.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench(hasty);
});
afterAll(() => bench.close());
beforeEach(() => {
  bench.sandbox.control.clearFaults();
  bench.clear();
});

const call = (method: string, path: string, body?: object) =>
  bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body ? { body } : {}) });
async function start(path: string, body: object = {}): Promise<string> {
  const started = await call('POST', `/backups/restore${path}`, body);
  expect(started.status, started.text).toBe(202);
  return started.body.data.id;
}
const ended = (id: string) => untilEnded(bench.app, `/api/v1/backups/restore/${id}`, bench.as);
const run = async (path: string, body: object = {}) => ended(await start(path, body));
async function connect(sourceProjectId: string): Promise<string> {
  const connection = { type: 'emulator', host: bench.sandbox.address };
  return (await call('POST', '/projects', { name: sourceProjectId, sourceProjectId, connection })).body.data.id;
}
async function fill(documents: Record<string, object>): Promise<void> {
  for (const [path, data] of Object.entries(documents)) await bench.firestore.doc(path).set(data);
}
const contents = () => contentsOf(bench.firestore);

test('backups that a waiting restore of picked documents needs stay, also those from an earlier connection of the project', async () => {
  const old = await connect('again');
  const again = new Firestore({ projectId: 'again' });
  await again.doc('users/ada').set({ n: 1 });
  const older = await bench.backUp({ projectId: old, retention: 1 });
  await again.doc('users/ada').set({ n: 2 });
  await bench.backUp({ projectId: old, retention: 1 });
  expect((await call('DELETE', `/projects/${old}`)).status).toBe(200);
  const anew = await connect('again');
  const newer = await bench.backUp({ projectId: anew });
  bench.sandbox.control.addFault({ method: 'BatchWrite', latencyMs: 6000 });
  const first = await start('', { backupId: newer });
  const basket = await start('', { items: [{ backupId: older, path: 'users/ada' }], projectId: anew });
  await bench.inDays(3, async () => {
    await bench.app.tasks.runNow('retention');
    expect(await bench.get(`/backups/restore/${basket}`)).toMatchObject({ status: 'pending' });
    expect((await call('GET', `/backups/${older}`)).status).toBe(200);
  });
  bench.sandbox.control.clearFaults();
  expect(await ended(first)).toMatchObject({ status: 'completed' });
  expect(await ended(basket)).toMatchObject({ status: 'completed', error: null });
  expect((await again.doc('users/ada').get()).data()).toEqual({ n: 1 });
  await again.terminate();
});

test('of several simultaneous undos only one runs, and what it needs cannot be deleted meanwhile', async () => {
  await fill({ 'users/ada': { n: 1 } });
  const backupId = await bench.backUp();
  await fill({ 'users/ada': { n: 2 }, 'users/bob': { n: 2 } });
  const done = await run('', { backupId, options: { deleteExtra: true } });
  expect(await contents()).toEqual({ 'users/ada': { n: 1 } });
  bench.sandbox.control.addFault({ method: 'BatchWrite', latencyMs: 3000 });
  const asked = await Promise.all([1, 2, 3].map(() => call('POST', `/backups/restore/${done.id}/undo`, {})));
  expect(asked.map(({ status }) => status).toSorted()).toEqual([202, 409, 409]);
  const gone = await call('DELETE', `/backups/${done.safetyBackupId}`);
  expect([gone.status, gone.body.error?.code]).toEqual([409, 'RESOURCE_IN_USE']);
  const disconnected = await call('DELETE', `/projects/${bench.shop.projectId}?deleteBackups=true`);
  expect(disconnected.body.error?.code).toBe('RESOURCE_IN_USE');
  const undo = await ended(asked.find(({ status }) => status === 202)!.body.data.id);
  expect(undo).toMatchObject({ status: 'completed', conflicts: 0 });
  expect(await contents()).toEqual({ 'users/ada': { n: 2 }, 'users/bob': { n: 2 } });
  const redo = await run(`/${undo.id}/undo`);
  expect(redo).toMatchObject({ status: 'completed', conflicts: 0 });
  expect(await contents()).toEqual({ 'users/ada': { n: 1 } });
});

test('a restore into another project: whatever becomes of the one it came from, its target keeps what it had', async () => {
  await fill({ 'users/ada': { n: 1 } });
  const backupId = await bench.backUp();
  const targetProjectId = await connect('target');
  const target = new Firestore({ projectId: 'target' });
  await target.doc('users/bob').set({ n: 2 });
  const done = await run('', { backupId, targetProjectId, options: { deleteExtra: true } });
  expect(done).toMatchObject({ status: 'completed', documentsDeleted: 1 });
  const other = await foundOrganization(bench.app, bench.shop.owner);
  const moved = await call('PATCH', `/projects/${bench.shop.projectId}`, { organizationId: other });
  expect(moved.status, moved.text).toBe(200);
  try {
    const undo = await call('POST', `/backups/restore/${done.id}/undo`, {});
    expect(undo.status, undo.text).not.toBe(202);
    const saved = await run('', { backupId: done.safetyBackupId, targetProjectId });
    expect(saved, JSON.stringify(saved.error)).toMatchObject({ status: 'completed' });
    expect((await target.doc('users/bob').get()).data()).toEqual({ n: 2 });
  } finally {
    const back = { token: bench.as.token, organizationId: other, body: { organizationId: bench.as.organizationId } };
    await bench.app.request('PATCH', `/api/v1/projects/${bench.shop.projectId}`, back);
    await target.terminate();
  }
});

test('a restore that broke off is not resumed when what it saved is gone: nothing more is written, and it says why', async () => {
  await fill({ 'users/ada': { n: 1 }, 'users/bob': { n: 1 } });
  const backupId = await bench.backUp();
  await fill({ 'users/ada': { n: 2 }, 'users/bob': { n: 2 } });
  bench.sandbox.control.addFault({ method: 'BatchWrite', status: 'PERMISSION_DENIED' });
  const failed = await run('', { backupId });
  expect(failed.status).toBe('failed');
  bench.sandbox.control.clearFaults();
  expect((await call('DELETE', `/backups/${failed.safetyBackupId}`)).status).toBe(200);
  const resumed = await call('POST', `/backups/restore/${failed.id}/resume`, {});
  expect([resumed.status, resumed.body.error?.code], resumed.text).toEqual([409, 'INVALID_STATE']);
  expect(resumed.body.error.details).toEqual({ safetyBackupId: failed.safetyBackupId });
  expect(await contents()).toEqual({ 'users/ada': { n: 2 }, 'users/bob': { n: 2 } });
});

test('a restore can be undone from its safety backup after its project was disconnected and connected again', async () => {
  const first = await connect('elsewhere');
  const elsewhere = new Firestore({ projectId: 'elsewhere' });
  await elsewhere.doc('users/ada').set({ n: 1 });
  const backupId = await bench.backUp({ projectId: first });
  await elsewhere.doc('users/ada').set({ n: 2 });
  const done = await run('', { backupId });
  expect((await call('DELETE', `/projects/${first}`)).status).toBe(200);
  const second = await connect('elsewhere');
  const undo = await call('POST', `/backups/restore/${done.id}/undo`, {});
  expect([undo.status, undo.body.error?.code], undo.text).toEqual([404, 'PROJECT_NOT_FOUND']);
  const saved = await run('', { backupId: done.safetyBackupId, targetProjectId: second });
  expect(saved, JSON.stringify(saved.error)).toMatchObject({ status: 'completed' });
  expect((await elsewhere.doc('users/ada').get()).data()).toEqual({ n: 2 });
  await elsewhere.terminate();
});

test.each([true, false])(
  'what was made after a restore began is nobody else’s, also when it fails before it saved anything and is resumed (safety backup %s)',
  async (safetyBackup) => {
    await fill({ 'users/ada': { n: 1 } });
    const backupId = await bench.backUp();
    await fill({ 'users/old': { n: 1 } });
    const manifest = join(bench.app.folder, 'storage', bench.as.organizationId, 'backups', backupId, 'manifest');
    await rename(manifest, `${manifest}-away`);
    const failed = await run('', { backupId, options: { deleteExtra: true, safetyBackup } });
    expect(failed).toMatchObject({ status: 'failed', safetyBackupId: null });
    await rename(`${manifest}-away`, manifest);
    await fill({ 'users/new': { n: 1 } });
    const resumed = await run(`/${failed.id}/resume`);
    expect(resumed, JSON.stringify(resumed.error)).toMatchObject({
      status: 'completed',
      documentsDeleted: 1,
      conflicts: 1,
    });
    expect(Object.keys(await contents())).toEqual(['users/ada', 'users/new']);
  },
);

test('the days in which a restore can be undone begin at its end, however late it was resumed', async () => {
  await fill({ 'users/ada': { n: 1 } });
  const backupId = await bench.backUp();
  await fill({ 'users/ada': { n: 2 } });
  bench.sandbox.control.addFault({ method: 'BatchWrite', status: 'PERMISSION_DENIED' });
  const failed = await run('', { backupId });
  expect(failed).toMatchObject({ status: 'failed', safetyBackupId: expect.any(String) });
  bench.sandbox.control.clearFaults();
  await bench.inDays(6, async () => {
    expect(await run(`/${failed.id}/resume`)).toMatchObject({ status: 'completed' });
  });
  expect(await contents()).toEqual({ 'users/ada': { n: 1 } });
  const safetyBackup = async () => {
    for (let n = 0; n < 3; n++) await bench.app.tasks.runNow('retention');
    return (await call('GET', `/backups/${failed.safetyBackupId}`)).status;
  };
  await bench.inDays(9, async () => {
    expect(await safetyBackup()).toBe(200);
    expect(await run(`/${failed.id}/undo`)).toMatchObject({ status: 'completed', conflicts: 0 });
  });
  expect(await contents()).toEqual({ 'users/ada': { n: 2 } });
});

test('a restore that left documents out is not resumed when its journal is gone: it would call itself completed without them', async () => {
  await fill({ 'users/ada': { n: 1 }, 'users/bob': { n: 1 } });
  const backupId = await bench.backUp();
  bench.clear();
  bench.sandbox.control.addFault({ method: 'BatchWrite', status: 'INVALID_ARGUMENT' });
  const failed = await run('', { backupId, options: { mergeMode: 'skip_existing' } });
  expect(failed).toMatchObject({ status: 'failed', errors: { count: 2 } });
  bench.sandbox.control.clearFaults();
  await bench.inDays(31, async () => {
    await bench.app.tasks.runNow('expire journals');
    const resumed = await call('POST', `/backups/restore/${failed.id}/resume`, {});
    expect([resumed.status, resumed.body.error?.code], resumed.text).toEqual([409, 'INVALID_STATE']);
  });
  expect(await bench.get(`/backups/restore/${failed.id}`)).toMatchObject({ status: 'failed', errors: { count: 2 } });
  expect(await contents()).toEqual({});
});

test('deletes of a skip_existing restore whose answers are lost are done and can be undone, and documents changed meanwhile are conflicts', async () => {
  await fill({ 'users/ada': { n: 1 } });
  const backupId = await bench.backUp();
  await fill({ 'users/bob': { n: 1 }, 'users/cat': { n: 1 }, 'users/dan': { n: 1 } });
  const gate = Promise.withResolvers<void>();
  bench.sandbox.control.addFault({ method: 'BatchWrite', until: gate.promise, times: 1 });
  bench.sandbox.control.addFault({ method: 'BatchWrite', status: 'UNAVAILABLE', afterEffect: true, times: 1, skip: 1 });
  const id = await start('', { backupId, options: { mergeMode: 'skip_existing', deleteExtra: true } });
  await expect.poll(() => bench.sandbox.control.faultHits()[0]).toBe(1);
  await fill({ 'users/bob': { n: 2 } });
  gate.resolve();
  expect(await ended(id)).toMatchObject({ status: 'completed', documentsDeleted: 2, conflicts: 1 });
  expect(await contents()).toEqual({ 'users/ada': { n: 1 }, 'users/bob': { n: 2 } });
  expect(await run(`/${id}/undo`)).toMatchObject({ status: 'completed', conflicts: 0 });
  expect(Object.keys(await contents())).toEqual(['users/ada', 'users/bob', 'users/cat', 'users/dan']);
});

test.each(['skip_existing', 'overwrite'])(
  'what somebody deletes before deleteExtra comes to it is in no count, so that all there is to do is what was done (%s)',
  async (mergeMode) => {
    await fill({ 'users/ada': { n: 1 }, 'users/zoe': { n: 1 } });
    const backupId = await bench.backUp();
    await bench.firestore.doc('users/zoe').delete();
    await fill({ 'users/bob': { n: 1 }, 'users/cat': { n: 1 }, 'users/dan': { n: 1 } });
    const gate = Promise.withResolvers<void>();
    bench.sandbox.control.addFault({ method: 'BatchWrite', until: gate.promise, times: 1 });
    const id = await start('', { backupId, options: { mergeMode, deleteExtra: true } });
    await expect.poll(() => bench.sandbox.control.faultHits()[0]).toBe(1);
    for (const path of ['users/bob', 'users/cat']) await bench.firestore.doc(path).delete();
    gate.resolve();
    const done = await ended(id);
    expect(done).toMatchObject({
      status: 'completed',
      documentsRestored: mergeMode === 'overwrite' ? 2 : 1,
      documentsDeleted: 1,
      conflicts: 0,
      progress: { documents: 3, documentsTotal: 3 },
    });
  },
);

test('documents of an imported backup of another database refer to the target, whatever lies beside them in the basket', async () => {
  const elsewhere = await connect('somewhere-else');
  const theirs = new Firestore({ projectId: 'somewhere-else' });
  await theirs.doc('users/zoe').set({ friend: theirs.doc('users/ada') });
  const path = `backups/${await bench.backUp({ projectId: elsewhere })}`;
  await asOwner(bench.app.databaseUrl, (client) => client.query('delete from backups where id = $1', [path.slice(8)]));
  const { projectId, destinationId: storageDestinationId } = bench.shop;
  const file = { projectId, storageDestinationId, path, metadata: { source: 'holdfast' } };
  const { id: imported } = (await call('POST', '/backups/import', file)).body.data;
  expect(await untilEnded(bench.app, `/api/v1/backups/${imported}`, bench.as)).toMatchObject({ status: 'completed' });
  await fill({ 'users/ada': { n: 1 } });
  const own = await bench.backUp();
  await fill({ 'users/ada': { n: 2 } });
  const items = [imported, own].map((backupId, index) => ({ backupId, path: ['users/zoe', 'users/ada'][index] }));
  const done = await run('', { items });
  expect(done).toMatchObject({ status: 'completed', documentsRestored: 2 });
  const { fields } = await bench.get(`/backups/${await bench.backUp()}/documents/users/zoe`);
  expect(fields.friend).toEqual({ referenceValue: 'projects/shop/databases/(default)/documents/users/ada' });
  expect(await run(`/${done.id}/undo`)).toMatchObject({ status: 'completed', conflicts: 0 });
  expect(await contents()).toEqual({ 'users/ada': { n: 2 } });
  await theirs.terminate();
});

test('after an undo was itself undone, the error says how to undo the restore after all', async () => {
  await fill({ 'users/ada': { n: 1 } });
  const backupId = await bench.backUp();
  const again = (id: string, body: object) => call('POST', `/backups/restore/${id}/undo`, body);
  for (const fault of [[], [{ method: 'BatchWrite', status: 'PERMISSION_DENIED' as const }]]) {
    await fill({ 'users/ada': { n: 2 } });
    const { id } = await run('', { backupId });
    for (const rule of fault) bench.sandbox.control.addFault(rule);
    const undo = await run(`/${id}/undo`);
    bench.sandbox.control.clearFaults();
    const redo = await run(`/${undo.id}/undo`);
    const refused = await again(id, {});
    const isWhole = undo.status === 'completed';
    expect([refused.status, refused.body.error.message]).toEqual([
      409,
      expect.stringMatching(isWhole ? `${redo.id}: undo that` : 'with force'),
    ]);
    await (isWhole ? run(`/${redo.id}/undo`) : run(`/${id}/undo`, { force: true }));
    expect(await contents()).toEqual({ 'users/ada': { n: 2 } });
  }
});

test('an undo can be undone although somebody deleted a document before it did and the answer was lost', async () => {
  await fill({ 'users/a': { v: 1 }, 'users/b': { v: 1 } });
  const backupId = await bench.backUp();
  bench.clear();
  const done = await run('', { backupId });
  await bench.firestore.doc('users/b').delete();
  bench.sandbox.control.addFault({ method: 'BatchWrite', status: 'UNAVAILABLE', afterEffect: true, times: 1 });
  const undone = await run(`/${done.id}/undo`);
  expect(undone, JSON.stringify(undone.error)).toMatchObject({ status: 'completed' });
  expect(await contents()).toEqual({});
  const back = await run(`/${undone.id}/undo`);
  expect(back, JSON.stringify(back.error)).toMatchObject({ status: 'completed', documentsRestored: 1 });
  expect(await contents()).toEqual({ 'users/a': { v: 1 } });
});
