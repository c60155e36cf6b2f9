import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newDataKey } from '../../crypto/key-ring.ts';
import { arbitraryDatabase, arbitraryFields, testDocument } from '../../fixtures/arbitrary-documents.ts';
import { BackupHarness, contentsOf } from '../../fixtures/backup-harness.ts';
import { MemoryDatabase } from '../../fixtures/memory-source.ts';
import { manifestKey } from '../../format/object-keys.ts';
import type { BlobStore } from '../../ports/blob-store.ts';
import { wholeDatabase } from '../../ports/document-source.ts';
import { comparePaths } from '../../ports/path-order.ts';
import { deleteBackup } from '../contents/catalogue.ts';
import { verifyChain } from '../contents/verify-backup.ts';
import { BufferPool } from '../segments/buffer-pool.ts';
import { bufferBytesFor } from '../segments/segment-writer.ts';
import { type BackupPlan, planBackup } from './backup-plan.ts';
import { finishBackup } from './finish-backup.ts';
import type { RangeState } from './run-range.ts';
import { runRange } from './run-range.ts';

const people = Array.from({ length: 60 }, (_, index) =>
  testDocument(`people/p${String(index).padStart(3, '0')}`, { n: { integerValue: String(index) } }),
);

function smallSegments({ store, codec }: BackupHarness) {
  return { store, codec, buffers: new BufferPool(3, bufferBytesFor(300)), segmentBytes: 300 };
}

async function complete(harness: BackupHarness, plan: BackupPlan, ranges: RangeState[], dataKey: Uint8Array) {
  const envelope = await harness.keys.wrap(plan.backupId, dataKey);
  const completedAt = '2026-01-01T00:01:00.000000000Z';
  await finishBackup({ plan, ranges, store: harness.store, dataKey, envelope, authUsers: null, completedAt });
}

describe('a backup', () => {
  test('restores any database byte for byte', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryDatabase(), async (documents) => {
        const harness = new BackupHarness();
        const source = new MemoryDatabase(documents);
        const view = await harness.view(await harness.backUp(source));
        const target = new MemoryDatabase();
        await target.apply(view.records(), { mode: 'overwrite', rampUp: false });
        expect(target.contents()).toEqual(source.contents());
      }),
      { numRuns: 30 },
    );
  });

  test('is the database at its snapshot time, whatever is written while it runs', async () => {
    const harness = new BackupHarness();
    const source = new MemoryDatabase(people);
    const before = source.contents();
    const backupId = await harness.backUp(source, { onPlan: () => source.delete('people/p007') });
    expect(await contentsOf(await harness.view(backupId))).toEqual(before);
  });

  test('is no backup when what it builds on was deleted while it was made', async () => {
    const harness = new BackupHarness();
    const source = new MemoryDatabase(people);
    const base = await harness.backUp(source);
    const { store } = harness;
    const put: BlobStore['put'] = async (key, ...rest) => {
      if (key === manifestKey('bkp_2')) await deleteBackup(store, base);
      return await store.put(key, ...rest);
    };
    const meanwhile = new Proxy(store, { get: (of, name) => (name === 'put' ? put : Reflect.get(of, name).bind(of)) });
    source.delete('people/p007');
    await expect(harness.increment(source, base, { store: meanwhile })).rejects.toMatchObject({
      code: 'STORAGE_CONFLICT',
    });
    const left: string[] = [];
    for await (const { key } of store.list('')) left.push(key);
    expect(left).toEqual([]);
  });

  test('finds each document by its path, and nothing by another path', async () => {
    const harness = new BackupHarness();
    const view = await harness.view(await harness.backUp(new MemoryDatabase(people)));
    for (const { path, bytes } of people) expect(Buffer.from((await view.get(path))!)).toEqual(Buffer.from(bytes));
    for (const path of ['people/p', 'people/p0000', 'people/zzz', 'a/b', 'people/p001/x/y'])
      expect(await view.get(path)).toBeUndefined();
  });

  test('does not become visible when the source ended early', async () => {
    const harness = new BackupHarness();
    const source = new MemoryDatabase(people);
    source.dropFromScan = 1;
    await expect(harness.backUp(source)).rejects.toMatchObject({ code: 'INTEGRITY_ERROR' });
    expect(await harness.store.head(manifestKey('bkp_1'))).toBeUndefined();
  });

  test('goes on at a later time when the source forgets, and says which share is of which time', async () => {
    const harness = new BackupHarness();
    const source = new MemoryDatabase(people);
    source.forgetAfterDocuments = 20;
    const view = await harness.view(await harness.backUp(source, { concurrency: 1, targetRanges: 1 }));
    expect(await contentsOf(view)).toEqual(source.contents());
    expect(view.body!.ranges[0]!.parts).toHaveLength(2);
    expect(view.body!.ranges[0]!.parts[1]!.start).toBe('people/p019');
    expect(view.body!.warnings).toHaveLength(1);
  });

  test('counts its documents per collection', async () => {
    const harness = new BackupHarness();
    const view = await harness.view(
      await harness.backUp(new MemoryDatabase([...people, testDocument('people/p000/pets/rex', {})])),
    );
    expect(view.body!.collections).toEqual([
      { path: 'people', documents: 60 },
      { path: 'people/*/pets', documents: 1 },
    ]);
    expect(view.body!.counts.documents).toBe(61);
  });

  test('keeps large manifests in shards and reads one of them for one document', async () => {
    const harness = new BackupHarness();
    const backupId = await harness.backUp(new MemoryDatabase(people), { segmentsPerShard: 3 });
    const reads: string[] = [];
    const store: typeof harness.store = {
      ...harness.store,
      get: async (...call) => {
        reads.push(call[0]);
        return await harness.store.get(...call);
      },
    };
    const view = await new BackupHarness(store).view(backupId);
    expect(view.body!.shards.length).toBeGreaterThan(3);
    expect(await view.get('people/p033')).toBeDefined();
    expect(reads).toHaveLength(3);
    expect((await contentsOf(view)).size).toBe(60);
    reads.length = 0;
    const asked = [...people.keys()].flatMap((index) => [
      `people/none${index}`,
      `people/p${String(index).padStart(3, '0')}`,
    ]);
    const found = await view.getAll(asked);
    expect(found.size).toBe(60);
    expect(new Set(reads).size).toBe(reads.length);
    for (const [path, bytes] of found) expect(Buffer.compare(bytes, (await view.get(path))!)).toBe(0);
  });
});

describe('an increment', () => {
  test('on top of any chain reads like a full backup of the changed database', { tags: 'long' }, async () => {
    const change = fc.record({
      path: fc.constantFrom('a/a', 'a/b', 'users/a', 'users/a/a/b', 'ü/0'),
      fields: fc.option(arbitraryFields),
    });
    await fc.assert(
      fc.asyncProperty(
        arbitraryDatabase(15),
        fc.array(fc.array(change, { maxLength: 5 }), { maxLength: 3 }),
        async (documents, rounds) => {
          const harness = new BackupHarness();
          const source = new MemoryDatabase(documents);
          let backupId = await harness.backUp(source);
          for (const changes of rounds) {
            for (const { path, fields } of changes) fields === null ? source.delete(path) : source.set(path, fields);
            backupId = await harness.increment(source, backupId);
            const chain = await harness.chain(backupId);
            const view = await harness.view(backupId);
            expect(await contentsOf(view)).toEqual(source.contents());
            expect(await verifyChain(chain, view)).toMatchObject({ isIntact: true, documents: source.contents().size });
          }
        },
      ),
      { numRuns: 30 },
    );
  });

  test('stores and fetches what changed, nothing else', async () => {
    const harness = new BackupHarness();
    const source = new MemoryDatabase(people);
    const full = await harness.backUp(source);
    source.set('people/p003', { n: { nullValue: null } });
    source.set('people/new', {});
    source.delete('people/p050');
    const { body } = await harness.view(await harness.increment(source, full));
    expect(body!.counts).toMatchObject({ puts: 2, deletes: 1, documents: 60 });
    expect(source.fetchedPaths).toBe(2);
  });

  test('refuses a parent of another scope or database', async () => {
    const harness = new BackupHarness();
    const source = new MemoryDatabase(people);
    const full = await harness.backUp(source);
    const scope = { collections: ['people'], includeSubcollections: true, excludeCollections: [] };
    await expect(harness.increment(source, full, { scope })).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
  });

  test('cannot be read once its parent was replaced or removed', async () => {
    const harness = new BackupHarness();
    const source = new MemoryDatabase(people);
    const full = await harness.backUp(source);
    const increment = await harness.increment(source, full);
    const other = new BackupHarness();
    await other.backUp(source);
    await harness.store.put(manifestKey(full), await other.store.get(manifestKey(full)));
    await expect(harness.view(increment)).rejects.toMatchObject({ code: 'INTEGRITY_ERROR' });
    await harness.store.delete([manifestKey(full)]);
    await expect(harness.view(increment)).rejects.toMatchObject({ code: 'INTEGRITY_ERROR' });
  });
});

describe('a range', () => {
  /** Dies at its n-th checkpoint, goes on from it as another worker would. */
  async function crashAndResume(
    harness: BackupHarness,
    source: MemoryDatabase,
    crashAfter: number,
    parent?: string,
  ): Promise<void> {
    const chain = parent === undefined ? [] : await harness.chain(parent);
    const last = chain.at(-1);
    const plan = await planBackup({
      source,
      backupId: 'bkp_crash',
      scope: wholeDatabase,
      createdAt: '2026-01-01T00:00:00.000000000Z',
      targetRanges: 2,
      ...(last ? { parent: { body: last.body, manifestSha256: last.manifestSha256, chainLength: 1 } } : {}),
    });
    const dataKey = newDataKey();
    const parentView = parent === undefined ? undefined : await harness.view(parent);
    const shared = { ...smallSegments(harness), plan, source, dataKey, ...(parentView ? { parentView } : {}) };
    const ranges: RangeState[] = [];
    for (const range of plan.ranges.keys()) {
      let checkpoint: RangeState | undefined;
      let checkpoints = 0;
      const crashing = runRange({
        ...shared,
        range,
        onCheckpoint: (state) => {
          checkpoints += 1;
          if (checkpoints > crashAfter) throw new Error('crash');
          checkpoint = JSON.parse(JSON.stringify(state));
        },
      });
      await expect(crashing).rejects.toThrow('crash');
      ranges.push(await runRange({ ...shared, range, ...(checkpoint ? { resumeFrom: checkpoint } : {}) }));
    }
    await complete(harness, plan, ranges.toReversed(), dataKey);
  }

  test.each([0, 1, 3])('of a full backup continues from its checkpoint after a crash at %i', async (crashAfter) => {
    const harness = new BackupHarness();
    const source = new MemoryDatabase(people);
    await crashAndResume(harness, source, crashAfter);
    const [chain, view] = [await harness.chain('bkp_crash'), await harness.view('bkp_crash')];
    expect(await contentsOf(view)).toEqual(source.contents());
    expect(await verifyChain(chain, view)).toMatchObject({ isIntact: true, documents: 60 });
    expect(view.body!.collections).toEqual([{ path: 'people', documents: 60 }]);
  });

  test.each([
    ['forgotten at once', 0],
    ['forgotten in the middle of the rest', 50],
  ])('of an increment whose instant the source has forgotten since (%s) holds what it says', async (_, forgetAfter) => {
    const harness = new BackupHarness();
    const source = new MemoryDatabase(people);
    const full = await harness.backUp(source);
    for (const { path } of people.slice(0, 40)) source.set(path, {});
    const parent = (await harness.chain(full)).at(-1)!;
    const plan = await planBackup({
      source,
      backupId: 'bkp_late',
      scope: wholeDatabase,
      createdAt: '2026-01-01T00:00:00.000000000Z',
      targetRanges: 1,
      parent: { body: parent.body, manifestSha256: parent.manifestSha256, chainLength: 1 },
    });
    const dataKey = newDataKey();
    const parentView = await harness.view(full);
    const shared = { ...smallSegments(harness), plan, source, dataKey, parentView, range: 0 };
    let checkpoint: RangeState | undefined;
    const crash = (after: number) => (state: RangeState) => {
      checkpoint = JSON.parse(JSON.stringify(state));
      if (state.segments.length >= after) throw new Error('crash');
    };
    const crashing = runRange({ ...shared, onCheckpoint: crash(2) });
    await expect(crashing).rejects.toThrow('crash');
    source.set('people/p000x', { n: { integerValue: '1' } });
    source.set('people/p001x', { n: { integerValue: '1' } });
    source.delete('people/p003');
    source.forgetAfterDocuments = forgetAfter;
    const twice = runRange({ ...shared, resumeFrom: checkpoint!, onCheckpoint: crash(4) });
    await expect(twice).rejects.toThrow('crash');
    source.set('people/p002x', { n: { integerValue: '1' } });
    const state = await runRange({ ...shared, resumeFrom: checkpoint! });
    await complete(harness, plan, [state], dataKey);
    const view = await harness.view('bkp_late');
    expect((await contentsOf(view)).size).toBe(view.body!.counts.documents);
    expect(await verifyChain(await harness.chain('bkp_late'), view)).toMatchObject({ isIntact: true });
  });

  test.each([0, 1])('of an increment continues from its checkpoint after a crash at %i', async (crashAfter) => {
    const harness = new BackupHarness();
    const source = new MemoryDatabase(people);
    const full = await harness.backUp(source);
    for (const { path } of people.slice(0, 50))
      Number(path.at(-1)) % 2 === 0 ? source.set(path, {}) : source.delete(path);
    await crashAndResume(harness, source, crashAfter, full);
    const view = await harness.view('bkp_crash');
    expect(await contentsOf(view)).toEqual(source.contents());
    expect(await verifyChain(await harness.chain('bkp_crash'), view)).toMatchObject({ isIntact: true });
  });
});

test('a view is read by collection, by range, by id prefix and from behind a path', async () => {
  const harness = new BackupHarness();
  const paths = ['a/1', 'a/1/b/x', 'a/2', 'a-b/1', 'c/10', 'c/11', 'c/2'];
  const view = await harness.view(
    await harness.backUp(
      new MemoryDatabase(paths.map((path) => testDocument(path, {})).sort((l, r) => comparePaths(l.path, r.path))),
    ),
  );
  const scope = { collections: ['a'], includeSubcollections: true, excludeCollections: [] };
  const read = async (selection: Parameters<typeof contentsOf>[1]) => [...(await contentsOf(view, selection)).keys()];
  expect(await read({ scope })).toEqual(['a/1', 'a/1/b/x', 'a/2']);
  expect(await read({ scope: { ...scope, includeSubcollections: false } })).toEqual(['a/1', 'a/2']);
  expect(await read({ scope: { ...scope, collections: 'all', excludeCollections: ['a/1/b', 'c'] } })).toEqual([
    'a/1',
    'a/2',
    'a-b/1',
  ]);
  expect(await read({ scope: { ...scope, collections: ['c'], includeSubcollections: false }, idPrefix: '1' })).toEqual([
    'c/10',
    'c/11',
  ]);
  expect(await read({ after: 'c/10' })).toEqual(['c/11', 'c/2']);
  expect(await read({ range: { start: 'a/1/b', end: 'c/11' } })).toEqual(['a/1/b/x', 'a/2', 'a-b/1', 'c/10']);
});
