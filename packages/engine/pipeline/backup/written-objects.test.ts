import { expect, test } from 'vitest';
import { testDocument } from '../../fixtures/arbitrary-documents.ts';
import { BackupHarness, contentsOf } from '../../fixtures/backup-harness.ts';
import { MemoryDatabase } from '../../fixtures/memory-source.ts';
import { manifestKey } from '../../format/object-keys.ts';
import type { BlobStore } from '../../ports/blob-store.ts';
import { EngineError } from '../../ports/errors.ts';
import { mergeChain } from './write-view.ts';
import { withCleanupOnFailure } from './written-objects.ts';

const people = Array.from({ length: 60 }, (_, index) =>
  testDocument(`people/p${index}`, { n: { integerValue: String(index) } }),
);
const noRoom = new EngineError('STORAGE_UPLOAD_ERROR', 'There is no room.');

/** The store with one of its methods done otherwise. */
function storeWith<Name extends 'put' | 'list'>(store: BlobStore, name: Name, done: BlobStore[Name]): BlobStore {
  return new Proxy(store, { get: (of, asked) => (asked === name ? done : Reflect.get(of, asked).bind(of)) });
}

/** A store that has room until it is asked for the n-th object of these. */
function fullAt(store: BlobStore, part: string, nth: number): BlobStore {
  let puts = 0;
  return storeWith(store, 'put', async (key, ...rest) => {
    if (key.includes(part) && ++puts >= nth) throw noRoom;
    return await store.put(key, ...rest);
  });
}

async function keysIn(store: BlobStore): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list('')) keys.push(key);
  return keys;
}

const foreign = `backups/bkp_1/segments/${'0'.repeat(32)}`;

test.each([
  ['a segment', 'segments/', 4],
  ['a list of segments', 'shards/', 2],
  ['its manifest', 'manifest', 1],
])(
  'a backup for %s of which there is no room leaves what others put under its id, and nothing of its own',
  async (_what, part, nth) => {
    const harness = new BackupHarness();
    const { store } = harness;
    await store.put(foreign, new Uint8Array(1));
    const options = { store: fullAt(store, part, nth), segmentsPerShard: 3 };
    await expect(harness.backUp(new MemoryDatabase(people), options)).rejects.toBe(noRoom);
    expect(await keysIn(store)).toEqual([foreign]);
  },
);

test('one that is stopped when everything was read leaves nothing', async () => {
  const harness = new BackupHarness();
  const { store } = harness;
  const stop = new AbortController();
  const stopping = storeWith(store, 'list', (...given) => {
    stop.abort();
    return store.list(...given);
  });
  const stopped = harness.backUp(new MemoryDatabase(people), { store: stopping, signal: stop.signal });
  await expect(stopped).rejects.toThrow();
  expect(await keysIn(store)).toEqual([]);
});

test('one whose manifest is there although its answer was lost keeps all that it holds', async () => {
  const harness = new BackupHarness();
  const { store } = harness;
  const source = new MemoryDatabase(people);
  const deaf = storeWith(store, 'put', async (key, ...rest) => {
    const info = await store.put(key, ...rest);
    if (key === manifestKey('bkp_1')) throw noRoom;
    return info;
  });
  await expect(harness.backUp(source, { store: deaf })).rejects.toBe(noRoom);
  expect(await contentsOf(await harness.view('bkp_1'))).toEqual(source.contents());
});

test('a merge for which there is no room leaves the chain, and nothing of its own', async () => {
  const harness = new BackupHarness();
  const chain = await harness.chain(await harness.backUp(new MemoryDatabase(people)));
  const before = await keysIn(harness.store);
  const { keys, codec } = harness;
  const made = { store: fullAt(harness.store, 'segments/', 3), keys, codec, backupId: 'bkp_2', segmentBytes: 300 };
  await expect(withCleanupOnFailure(made, ({ store }) => mergeChain(chain, { ...made, store }))).rejects.toBe(noRoom);
  expect(await keysIn(harness.store)).toEqual(before);
});
