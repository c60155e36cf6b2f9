import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { comparePaths, type PathRange, rangeContains, type Scope, scopeContains } from '../../../ports/index.ts';
import { parentOf } from '../names.ts';
import { type QueryPart, queryPartsOf } from './scope.ts';

/** What the database would answer to one query, written the obvious way. */
function answer(part: QueryPart, paths: readonly string[]): string[] {
  return paths.filter((path) => {
    if (part.collection !== null && parentOf(path) !== part.collection) return false;
    const fromStart = part.start === null ? 1 : comparePaths(path, part.start.path);
    const toEnd = part.end === null ? -1 : comparePaths(path, part.end.path);
    return (
      (fromStart > 0 || (fromStart === 0 && part.start!.inclusive)) &&
      (toEnd < 0 || (toEnd === 0 && part.end!.inclusive))
    );
  });
}

const collectionId = fc.constantFrom('a', 'b', 'a-', 'ü', 'z');
// Numeric ids are a matter of documents: collections may not be called like that.
const documentId = fc.oneof(collectionId, fc.constantFrom('__id7__', '__id-3__'));
const documentPath = fc
  .array(fc.tuple(collectionId, documentId), { minLength: 1, maxLength: 3 })
  .map((pairs) => pairs.flat().join('/'));
const collectionPath = fc
  .tuple(fc.option(documentPath, { nil: undefined }), collectionId)
  .map(([parent, last]) => (parent === undefined ? last : `${parent}/${last}`));
const excludeCollections = fc.array(collectionPath, { maxLength: 3 });
const scope: fc.Arbitrary<Scope> = fc.oneof(
  fc.record({
    collections: fc.array(collectionPath, { minLength: 1, maxLength: 5 }),
    includeSubcollections: fc.boolean(),
    excludeCollections,
  }),
  // Without subcollections the collections at the root are named first.
  fc.record({
    collections: fc.constant('all' as const),
    includeSubcollections: fc.constant(true),
    excludeCollections,
  }),
);
const after = fc.option(documentPath, { nil: undefined });
const bound = fc.option(fc.oneof(documentPath, collectionPath), { nil: null });

describe('the queries of a scope', () => {
  test('together give every document of scope and range once, ascending, and no other', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(documentPath, { maxLength: 60 }),
        scope,
        bound,
        bound,
        after,
        (documents, wanted, start, end, behind) => {
          const range: PathRange = { start, end };
          const sorted = [...documents].sort(comparePaths);
          const expected = sorted
            .filter((path) => rangeContains(range, path) && scopeContains(wanted, path))
            .filter((path) => behind === undefined || comparePaths(path, behind) > 0);
          const queried = queryPartsOf(wanted, range, behind).flatMap((part) => answer(part, sorted));
          expect(queried).toEqual(expected);
        },
      ),
      { numRuns: 2000 },
    );
  });

  test('a path that is no collection is refused before anything is asked', () => {
    const wrong: Scope = { collections: ['users/ada'], includeSubcollections: true, excludeCollections: [] };
    expect(() => queryPartsOf(wrong, { start: null, end: null })).toThrow('is not the path of a collection');
  });
});
