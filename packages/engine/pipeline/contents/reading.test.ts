import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { KeyRing } from '../../crypto/key-ring.ts';
import { testDatabase, testDocument } from '../../fixtures/arbitrary-documents.ts';
import { BackupHarness, contentsOf } from '../../fixtures/backup-harness.ts';
import { MemoryDatabase } from '../../fixtures/memory-source.ts';
import { type JsonFields, stringifyLossless } from '../../format/document-json.ts';
import { backupsPrefix, manifestKey } from '../../format/object-keys.ts';
import type { AuthUser } from '../../ports/auth-users.ts';
import type { BlobStore } from '../../ports/blob-store.ts';
import { documentsScope } from '../../ports/document-source.ts';
import { instantToParts } from '../../ports/instant.ts';
import { memoryAttempts } from '../../stores/memory/memory-store.ts';
import { withRetries } from '../../stores/with-retries.ts';
import { readUsers } from '../backup/auth-user-segments.ts';
import { mergeChain } from '../backup/write-view.ts';
import { previewRestore, restoreDeletes, restorePuts } from '../restore/restore.ts';
import { browse } from './browse.ts';
import { deleteBackup, finishedBackups, listBackups, rewrapBackup } from './catalogue.ts';
import { diffSides } from './diff.ts';
import { exportLines } from './export.ts';
import { verifyChain } from './verify-backup.ts';

const documents = ['a/1', 'a/2', 'a/2/b/1', 'c/10', 'c/11', 'c/20'].map((path) =>
  testDocument(path, { at: { stringValue: path } }),
);

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

describe('a restore', () => {
  const scope = { collections: ['a'], includeSubcollections: true, excludeCollections: [] };

  test('with deleteExtra makes the target equal to the view within the scope, and touches nothing outside', async () => {
    const harness = new BackupHarness();
    const view = await harness.view(await harness.backUp(new MemoryDatabase(documents)));
    const target = new MemoryDatabase([testDocument('a/0', {}), testDocument('a/9/b/9', {}), testDocument('c/99', {})]);
    const readTime = await target.snapshotTime();
    const preview = await previewRestore({
      view,
      source: target,
      readTime,
      mode: 'overwrite',
      scope,
      deleteExtra: true,
    });
    expect(preview).toEqual({ create: 3, replace: 0, merge: 0, skip: 0, delete: 2 });
    const how = { view, target, scope, mode: 'overwrite', rampUp: false, rewriteReferences: true } as const;
    const guard = {
      repeatedRecords: 0,
      former: async () => undefined,
      onMismatch: async () => 'conflict' as const,
      onSettled: () => undefined,
    };
    expect(await restorePuts(how)).toMatchObject({ written: 3, deleted: 0 });
    const live = { source: target, readTime, began: instantToParts(readTime) };
    expect(await restoreDeletes({ ...how, guard, live })).toMatchObject({ written: 0, deleted: 2 });
    expect([...target.contents().keys()]).toEqual(['a/1', 'a/2', 'a/2/b/1', 'c/99']);
  });

  test('of single documents writes those and no others', async () => {
    const harness = new BackupHarness();
    const view = await harness.view(await harness.backUp(new MemoryDatabase(documents)));
    const target = new MemoryDatabase();
    const paths = ['c/20', 'a/2', 'no/such'];
    const scope = documentsScope(paths);
    await restorePuts({ view, target, scope, mode: 'overwrite', rampUp: false, rewriteReferences: true });
    expect([...target.contents().keys()]).toEqual(['a/2', 'c/20']);
    const readTime = await target.snapshotTime();
    expect(
      await previewRestore({ view, source: target, readTime, mode: 'merge', scope, deleteExtra: false }),
    ).toMatchObject({ merge: 2, create: 0 });
  });

  test('goes on behind the path it had settled', async () => {
    const harness = new BackupHarness();
    const view = await harness.view(await harness.backUp(new MemoryDatabase(documents)));
    const target = new MemoryDatabase();
    await restorePuts({ view, target, after: 'c/10', mode: 'overwrite', rampUp: false, rewriteReferences: true });
    expect([...target.contents().keys()]).toEqual(['c/11', 'c/20']);
  });
});

test('a diff tells what was added, removed and changed, field by field, and ignores mere rewrites', async () => {
  const harness = new BackupHarness();
  const source = new MemoryDatabase(documents);
  const before = await harness.view(await harness.backUp(source));
  source.set('a/1', { at: { stringValue: 'a/1' } });
  source.set('a/2', { at: { stringValue: 'new' }, 'odd.name': { mapValue: { fields: { x: { nullValue: null } } } } });
  source.set('z/1', {});
  source.delete('c/20');
  const after = await harness.view(await harness.backUp(source));
  const changes = await collect(
    diffSides(
      { database: testDatabase, records: before.records() },
      { database: testDatabase, records: after.records() },
    ),
  );
  expect(changes).toMatchObject([
    {
      kind: 'changed',
      path: 'a/2',
      changes: [
        { path: 'at', before: { stringValue: 'a/2' }, after: { stringValue: 'new' } },
        { path: '`odd.name`', before: null, after: { mapValue: { fields: { x: { nullValue: null } } } } },
      ],
    },
    { kind: 'removed', path: 'c/20' },
    { kind: 'added', path: 'z/1', fields: {} },
  ]);
});

test('a diff takes no name of the language for a field', async () => {
  const map = (fields: Record<string, { integerValue: string }>) => ({ m: { mapValue: { fields } } });
  const one = { integerValue: '1' };
  const [here, there] = [new MemoryDatabase(), new MemoryDatabase()];
  here.set('a/1', map({}));
  there.set('a/1', map({ constructor: one, toString: one }));
  const harness = new BackupHarness();
  const [left, right] = [
    await harness.view(await harness.backUp(here)),
    await harness.view(await harness.backUp(there)),
  ];
  const sides = [left, right].map((view) => ({ database: testDatabase, records: view.records() }));
  const added = [
    { path: 'm.constructor', before: null, after: one },
    { path: 'm.toString', before: null, after: one },
  ];
  expect(await collect(diffSides(sides[0]!, sides[1]!))).toEqual([{ kind: 'changed', path: 'a/1', changes: added }]);
});

test('a diff tells maps as wholes where the paths of what differs in them would be too long', async () => {
  const leaves = (value: string) =>
    Object.fromEntries(Array.from({ length: 30_000 }, (_, n) => [`f${n}`, { stringValue: value }]));
  const below = (depth: number, fields: JsonFields): JsonFields =>
    depth === 0 ? fields : { ['n'.repeat(1400)]: { mapValue: { fields: below(depth - 1, fields) } } };
  const [here, there] = [new MemoryDatabase(), new MemoryDatabase()];
  here.set('a/1', { same: { integerValue: '1' }, ...below(18, leaves('a')) });
  there.set('a/1', { same: { integerValue: '1' }, ...below(18, leaves('b')) });
  const harness = new BackupHarness();
  const [left, right] = [
    await harness.view(await harness.backUp(here)),
    await harness.view(await harness.backUp(there)),
  ];
  const sides = [left, right].map((view) => ({ database: testDatabase, records: view.records() }));
  const [change] = await collect(diffSides(sides[0]!, sides[1]!));
  expect(stringifyLossless(change).length).toBeLessThan(4 * 1024 * 1024);
  expect(change).toMatchObject({ kind: 'changed', path: 'a/1', changes: [{ path: 'n'.repeat(1400) }] });
});

test('a diff across databases takes references relative to their database', async () => {
  const other = 'projects/other/databases/(default)';
  const [here, there] = [new MemoryDatabase(), new MemoryDatabase([], other)];
  here.set('a/1', { ref: { referenceValue: `${testDatabase}/documents/x/1` } });
  there.set('a/1', { ref: { referenceValue: `${other}/documents/x/1` } });
  const harness = new BackupHarness();
  const [left, right] = [
    await harness.view(await harness.backUp(here)),
    await harness.view(await harness.backUp(there)),
  ];
  expect(
    await collect(
      diffSides({ database: testDatabase, records: left.records() }, { database: other, records: right.records() }),
    ),
  ).toEqual([]);
});

test('an export has one typed line per document of the whole view, also for an increment', async () => {
  const harness = new BackupHarness();
  const source = new MemoryDatabase(documents);
  const full = await harness.backUp(source);
  source.set('c/20', { big: { integerValue: '9007199254740993' } });
  const view = await harness.view(await harness.increment(source, full));
  const lines = (await collect(exportLines(view)))
    .join('')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines).toHaveLength(6);
  expect(lines[5]).toMatchObject({
    name: `${testDatabase}/documents/c/20`,
    fields: { big: { integerValue: '9007199254740993' } },
  });
});

test('browsing pages through a collection and finds ids by prefix', async () => {
  const harness = new BackupHarness();
  const view = await harness.view(await harness.backUp(new MemoryDatabase(documents)));
  const paths = async (options: Parameters<typeof browse>[1]) => {
    const { entries, hasMore } = await browse(view, options);
    return { paths: entries.map(({ path }) => path), hasMore };
  };
  expect(await paths({ collection: 'c', limit: 2 })).toEqual({ paths: ['c/10', 'c/11'], hasMore: true });
  expect(await paths({ collection: 'c', limit: 2, after: 'c/11' })).toEqual({ paths: ['c/20'], hasMore: false });
  expect(await paths({ prefix: '1', limit: 10 })).toEqual({
    paths: ['a/1', 'a/2/b/1', 'c/10', 'c/11'],
    hasMore: false,
  });
});

test('browsing whose time is up says how far it came, and pages go on from there without a gap', async () => {
  const harness = new BackupHarness();
  const view = await harness.view(await harness.backUp(new MemoryDatabase(documents)));
  const found: string[] = [];
  let pages = 0;
  for (let after: string | undefined = ''; after !== undefined; pages += 1) {
    const options = { prefix: '1', limit: 10, budgetMs: 0, ...(after === '' ? {} : { after }) };
    const page = await browse(view, options);
    found.push(...page.entries.map(({ path }) => path));
    expect(page.hasMore).toBe(page.next !== undefined);
    after = page.next;
  }
  expect(found).toEqual(['a/1', 'a/2/b/1', 'c/10', 'c/11']);
  expect(pages).toBeGreaterThan(2);
});

test('a merged chain is a full backup that reads the same and needs none of its parts', async () => {
  const harness = new BackupHarness();
  const source = new MemoryDatabase(documents);
  const full = await harness.backUp(source);
  source.delete('a/1');
  source.set('n/1', {});
  const increment = await harness.increment(source, full);
  await mergeChain(await harness.chain(increment), {
    store: harness.store,
    keys: harness.keys,
    codec: harness.codec,
    backupId: 'bkp_merged',
  });
  await deleteBackup(harness.store, increment);
  await deleteBackup(harness.store, full);
  const view = await harness.view('bkp_merged');
  expect(view.body).toMatchObject({ type: 'synthetic', parent: null, mergedFrom: [full, increment] });
  expect(await contentsOf(view)).toEqual(source.contents());
  expect(await verifyChain(await harness.chain('bkp_merged'), view)).toMatchObject({ isIntact: true, documents: 6 });
});

test('a catalogue is rebuilt from the store alone; without the key only ids and dates are known', async () => {
  const attempts = memoryAttempts();
  const harness = new BackupHarness(withRetries(attempts));
  const source = new MemoryDatabase(documents);
  const full = await harness.backUp(source);
  await harness.increment(source, full);
  await harness.store.put(`${backupsPrefix}bkp_unfinished/segments/x`, new Uint8Array(3));
  // What others keep beside and among ours, under whatever name.
  for (const name of ['bkp_1/zzzzz', 'customers/~tmp', 'customers/\u00e4rzte.csv', 'zebra'])
    await attempts.put(`${backupsPrefix}${name}`, new Uint8Array(3));
  const known = await collect(listBackups(harness.store, harness.keys, harness.codec));
  expect(known.map(({ backupId, body }) => [backupId, body?.type])).toEqual([
    ['bkp_1', 'full'],
    ['bkp_2', 'incremental'],
  ]);
  const unknown = await collect(listBackups(harness.store, new KeyRing([]), harness.codec));
  expect(unknown[0]).toMatchObject({
    backupId: 'bkp_1',
    createdAt: known[0]!.createdAt,
    body: null,
    problem: { code: 'DECRYPTION_ERROR' },
  });
});

test('a backup that is removed while the store is listed is not among the finished ones, and the others are', async () => {
  const harness = new BackupHarness();
  const source = new MemoryDatabase(documents);
  const gone = await harness.backUp(source);
  const left = await harness.backUp(source);
  const { store } = harness;
  const removing: BlobStore = {
    ...store,
    get: async (key, options) => {
      if (key === manifestKey(gone)) await store.delete([key]);
      return store.get(key, options);
    },
  };
  const found = await collect(listBackups(removing, harness.keys, harness.codec));
  expect(found.map(({ backupId }) => backupId)).toEqual([left]);
});

test('finished backups are found past any number of segments and of what others keep among them, in few listings', async () => {
  const attempts = memoryAttempts();
  const store = withRetries(attempts);
  const put = (key: string) => attempts.put(`${backupsPrefix}${key}`, new Uint8Array(1));
  const numbered = (count: number, name: string) => Array.from({ length: count }, (_, n) => `${name}${1000 + n}`);
  for (const id of ['bkp_a', 'bkp_c', 'bkp_e', 'bkp_f']) await put(`${id}/manifest`);
  for (const id of ['bkp_a', 'bkp_b', 'bkp_e']) for (const name of numbered(250, `${id}/segments/`)) await put(name);
  // So many before its manifest that the listing goes on behind the folder without having seen it.
  for (const name of numbered(150, 'bkp_c/before/')) await put(name);
  for (const name of numbered(150, 'customers/')) await put(name);
  const asked = { list: 0, head: 0 };
  const counted: BlobStore = {
    ...store,
    list: (prefix, options) => {
      asked.list++;
      return store.list(prefix, options);
    },
    head: (key, options) => {
      asked.head++;
      return store.head(key, options);
    },
  };
  expect(await collect(finishedBackups(counted))).toEqual(['bkp_a', 'bkp_c', 'bkp_e', 'bkp_f']);
  expect(asked).toEqual({ list: 6, head: 3 });
});

test('re-wrapping changes the key and one object, keeps the manifest hash, and shuts the old key out', async () => {
  const harness = new BackupHarness();
  const backupId = await harness.backUp(new MemoryDatabase(documents));
  const sizes = async () => await collect(harness.store.list(''));
  const before = await sizes();
  const [chain] = await harness.chain(backupId);
  const other = new KeyRing([{ key: new Uint8Array(randomBytes(32)) }]);
  await rewrapBackup(harness.store, backupId, harness.keys, other);
  const changed = (await sizes()).filter(({ key, etag }) => before.find((old) => old.key === key)?.etag !== etag);
  expect(changed.map(({ key }) => key)).toEqual(['backups/bkp_1/manifest']);
  await expect(harness.chain(backupId)).rejects.toMatchObject({ code: 'DECRYPTION_ERROR' });
  const [reopened] = await collect(listBackups(harness.store, other, harness.codec));
  expect(reopened!.manifestSha256).toBe(chain!.manifestSha256);
});

test('a chain that holds another number of documents than it says is not merged', async () => {
  const harness = new BackupHarness();
  const source = new MemoryDatabase();
  source.set('a/1', { n: { integerValue: '1' } });
  const chain = await harness.chain(await harness.backUp(source));
  const { body } = chain[0]!;
  Object.assign(chain[0]!, { body: { ...body, counts: { ...body.counts, documents: 2 } } });
  const merging = mergeChain(chain, { ...harness, backupId: 'bkp_m' });
  await expect(merging).rejects.toMatchObject({ code: 'INTEGRITY_ERROR' });
  expect(await harness.store.head(manifestKey('bkp_m'))).toBeUndefined();
});

test('users are kept as they came, counted, and survive a merge; redacted passwords are said loudly', async () => {
  const users: AuthUser[] = ['u1', 'u2', 'u3'].map((localId) => ({
    localId,
    email: `${localId}@example.com`,
    customAttributes: '{"a":1}',
  }));
  const hashConfiguration = { algorithm: 'SCRYPT', rounds: 8, passwordHashesRedacted: true };
  const authUsers = {
    hashConfiguration: async () => hashConfiguration,
    async *users() {
      yield { users: users.slice(0, 2) };
      yield { users: users.slice(2) };
    },
  };
  const harness = new BackupHarness();
  const backupId = await harness.backUp(new MemoryDatabase(documents), { authUsers });
  const chain = await harness.chain(backupId);
  await mergeChain(chain, { store: harness.store, keys: harness.keys, codec: harness.codec, backupId: 'bkp_m' });
  const [merged] = await harness.chain('bkp_m');
  for (const backup of [chain[0]!, merged!]) {
    expect((await collect(readUsers(backup))).flatMap((batch) => batch.users)).toEqual(users);
    expect(backup.body.authUsers).toMatchObject({ count: 3, hashConfiguration });
  }
  expect(chain[0]!.body.warnings.join()).toContain('PASSWORD_HASHES_REDACTED');
  expect(await verifyChain([merged!], await harness.view('bkp_m'))).toMatchObject({ isIntact: true, authUsers: 3 });
});
