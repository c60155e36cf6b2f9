import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { testDocument } from '../../fixtures/arbitrary-documents.ts';
import { BackupHarness, contentsOf } from '../../fixtures/backup-harness.ts';
import { MemoryDatabase } from '../../fixtures/memory-source.ts';
import { isEngineError } from '../../ports/errors.ts';
import { createMemoryStore } from '../../stores/memory/memory-store.ts';
import { verifyChain } from './verify-backup.ts';

/** A chain of a full backup, with shards, and one increment, as the objects it consists of. */
async function intactObjects(): Promise<{ objects: Map<string, Uint8Array>; contents: Map<string, string> }> {
  const harness = new BackupHarness();
  const documents = Array.from({ length: 30 }, (_, index) =>
    testDocument(`c/${String(index).padStart(3, '0')}`, { n: { integerValue: String(index) } }),
  );
  const source = new MemoryDatabase(documents);
  const full = await harness.backUp(source, { segmentsPerShard: 3, concurrency: 1 });
  source.set('c/005', { changed: { booleanValue: true } });
  source.delete('c/020');
  await harness.increment(source, full);
  const objects = new Map<string, Uint8Array>();
  for await (const { key } of harness.store.list('')) objects.set(key, new Uint8Array(await harness.store.get(key)));
  return { objects, contents: source.contents() };
}

async function harnessWith(objects: ReadonlyMap<string, Uint8Array>): Promise<BackupHarness> {
  const store = createMemoryStore();
  for (const [key, bytes] of objects) await store.put(key, bytes);
  return new BackupHarness(store);
}

/** Opens, verifies and reads the increment; says what came of it. */
async function outcome(
  objects: ReadonlyMap<string, Uint8Array>,
): Promise<{ verified: boolean; read: Map<string, string> | 'refused' }> {
  const harness = await harnessWith(objects);
  const refuse = (error: unknown) => {
    if (isEngineError(error)) return undefined;
    throw error;
  };
  const chain = await harness.chain('bkp_2').catch(refuse);
  if (chain === undefined) return { verified: false, read: 'refused' };
  const view = await harness.view('bkp_2');
  const { isIntact } = await verifyChain(chain, view);
  const read = await contentsOf(view).catch(refuse);
  return { verified: isIntact, read: read ?? 'refused' };
}

const { objects: intact, contents } = await intactObjects();
const keys = [...intact.keys()];

describe('damage to any object of a chain', () => {
  test('is not reported where there is none', async () => {
    expect(await outcome(intact)).toEqual({ verified: true, read: contents });
  });

  test('is noticed by verify and by reading when any bit flips', { tags: 'long' }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...keys),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        fc.integer({ min: 0, max: 7 }),
        async (key, where, bit) => {
          const bytes = intact.get(key)!.slice();
          const at = Math.floor(where * bytes.length);
          bytes[at] = bytes[at]! ^ (1 << bit);
          expect(await outcome(new Map(intact).set(key, bytes))).toEqual({ verified: false, read: 'refused' });
        },
      ),
      { numRuns: 150 },
    );
  });

  test('is not reported where pieces of objects, which have no checksum, are damaged on their way, however often', async () => {
    const { store } = await harnessWith(intact);
    const getRange = store.getRange.bind(store);
    store.getRange = async (...args) => {
      const bytes = (await getRange(...args)).slice();
      bytes[bytes.length - 1]! ^= 1;
      return bytes;
    };
    const view = await new BackupHarness(store).view('bkp_2');
    const names: string[] = [];
    for await (const page of view.entries()) names.push(...page.map(({ path }) => path));
    expect(names).toEqual([...contents.keys()]);
  });

  test('is noticed when any object is missing', async () => {
    for (const key of keys) {
      const rest = new Map(intact);
      rest.delete(key);
      expect(await outcome(rest), key).toEqual({ verified: false, read: 'refused' });
    }
  });

  test('is noticed when any object is cut short or prolonged', { tags: 'long' }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...keys), fc.integer({ min: -80, max: 3 }), async (key, by) => {
        const bytes = intact.get(key)!;
        const changed =
          by <= 0 ? bytes.slice(0, Math.max(0, bytes.length + by - 1)) : Buffer.concat([bytes, Buffer.alloc(by)]);
        expect(await outcome(new Map(intact).set(key, changed))).toEqual({ verified: false, read: 'refused' });
      }),
      { numRuns: 60 },
    );
  });

  test('is noticed when any two objects are swapped', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...keys), fc.constantFrom(...keys), async (first, second) => {
        fc.pre(first !== second);
        const swapped = new Map(intact).set(first, intact.get(second)!).set(second, intact.get(first)!);
        expect(await outcome(swapped)).toEqual({ verified: false, read: 'refused' });
      }),
      { numRuns: 60 },
    );
  });

  test('names the damaged segments in the result of verify', async () => {
    const key = keys.find((candidate) => candidate.includes('bkp_1/segments'))!;
    const harness = await harnessWith(new Map(intact).set(key, intact.get(key)!.toReversed()));
    const result = await verifyChain(await harness.chain('bkp_2'), await harness.view('bkp_2'));
    expect(result).toMatchObject({ isIntact: false, errorCount: 1 });
    expect(result.errors[0]!.segment).toBe(key.split('/').at(-1));
  });
});
