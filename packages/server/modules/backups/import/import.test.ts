import { cp, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createLocalStore, type JsonFields } from '@holdfast/engine';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { writeManagedExport } from '../../../../engine/fixtures/managed-export-writer.ts';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { asOwner } from '../../../testing/people.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench(hasty);
});
afterAll(() => bench.close());
beforeEach(() => bench.clear());

const folder = (...path: string[]) => join(bench.app.folder, 'storage', bench.as.organizationId, ...path);

async function start(path: string, source: string, more: object = {}) {
  const body = {
    projectId: bench.shop.projectId,
    storageDestinationId: bench.shop.destinationId,
    path,
    metadata: { source, ...more },
  };
  return bench.app.request('POST', '/api/v1/backups/import', { ...bench.as, body });
}

async function importIt(path: string, source: string, more: object = {}) {
  const started = await start(path, source, more);
  expect(started.status, started.text).toBe(202);
  expect(started.headers.get('location')).toBe(`/api/v1/backups/${started.body.data.id}`);
  return untilEnded(bench.app, `/api/v1/backups/${started.body.data.id}`, bench.as);
}

/** As if the database had been lost: the service knows nothing of the backup any more. */
const forget = (...ids: string[]) =>
  asOwner(bench.app.databaseUrl, (client) => client.query('delete from backups where id = any($1)', [ids]));

const exported = async (id: string) => (await bench.app.request('GET', `/api/v1/backups/${id}/export`, bench.as)).text;

async function chain(): Promise<[string, string]> {
  await bench.firestore.doc('users/ada').set({ n: 1 });
  const base = await bench.backUp();
  await bench.firestore.doc('users/bob').set({ n: 2 });
  return [base, await bench.backUp({ type: 'incremental' })];
}

test('a file does not say what it left out: deleteExtra takes nothing beside or below the collections that it holds', {
  tags: 'long',
}, async () => {
  const { firestore } = bench;
  const cat = { n: 1, __collections__: { orders: { 1: { n: 1 } } } };
  const content = { users: { ada: { n: 1 }, cat }, empty: {} };
  await writeFile(folder('users.json'), JSON.stringify(content));
  const { id: backupId } = await importIt('users.json', 'json');
  const live = ['users/ada', 'users/bob', 'users/ada/orders/1', 'logs/1', 'users/cat/orders/2'];
  for (const path of live) await firestore.doc(path).set({ n: 2 });
  const restore = async (body: object) => {
    const request = { ...bench.as, body: { backupId, options: { deleteExtra: true }, ...body } };
    const started = await bench.app.request('POST', '/api/v1/backups/restore', request);
    expect(started.status, started.text).toBe(202);
    return untilEnded(bench.app, `/api/v1/backups/restore/${started.body.data.restoreJobId}`, bench.as);
  };
  const values = () => Promise.all(live.map(async (path) => (await firestore.doc(path).get()).get('n')));
  const dry = await restore({ options: { deleteExtra: true, dryRun: true } });
  expect(dry.preview, JSON.stringify(dry.error)).toMatchObject({ create: 2, replace: 1, delete: 2 });
  const beside = await restore({ collections: ['logs'] });
  expect(beside, JSON.stringify(beside)).toMatchObject({ status: 'failed', error: { code: 'COLLECTION_NOT_FOUND' } });
  expect(await values()).toEqual([2, 2, 2, 2, 2]);
  const done = await restore({});
  expect(done, JSON.stringify(done.error)).toMatchObject({ status: 'completed', documentsDeleted: 2 });
  // Orders of another user, of whom the file has none, are none of its business.
  expect(await values()).toEqual([1, undefined, 2, 2, undefined]);
  await firestore.doc('users/bob').set({ n: 2 });
  expect(await restore({ collections: ['users'] })).toMatchObject({ status: 'completed', documentsDeleted: 1 });
  expect(await values()).toEqual([1, undefined, 2, 2, undefined]);
});

test('a delete that was refused is tried again when the restore of a file goes on, also below documents', {
  tags: 'long',
}, async () => {
  const { firestore, app, as } = bench;
  const content = { users: { ada: { n: 1, __collections__: { orders: { 1: { n: 1 } } } } } };
  await writeFile(folder('orders.json'), JSON.stringify(content));
  const { id: backupId } = await importIt('orders.json', 'json');
  await firestore.doc('users/ada/orders/2').set({ n: 2 });
  bench.sandbox.control.addFault({ method: 'BatchWrite', status: 'INVALID_ARGUMENT', skip: 1 });
  const body = { backupId, options: { deleteExtra: true } };
  const started = await app.request('POST', '/api/v1/backups/restore', { ...as, body });
  const path = `/api/v1/backups/restore/${started.body.data.id}`;
  expect(await untilEnded(app, path, as)).toMatchObject({ status: 'failed', errors: { count: 1 } });
  bench.sandbox.control.clearFaults();
  expect((await app.request('POST', `${path}/resume`, as)).status).toBe(202);
  expect(await untilEnded(app, path, as)).toMatchObject({ status: 'completed', documentsDeleted: 1 });
  expect((await firestore.doc('users/ada/orders/2').get()).exists).toBe(false);
});

describe('a backup of ours', () => {
  test('is registered under its own id, with the ones it builds on', { tags: 'long' }, async () => {
    const [base, increment] = await chain();
    const [before, lines] = [await bench.get(`/backups/${increment}`), await exported(increment)];
    expect((await start(`backups/${increment}/manifest`, 'holdfast')).body.error.code).toBe('CONFLICT');
    await forget(base, increment);
    const imported = await importIt(`backups/${increment}/manifest`, 'holdfast');
    const {
      progress: _p,
      trigger: _t,
      readsUsed: _r,
      duration: _d,
      durationFormatted: _f,
      startedAt: _s,
      completedAt: _c,
      compressedSize: _z,
      ...rest
    } = before;
    expect(imported).toMatchObject({ ...rest, type: 'incremental', parentId: base, importedFrom: 'holdfast' });
    expect(await bench.get(`/backups/${base}`)).toMatchObject({ status: 'completed', type: 'full', documentCount: 1 });
    expect(await exported(increment)).toBe(lines);
    expect((await bench.app.request('DELETE', `/api/v1/backups/${base}`, bench.as)).body.error.code).toBe(
      'RESOURCE_IN_USE',
    );
  });

  test('in another folder is brought to its place', async () => {
    const [base, increment] = await chain();
    const lines = await exported(increment);
    await cp(folder('backups', base), folder('old', 'backups', base), { recursive: true });
    await cp(folder('backups', increment), folder('old', 'backups', increment), { recursive: true });
    await forget(base, increment);
    await rm(folder('backups', base), { recursive: true });
    await rm(folder('backups', increment), { recursive: true });
    expect(await importIt(`old/backups/${increment}/`, 'holdfast')).toMatchObject({
      status: 'completed',
      id: increment,
    });
    expect(await exported(increment)).toBe(lines);
  });

  test('that misses objects fails, registers nothing usable, and leaves the files alone', async () => {
    const [base, increment] = await chain();
    await forget(base, increment);
    const [segment] = await readdir(folder('backups', base, 'segments'));
    const hidden = folder('backups', base, 'segments', segment as string);
    await cp(hidden, folder('kept'));
    await rm(hidden);
    const failed = await importIt(`backups/${increment}`, 'holdfast');
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'INTEGRITY_ERROR', retryable: false } });
    expect(failed.error.message).toContain(base);
    await bench.app.tasks.runNow('remove leftovers');
    const removals = async () =>
      (await bench.app.platform.queue.counts()).filter(({ kind }) => kind.includes('remove'));
    await expect.poll(removals).toEqual([]);
    expect(await readdir(folder('backups', increment))).toContain('manifest');
    await cp(folder('kept'), hidden);
    expect(await importIt(`backups/${increment}`, 'holdfast')).toMatchObject({ status: 'completed', id: increment });
  });

  test('that is damaged, of another key, or not there is refused at once', async () => {
    const [base] = await chain();
    await forget(base);
    await mkdir(folder('backups', 'bkp_BROKEN'), { recursive: true });
    await writeFile(folder('backups', 'bkp_BROKEN', 'manifest'), 'no manifest');
    expect((await start('backups/bkp_BROKEN/manifest', 'holdfast')).body.error.code).toBe('INTEGRITY_ERROR');
    for (const path of ['backups/bkp_NONE/manifest', 'somewhere/else', '../secrets']) {
      const answer = await start(path, 'holdfast');
      expect([answer.status, answer.body.error.details.field], path).toEqual([400, 'path']);
    }
    await asOwner(bench.app.databaseUrl, (client) =>
      client.query('update organization_keys set sealed = null, retired_at = now() where organization_id = $1', [
        bench.as.organizationId,
      ]),
    );
    const locked = await start(`backups/${base}/manifest`, 'holdfast');
    expect([locked.status, locked.body.error.code]).toEqual([409, 'DECRYPTION_ERROR']);
  });
});

describe('a foreign file', () => {
  test('cannot be from the future', async () => {
    await writeFile(folder('users.json'), '{"users":{"ada":{"n":1}}}');
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
    const refused = await start('users.json', 'json', { createdAt: tomorrow });
    expect([refused.status, refused.body.error?.details?.field]).toEqual([400, 'metadata.createdAt']);
    const now = await importIt('users.json', 'json', { createdAt: new Date(Date.now() + 1000).toISOString() });
    expect(now.status).toBe('completed');
  });

  test('of version 1 becomes a full backup that can be read like any other', async () => {
    await mkdir(folder('v1'), { recursive: true });
    const content = { users: { ada: { name: 'Ada', age: 36, __collections__: { orders: { 7: { total: 12.5 } } } } } };
    await writeFile(folder('v1', 'backup.json'), JSON.stringify(content));
    const imported = await importIt('v1/backup.json', 'json', {
      createdAt: '2020-05-06T07:08:09Z',
      type: 'incremental',
    });
    expect(imported).toMatchObject({
      status: 'completed',
      type: 'full',
      documentCount: 2,
      snapshotTime: '2020-05-06T07:08:09.000Z',
      warnings: [{ code: 'BECAME_FULL' }],
    });
    const ada = await bench.get(`/backups/${imported.id}/documents/users/ada`);
    expect(ada).toMatchObject({
      fields: { name: { stringValue: 'Ada' }, age: { integerValue: '36' } },
      updateTime: '2020-05-06T07:08:09.000000000Z',
    });
    expect(await bench.get(`/backups/${imported.id}/documents/users/ada/orders/7`)).toMatchObject({
      fields: { total: { doubleValue: 12.5 } },
    });
    const body = { backupId: imported.id, options: { safetyBackup: false } };
    const restore = await bench.app.request('POST', '/api/v1/backups/restore', { ...bench.as, body });
    const done = await untilEnded(bench.app, `/api/v1/backups/restore/${restore.body.data.id}`, bench.as);
    expect(done, JSON.stringify(done.error)).toMatchObject({ status: 'completed', documentsRestored: 2 });
    expect((await bench.firestore.doc('users/ada').get()).data()).toEqual({ name: 'Ada', age: 36 });
  });

  test('of a managed export becomes one too', async () => {
    const store = await createLocalStore({ root: folder() });
    const documents: { path: string; fields: JsonFields }[] = [
      { path: 'users/bob', fields: { name: { stringValue: 'Bob' } } },
      { path: 'users/ada', fields: { at: { geoPointValue: { latitude: 1, longitude: 2 } } } },
    ];
    await writeManagedExport(store, 'exports/2024', 'shop', [documents]);
    // As exports are called by default.
    const name = '2024-01-02T03:04:05_12345';
    await rename(folder('exports', '2024'), folder('exports', name));
    const imported = await importIt(`exports/${name}`, 'firestore-export', { createdAt: '2024-01-02T03:04:05Z' });
    expect(imported, JSON.stringify(imported.error)).toMatchObject({ status: 'completed', documentCount: 2 });
    const listed = await bench.get(`/backups/${imported.id}/documents?collection=users`);
    expect(listed.map(({ path, fields }: { path: string; fields: object }) => ({ path, fields }))).toEqual(
      documents.toReversed(),
    );
    const [output] = (await readdir(folder('exports', name), { recursive: true })).filter((one) =>
      /output-0$/.test(one),
    );
    await rm(folder('exports', name, output as string));
    const broken = await start(`exports/${name}`, 'firestore-export');
    expect([broken.status, broken.body.error.code]).toEqual([409, 'INTEGRITY_ERROR']);
  });

  test('that is no object, empty, no export or not there is refused at once and registers nothing', async () => {
    await mkdir(folder('broken'), { recursive: true });
    await writeFile(folder('broken', 'empty.json'), '');
    await writeFile(folder('broken', 'list.json'), '[1, 2]');
    const known = (await bench.get('/backups?limit=200')).length;
    for (const [path, source] of [
      ['broken/empty.json', 'json'],
      ['broken/list.json', 'json'],
      ['broken/none.json', 'json'],
      ['broken', 'firestore-export'],
      ['nowhere', 'firestore-export'],
    ]) {
      const answer = await start(path as string, source as string);
      expect([answer.status, answer.body.error.code, answer.body.error.details.field], path).toEqual([
        400,
        'VALIDATION_ERROR',
        'path',
      ]);
    }
    for (const [path, source] of [
      ['../secrets.json', 'json'],
      ['gs://bucket/exports/1', 'firestore-export'],
      ['/exports/1', 'firestore-export'],
    ] as const) {
      const outside = await start(path, source);
      expect(outside.body.error.details).toEqual({
        field: 'path',
        reason: expect.stringMatching(/^Not a path within this store: ".*without its bucket.* no \. or \.\./),
      });
    }
    expect(await bench.get('/backups?limit=200')).toHaveLength(known);
  });

  test.each([
    ['cut short', () => '{"users": {"ada": {"name": "Ad'],
    ['cut after some MiB', () => `{"users": {"ada": {"text": "${'x'.repeat(3_000_000)}"}, "bob": {"name": "Bo`],
    ['a number of four million digits', () => `{"users":{"ada":{"n":${'9'.repeat(4_000_000)}}}}`],
    ['a million levels', () => `{"users":{"ada":${'{"a":'.repeat(1_000_000)}`],
    ['millions of values in one document', () => `{"users":{"ada":{"n":[${'1,'.repeat(2_000_000)}1]}}}`],
  ])(
    'that is %s ends as a failed job without a backup, and keeps nobody waiting',
    { tags: 'long' },
    async (_what, text) => {
      await mkdir(folder('broken'), { recursive: true });
      await writeFile(folder('broken', 'hostile.json'), text());
      const slowest = slowestAnswer();
      const failed = await importIt('broken/hostile.json', 'json');
      expect(await slowest()).toBeLessThan(1500);
      expect(failed).toMatchObject({
        status: 'failed',
        documentCount: null,
        error: { code: 'INTEGRITY_ERROR', retryable: false },
      });
      expect((await bench.app.request('GET', `/api/v1/backups/${failed.id}/documents`, bench.as)).body.error.code).toBe(
        'INVALID_STATE',
      );
    },
  );
});

test.each([
  ['mixes shapes', '{"collections":{"users":{"documents":{"a":{"data":{}}}}},"orders":{"o":{"t":1}}}', '"orders"'],
  ['has a field beside the data', '{"collections":{"users":{"documents":{"a":{"data":{},"x":1}}}}}', 'users/a'],
  ['has a time no calendar knows', '{"users":{"a":{"at":{"_seconds":1e15,"_nanoseconds":0}}}}', 'the field at'],
  ['has nanoseconds below zero', '{"users":{"a":{"at":{"_seconds":1,"_nanoseconds":-1}}}}', 'the field at'],
  ['has bytes that are none', '{"users":{"a":{"b":{"__datatype__":"bytes","value":"!!!!"}}}}', 'the field b'],
  ['has a document that is too large', `{"users":{"a":{"t":"${'x'.repeat(1_100_000)}"}}}`, 'users/a'],
])('a file that %s ends its job at the first attempt and names the place', async (_what, text, place) => {
  await mkdir(folder('bent'), { recursive: true });
  await writeFile(folder('bent', 'file.json'), text);
  const failed = await importIt('bent/file.json', 'json');
  expect(failed).toMatchObject({
    status: 'failed',
    documentCount: null,
    error: { code: 'INTEGRITY_ERROR', retryable: false, message: expect.stringContaining(place) },
  });
});

test('what a file says about itself is told in the record of its import', async () => {
  await mkdir(folder('said'), { recursive: true });
  await writeFile(folder('said', 'file.json'), '{"version":1,"users":{"ada":{"n":1}},"exportedAt":"2020"}');
  const imported = await importIt('said/file.json', 'json');
  expect(imported).toMatchObject({ status: 'completed', documentCount: 1 });
  expect(imported.warnings).toEqual([
    { code: 'NOTE', message: expect.stringContaining('not part of the backup (version, exportedAt)') },
  ]);
});

/** Asks all the time until it is told to stop, and then says how long the slowest answer took. */
function slowestAnswer(): () => Promise<number> {
  let isOver = false;
  let slowestMs = 0;
  const asking = (async () => {
    while (!isOver) {
      const startedAtMs = performance.now();
      await bench.get('/backups?limit=1');
      slowestMs = Math.max(slowestMs, performance.now() - startedAtMs);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  return async () => {
    isOver = true;
    await asking;
    return slowestMs;
  };
}

test('an error message that is cut inside a character is stored like any other', async () => {
  await mkdir(folder('cut'), { recursive: true });
  const name = `${'a'.repeat(198)}\u{1f600}${'b'.repeat(50)}`;
  await writeFile(folder('cut', 'users.json'), JSON.stringify({ users: { ada: { [name]: [[1]] } } }));
  const refused = await importIt('cut/users.json', 'json');
  expect(refused).toMatchObject({ status: 'failed', error: { code: 'INTEGRITY_ERROR' } });
});

test('a merge takes the newest state of the project itself, however new an imported file says it is', {
  tags: 'long',
}, async () => {
  await bench.firestore.doc('users/own').set({ n: 1 });
  const own = await bench.get(`/backups/${await bench.backUp()}`);
  await mkdir(folder('new'), { recursive: true });
  await writeFile(folder('new', 'users.json'), '{"users":{"zoe":{"n":9}}}');
  const imported = await importIt('new/users.json', 'json', { createdAt: new Date().toISOString() });
  expect(imported).toMatchObject({ status: 'completed', documentCount: 1 });
  const merged = await bench.get(`/backups/${await bench.backUp({ type: 'synthetic' })}`);
  expect(merged).toMatchObject({ documentCount: own.documentCount, snapshotTime: own.snapshotTime });
});

test('an old file that is imported is neither the newest of the project nor followed by an increment', {
  tags: 'long',
}, async () => {
  await bench.firestore.doc('users/ada').set({ n: 1 });
  const own = await bench.backUp();
  await mkdir(folder('old'), { recursive: true });
  await writeFile(folder('old', 'users.json'), '{"users":{"zoe":{"n":9}}}');
  const imported = await importIt('old/users.json', 'json', { createdAt: '2019-01-01T00:00:00Z' });
  expect(imported).toMatchObject({ status: 'completed', documentCount: 1 });
  const { projects } = await bench.get('/overview');
  expect(projects.find(({ id }: { id: string }) => id === bench.shop.projectId).newestBackup.id).toBe(own);
  const increment = await bench.get(`/backups/${await bench.backUp({ type: 'incremental' })}`);
  expect(increment).toMatchObject({ type: 'incremental', parentId: own });

  // It says so itself, so that whoever finds it again knows it too.
  await forget(imported.id);
  expect(await importIt(`backups/${imported.id}`, 'holdfast')).toMatchObject({ importedFrom: 'json' });
  await forget(imported.id);
  await bench.app.request('POST', `/api/v1/storage-destinations/${bench.shop.destinationId}/rescan`, bench.as);
  const found = () => bench.app.request('GET', `/api/v1/backups/${imported.id}`, bench.as);
  await expect.poll(async () => (await found()).body.data?.importedFrom).toBe('json');
});
