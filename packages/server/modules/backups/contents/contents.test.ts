import { readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GeoPoint, Timestamp } from '@google-cloud/firestore';
import { loadSample } from '@holdfast/sandbox';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from '../../../testing/backup-bench.ts';

let bench: BackupBench;
const ask = (path: string) => bench.app.request('GET', `/api/v1${path}`, bench.as);

beforeAll(async () => {
  bench = await startBackupBench();
});
afterAll(() => bench.close());
afterEach(() => bench.clear());

/** Every page of a list, and how many there were. */
async function allPages(path: string): Promise<{ rows: { path: string }[]; pages: number }> {
  const rows: { path: string }[] = [];
  let cursor: string | null = null;
  for (let pages = 1; ; pages++) {
    const answer = await ask(`${path}${cursor === null ? '' : `&cursor=${cursor}`}`);
    expect(answer.status, answer.text).toBe(200);
    rows.push(...answer.body.data);
    cursor = answer.body.pagination.nextCursor;
    if (cursor === null) return { rows, pages };
  }
}

describe('what is in a backup', () => {
  test('collections are a tree, also below parents that do not exist', async () => {
    await bench.firestore.doc('users/ada').set({ n: 1 });
    await bench.firestore.doc('users/ada/orders/1').set({ n: 1 });
    await bench.firestore.doc('users/bob/orders/2').set({ n: 1 });
    await bench.firestore.doc('ghosts/none/deep/1/deeper/2').set({ n: 1 });
    const id = await bench.backUp();
    const answer = await ask(`/backups/${id}/collections`);
    const node = (path: string, documentCount: number, collections: object[] = []) => {
      const id = path.slice(path.lastIndexOf('/') + 1);
      return { id, path, documentCount, sampled: false, collections };
    };
    const deep = node('ghosts/*/deep', 0, [node('ghosts/*/deep/*/deeper', 1)]);
    expect(answer.body.data).toEqual([node('ghosts', 0, [deep]), node('users', 1, [node('users/*/orders', 2)])]);
    const { rows, pages } = await allPages(`/backups/${id}/collections?limit=1`);
    expect([rows.map(({ path }) => path), pages]).toEqual([['ghosts', 'users'], 2]);
  });

  test('documents can begin in the middle: with one of them, or where it would stand', async () => {
    for (const id of ['a', 'b', 'd', 'e']) await bench.firestore.doc(`users/${id}`).set({ id });
    await bench.firestore.doc('zebras/1').set({ n: 1 });
    const id = await bench.backUp();
    const idsOf = ({ rows }: { rows: { path: string }[] }) =>
      rows.map(({ path }) => path.replace('users/', '')).join('');
    const users = `/backups/${id}/documents?collection=users`;
    expect(idsOf(await allPages(`${users}&from=users/b&limit=2`))).toBe('bde');
    expect(idsOf(await allPages(`${users}&from=users/b&limit=1`))).toBe('bde');
    expect(idsOf(await allPages(`${users}&from=users/c`))).toBe('de');
    expect(idsOf(await allPages(`${users}&from=animals/1`))).toBe('abde');
    expect(idsOf(await allPages(`${users}&from=users/b&prefix=e`))).toBe('e');
    expect((await ask(`${users}&from=users`)).body.error.code).toBe('VALIDATION_ERROR');
  });

  test('documents come page by page in the order of names, each once, with their values', async () => {
    loadSample(bench.sandbox.control.database({ project: 'shop', database: '(default)' }), { documents: 700 });
    const id = await bench.backUp();
    const { rows, pages } = await allPages(`/backups/${id}/documents?limit=200`);
    expect(pages).toBe(4);
    expect(new Set(rows.map(({ path }) => path)).size).toBe(700);
    const odd = await allPages(`/backups/${id}/documents?collection=odd%20ids&limit=7`);
    expect(odd.rows.length).toBeGreaterThan(20);
    expect(odd.rows.every(({ path }) => path.startsWith('odd ids/'))).toBe(true);
    const numeric = await ask(`/backups/${id}/documents?collection=odd%20ids&prefix=__id`);
    expect(numeric.body.data.map(({ path }: { path: string }) => path)).toEqual([
      'odd ids/__id7__',
      'odd ids/__id10__',
      'odd ids/__id9223372036854775807__',
    ]);
    for (const { path } of odd.rows) {
      const one = await ask(`/backups/${id}/documents/${encodeURIComponent(path)}`);
      expect(one.body.data?.path, one.text).toBe(path);
    }
    const everywhere = await ask(`/backups/${id}/documents?prefix=here`);
    expect(everywhere.body.data).toHaveLength(8);
  });

  test('a named collection is found whole when numeric ids, which sort first, are the last that a backup holds', async () => {
    await bench.firestore.doc('a/1').set({ n: 1 });
    await bench.firestore.doc('zz/__id7__').set({ n: 7 });
    const id = await bench.backUp();
    const listed = await ask(`/backups/${id}/documents?collection=zz`);
    expect(
      listed.body.data?.map(({ path }: { path: string }) => path),
      listed.text,
    ).toEqual(['zz/__id7__']);
    expect((await ask(`/backups/${id}/export?collection=zz&format=ndjson`)).text).toContain('__id7__');
  });

  test('a collection that the backup does not hold is told; one that has only collections below it is empty', async () => {
    await bench.firestore.doc('users/ada').set({ n: 1 });
    await bench.firestore.doc('above/nobody/below/one').set({ n: 1 });
    const id = await bench.backUp();
    for (const query of ['collection=usres', 'collection=usres&prefix=a', 'collection=usres&search=a']) {
      const missing = await ask(`/backups/${id}/documents?${query}`);
      expect([missing.status, missing.body.error?.code], query).toEqual([404, 'COLLECTION_NOT_FOUND']);
    }
    const none = await ask(`/backups/${id}/documents?collection=users&prefix=nobody-is-called-so`);
    expect([none.status, none.body.data]).toEqual([200, []]);
    const above = await ask(`/backups/${id}/documents?collection=above`);
    expect([above.status, above.body.data]).toEqual([200, []]);
  });

  test('a cursor of other filters is refused', async () => {
    for (const name of ['a', 'b', 'c']) await bench.firestore.doc(`users/${name}`).set({ name });
    const id = await bench.backUp();
    const first = await ask(`/backups/${id}/documents?collection=users&limit=1`);
    const cursor = first.body.pagination.nextCursor;
    const other = await ask(`/backups/${id}/documents?collection=users&limit=1&prefix=b&cursor=${cursor}`);
    expect(other.body.error.code).toBe('VALIDATION_ERROR');
  });

  test('values keep what JSON would lose', async () => {
    await bench.firestore.doc('values/all').set({
      big: 9_007_199_254_740_993n,
      minusZero: -0,
      nan: Number.NaN,
      time: new Timestamp(1_700_000_000, 123_456_000),
      place: new GeoPoint(-0, 13.4),
      bytes: Buffer.from([0, 255]),
      map: { list: [-0, null, {}] },
    });
    const id = await bench.backUp();
    const answer = await ask(`/backups/${id}/documents/values/all`);
    expect(answer.body.data.fields).toEqual({
      big: { integerValue: '9007199254740993' },
      minusZero: { doubleValue: -0 },
      nan: { doubleValue: 'NaN' },
      time: { timestampValue: '2023-11-14T22:13:20.123456Z' },
      place: { geoPointValue: { latitude: expect.closeTo(0), longitude: 13.4 } },
      bytes: { bytesValue: 'AP8=' },
      map: {
        mapValue: {
          fields: { list: { arrayValue: { values: [{ doubleValue: -0 }, { nullValue: null }, { mapValue: {} }] } } },
        },
      },
    });
    expect(answer.text).toContain('"doubleValue":-0');
  });

  test('what is not there is not found', async () => {
    await bench.firestore.doc('users/ada').set({ n: 1 });
    const id = await bench.backUp();
    for (const path of ['users/bob', 'users', 'users//ada', 'users/ada/orders/1'])
      expect((await ask(`/backups/${id}/documents/${path}`)).body.error.code).toBe('DOCUMENT_NOT_FOUND');
    expect((await ask('/backups/bkp_unknown/collections')).body.error.code).toBe('BACKUP_NOT_FOUND');
  });
});

describe('a diff', () => {
  test('of a collection of which neither side has anything says so; of one that only one side has, it tells that', async () => {
    await bench.firestore.doc('users/ada').set({ n: 1 });
    await bench.firestore.doc('rooms/1').set({ n: 1 });
    const id = await bench.backUp({ excludeCollections: ['rooms'] });
    await bench.firestore.doc('users/ada').delete();
    await bench.firestore.doc('orders/1').set({ n: 1 });
    for (const query of ['collection=usres', `collection=usres&against=${id}`, 'collection=rooms']) {
      const missing = await ask(`/backups/${id}/diff?${query}`);
      expect([missing.status, missing.body.error?.code], query).toEqual([404, 'COLLECTION_NOT_FOUND']);
    }
    const differences = async (query: string) => (await ask(`/backups/${id}/diff?${query}`)).body.data;
    const [orders, users] = [await differences('collection=orders'), await differences('collection=users')];
    expect(orders).toMatchObject({ added: [{ path: 'orders/1' }], compared: 0 });
    expect(users).toMatchObject({ removed: [{ path: 'users/ada' }], compared: 1 });
    const same = await differences(`collection=users&against=${id}`);
    expect(same).toMatchObject({ added: [], removed: [], changed: [], compared: 1 });
  });

  test('tells field by field what changed since, live and between backups', async () => {
    await bench.firestore
      .doc('users/ada')
      .set({ name: 'Ada', age: 36, tags: ['x'], address: { city: 'London', zip: '1' } });
    await bench.firestore.doc('users/bob').set({ name: 'Bob' });
    await bench.firestore.doc('users/same').set({ name: 'Same' });
    const before = await bench.backUp();
    await bench.firestore
      .doc('users/ada')
      .set({ name: 'Ada L', tags: ['x'], address: { city: 'Paris', zip: '1' }, new: true });
    await bench.firestore.doc('users/bob').delete();
    await bench.firestore.doc('users/eve').set({ name: 'Eve' });
    await bench.firestore.doc('users/same').set({ name: 'Same' });
    const expected = {
      added: [{ path: 'users/eve', updateTime: expect.any(String) }],
      removed: [{ path: 'users/bob', updateTime: expect.any(String) }],
      changed: [
        {
          path: 'users/ada',
          fields: expect.arrayContaining([
            { field: 'name', change: 'changed', before: { stringValue: 'Ada' }, after: { stringValue: 'Ada L' } },
            { field: 'age', change: 'removed', before: { integerValue: '36' }, after: null },
            { field: 'new', change: 'added', before: null, after: { booleanValue: true } },
            {
              field: 'address.city',
              change: 'changed',
              before: { stringValue: 'London' },
              after: { stringValue: 'Paris' },
            },
          ]),
        },
      ],
    };
    const live = await ask(`/backups/${before}/diff`);
    expect(live.body.data).toEqual({ against: 'live', ...expected, compared: 3 });
    expect(live.body.data.changed[0].fields).toHaveLength(4);
    const after = await bench.backUp({ type: 'incremental' });
    const between = await ask(`/backups/${before}/diff?against=${after}`);
    expect(between.body.data).toEqual({ against: after, ...expected, compared: 3 });
    const backwards = await ask(`/backups/${after}/diff?against=${before}`);
    expect(backwards.body.data.added.map(({ path }: { path: string }) => path)).toEqual(['users/bob']);
    expect((await ask(`/backups/${before}/diff?against=bkp_unknown`)).body.error.code).toBe('BACKUP_NOT_FOUND');
  });

  test('comes page by page, each change once', async () => {
    for (let n = 0; n < 25; n++) await bench.firestore.doc(`users/${n}`).set({ n });
    const before = await bench.backUp();
    for (let n = 0; n < 10; n++) await bench.firestore.doc(`users/${n}`).set({ n: -n - 1 });
    for (let n = 10; n < 15; n++) await bench.firestore.doc(`users/${n}`).delete();
    for (let n = 25; n < 30; n++) await bench.firestore.doc(`users/${n}`).set({ n });
    const seen: string[] = [];
    let cursor: string | null = null;
    let [pages, comparedCount] = [0, 0];
    do {
      const answer = await ask(`/backups/${before}/diff?limit=6${cursor ? `&cursor=${cursor}` : ''}`);
      const { added, removed, changed, compared } = answer.body.data;
      comparedCount += compared;
      seen.push(...[...added, ...removed, ...changed].map(({ path }: { path: string }) => path));
      cursor = answer.body.pagination.nextCursor;
      pages++;
    } while (cursor);
    expect([seen.length, new Set(seen).size, pages, comparedCount]).toEqual([20, 20, 4, 25]);
  });

  test('ends after the seconds it was given, and each page says how many documents it has compared', async () => {
    loadSample(bench.sandbox.control.database({ project: 'shop', database: '(default)' }), { documents: 1500 });
    const id = await bench.backUp();
    bench.sandbox.control.addFault({ method: 'RunQuery', batchLatencyMs: 80 });
    const counts: number[] = [];
    let cursor: string | null = null;
    do {
      const answer = await ask(`/backups/${id}/diff?seconds=1${cursor ? `&cursor=${cursor}` : ''}`);
      counts.push(answer.body.data.compared);
      cursor = answer.body.pagination.nextCursor;
    } while (cursor);
    bench.sandbox.control.clearFaults();
    expect(counts.length).toBeGreaterThan(1);
    expect(counts.reduce((sum, count) => sum + count)).toBe(1500);
    expect((await ask(`/backups/${id}/diff?seconds=0`)).body.error.code).toBe('VALIDATION_ERROR');
  });

  test('against the live database stays within what was backed up', async () => {
    await bench.firestore.doc('users/ada').set({ n: 1 });
    await bench.firestore.doc('orders/1').set({ n: 1 });
    const id = await bench.backUp({ collections: ['users'] });
    expect((await ask(`/backups/${id}/diff`)).body.data).toEqual({
      against: 'live',
      added: [],
      removed: [],
      changed: [],
      compared: 1,
    });
  });
});

describe('a backup of the orders of every user', () => {
  test('is compared and exported by the orders of one, by all of them, and by what lies above', async () => {
    await bench.firestore.doc('users/ada').set({ n: 1 });
    await bench.firestore.doc('users/ada/orders/1').set({ n: 1 });
    await bench.firestore.doc('users/bob/orders/2').set({ n: 1 });
    await bench.firestore.doc('others/1').set({ n: 1 });
    const id = await bench.backUp({ collections: ['users/*/orders'] });
    await bench.firestore.doc('users/ada').set({ n: 2 });
    await bench.firestore.doc('users/ada/orders/1').set({ n: 2 });
    const found: Record<string, unknown> = {};
    for (const collection of ['users/ada/orders', 'users/bob/orders', 'users/*/orders', 'users', 'others']) {
      const { data, error } = (await ask(`/backups/${id}/diff?collection=${collection}`)).body;
      const exported = await ask(`/backups/${id}/export?collection=${collection}`);
      const lines = exported.status === 200 ? exported.text.trimEnd().split('\n').length : exported.body.error.code;
      found[collection] = [data?.changed.map(({ path }: { path: string }) => path) ?? error.code, lines];
    }
    expect(found).toEqual({
      'users/ada/orders': [['users/ada/orders/1'], 1],
      'users/bob/orders': [[], 1],
      'users/*/orders': [['users/ada/orders/1'], 2],
      users: [['users/ada/orders/1'], 2],
      others: ['COLLECTION_NOT_FOUND', 'COLLECTION_NOT_FOUND'],
    });
    const one = await bench.backUp({ collections: ['users/ada/orders'] });
    const ofAll = await ask(`/backups/${one}/export?collection=users/*/orders`);
    expect([ofAll.status, ofAll.text.trimEnd().split('\n').length]).toEqual([200, 1]);
  });
});

describe('an export', () => {
  test('is one document a line, of the whole view also for an increment', async () => {
    loadSample(bench.sandbox.control.database({ project: 'shop', database: '(default)' }), { documents: 500 });
    await bench.backUp();
    await bench.firestore.doc('users/new').set({ n: -0 });
    const id = await bench.backUp({ type: 'incremental' });
    expect((await bench.get(`/backups/${id}`)).type).toBe('incremental');
    const answer = await ask(`/backups/${id}/export?format=ndjson`);
    expect(answer.headers.get('content-type')).toContain('application/x-ndjson');
    expect(answer.headers.get('content-disposition')).toBe(`attachment; filename="${id}.ndjson"`);
    const lines = answer.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toHaveLength(501);
    expect(Object.keys(lines[0])).toEqual(['name', 'fields', 'createTime', 'updateTime']);
    expect(answer.text).toContain('{"n":{"doubleValue":-0}}');
    const users = await ask(`/backups/${id}/export?collection=users`);
    expect(users.text.split('\n').filter((line) => line && !line.includes('/documents/users/'))).toEqual([]);
  });

  test('ends, and lets go of the backup, when the caller hangs up', async () => {
    loadSample(bench.sandbox.control.database({ project: 'shop', database: '(default)' }), { documents: 8000 });
    const id = await bench.backUp();
    const caller = new AbortController();
    const response = await fetch(`${bench.app.address}/api/v1/backups/${id}/export`, {
      headers: { authorization: `Bearer ${bench.as.token}`, 'x-organization-id': bench.as.organizationId },
      signal: caller.signal,
    });
    const reader = response.body!.getReader();
    await reader.read();
    caller.abort();
    await reader.closed.catch(() => undefined);
    expect((await ask(`/backups/${id}`)).status).toBe(200);
  });
});

describe('a backup that cannot be read', () => {
  const folder = (id: string) => join(bench.app.folder, 'storage', bench.as.organizationId, 'backups', id);

  test('that is damaged says INTEGRITY_ERROR, to browse, diff, export and verify', async () => {
    await bench.firestore.doc('users/ada').set({ n: 1 });
    const id = await bench.backUp();
    const [segment] = await readdir(join(folder(id), 'segments'));
    await writeFile(join(folder(id), 'segments', segment as string), 'not what was written');
    for (const path of ['documents', 'documents/users/ada', 'diff', 'export']) {
      const answer = await ask(`/backups/${id}/${path}`);
      expect([answer.status, answer.body.error.code], path).toEqual([409, 'INTEGRITY_ERROR']);
    }
    const started = await bench.app.request('POST', `/api/v1/backups/${id}/verify`, bench.as);
    expect(started.status).toBe(202);
    await expect
      .poll(async () => (await bench.get(`/backups/${id}`)).verification)
      .toMatchObject({
        status: 'failed',
        errors: [{ code: 'INTEGRITY_ERROR', object: expect.stringContaining(id) }],
      });
    await rm(join(folder(id), 'segments'), { recursive: true });
    expect((await ask(`/backups/${id}/documents`)).body.error.code).toBe('INTEGRITY_ERROR');
    await rename(join(folder(id), 'manifest'), join(folder(id), 'elsewhere'));
    expect((await ask(`/backups/${id}/collections`)).body.error.code).toBe('INTEGRITY_ERROR');
  });

  test('whose key was withdrawn says DECRYPTION_ERROR and names the command that supplies it again', async () => {
    const url = '/api/v1/organizations/current/encryption-key';
    const key = Buffer.alloc(32, 3).toString('base64');
    expect((await bench.app.request('PUT', url, { ...bench.as, body: { key } })).status).toBe(200);
    await bench.firestore.doc('users/ada').set({ n: 1 });
    const id = await bench.backUp();
    expect((await bench.app.request('DELETE', url, bench.as)).status).toBe(200);
    const answer = await ask(`/backups/${id}/documents`);
    expect([answer.status, answer.body.error.code]).toEqual([409, 'DECRYPTION_ERROR']);
    expect(answer.body.error.details.advice).toContain('holdfast encryption-key set');
    await bench.app.request('PUT', url, { ...bench.as, body: { key } });
    expect((await ask(`/backups/${id}/documents`)).body.data).toHaveLength(1);
  });
});
