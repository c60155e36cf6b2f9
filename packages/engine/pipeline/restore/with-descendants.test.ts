import { expect, test } from 'vitest';
import { testDocument } from '../../fixtures/arbitrary-documents.ts';
import { BackupHarness } from '../../fixtures/backup-harness.ts';
import { MemoryDatabase } from '../../fixtures/memory-source.ts';
import type { BlobStore } from '../../ports/blob-store.ts';
import { documentsScope } from '../../ports/document-source.ts';
import { createMemoryStore } from '../../stores/memory/memory-store.ts';
import { withDescendants } from './with-descendants.ts';

/** A store that counts what is read of it. */
function countingStore(): { store: BlobStore; reads: string[] } {
  const reads: string[] = [];
  const store = new Proxy(createMemoryStore(), {
    get(target, name: keyof BlobStore) {
      const value: unknown = target[name];
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => {
        if (name === 'get' || name === 'getRange') reads.push(String(given[0]));
        return value.apply(target, given);
      };
    },
  });
  return { store, reads };
}

test('everything below very many documents is found by reading each segment once, and no segment beside them', async () => {
  const { store, reads } = countingStore();
  const harness = new BackupHarness(store);
  const ids = Array.from({ length: 200 }, (_, n) => `users/${1000 + n}`);
  const beside = Array.from({ length: 200 }, (_, n) => `zebras/${1000 + n}`);
  const all = [...ids, ...ids.map((id) => `${id}/orders/1`), ...beside];
  const backupId = await harness.backUp(new MemoryDatabase(all.map((path) => testDocument(path, {}))));
  const view = await harness.view(backupId);
  const { segments } = (await harness.chain(backupId))[0]!.body;
  reads.length = 0;
  const named = [...ids.toReversed(), 'users/1007/orders/1', 'users/nobody'];
  const scope = await withDescendants(view, named);
  expect(scope).toEqual(documentsScope([...ids, ...ids.map((id) => `${id}/orders/1`), 'users/nobody']));
  expect(new Set(reads).size).toBe(reads.length);
  expect(reads.length).toBeLessThan(segments.length * 0.75);
});
