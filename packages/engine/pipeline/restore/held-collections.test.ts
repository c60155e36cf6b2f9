// @module-tag long
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { testDocument } from '../../fixtures/arbitrary-documents.ts';
import { BackupHarness } from '../../fixtures/backup-harness.ts';
import { MemoryDatabase } from '../../fixtures/memory-source.ts';
import { documentsScope } from '../../ports/document-source.ts';
import { instantToParts } from '../../ports/instant.ts';
import { comparePaths } from '../../ports/path-order.ts';
import { scopeContains } from '../../ports/scope.ts';
import { View } from '../view/view.ts';
import { previewRestore, restoreDeletes } from './restore.ts';
import { withinFile } from './restore-scope.ts';

const id = fc.constantFrom('1', '2', '3');
const name = fc.constantFrom('a', 'b');
const path = fc.array(fc.tuple(name, id), { minLength: 1, maxLength: 3 }).map((pairs) => pairs.flat().join('/'));
const paths = fc.uniqueArray(path, { minLength: 1, maxLength: 12 });
const collectionOf = (one: string) => one.slice(0, one.lastIndexOf('/'));

test('a target made equal to a file loses only what lies in collections that the file itself has, wherever it goes on', async () => {
  await fc.assert(
    fc.asyncProperty(paths, paths, fc.option(path), async (held, there, after) => {
      const harness = new BackupHarness();
      const own = await harness.view(
        await harness.backUp(new MemoryDatabase(held.map((one) => testDocument(one, {})))),
      );
      const view = new View(own.database, own.layers, { ...own.body!, importedFrom: 'json' });
      const scope = withinFile(own.body!.scope, view.body!);
      const target = new MemoryDatabase(there.map((one) => testDocument(one, {})));
      const collections = new Set(held.map(collectionOf));
      const extra = there.filter((one) => !held.includes(one) && collections.has(collectionOf(one)));
      expect(extra.every((one) => scopeContains(scope, one))).toBe(true);

      const readTime = await target.snapshotTime();
      const wish = { view, scope, mode: 'overwrite' } as const;
      const preview = await previewRestore({ ...wish, source: target, readTime, deleteExtra: true });
      expect(preview.delete).toBe(extra.length);

      const guard = {
        repeatedRecords: 0,
        former: async () => undefined,
        onMismatch: async () => 'conflict' as const,
        onSettled: () => undefined,
      };
      const live = { source: target, readTime, began: instantToParts(readTime) };
      const how = { ...wish, target, rampUp: false, rewriteReferences: true, guard, live };
      // What was not taken at first is tried again by name.
      const again = documentsScope(there.slice(0, 3));
      await restoreDeletes({ ...how, scope: again });
      const taken = extra.filter((one) => again.documents?.includes(one));
      expect([...target.contents().keys()]).toEqual(there.filter((one) => !taken.includes(one)).sort(comparePaths));
      await restoreDeletes({ ...how, ...(after === null ? {} : { after }) });
      const gone = extra.filter((one) => taken.includes(one) || after === null || comparePaths(one, after) > 0);
      expect([...target.contents().keys()]).toEqual(there.filter((one) => !gone.includes(one)).sort(comparePaths));
    }),
    { numRuns: 300 },
  );
});
