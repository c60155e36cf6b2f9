import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Scope } from '../../ports/document-source.ts';
import { comparePaths } from '../../ports/path-order.ts';
import { mayHold, type Selection, selects } from './selection.ts';

const collectionId = fc.constantFrom('a', 'b', 'a ', 'a!', 'ab', 'kind', 'é', '__id', '𝒶', '\ufffd');
const documentId = fc.oneof(
  collectionId,
  fc.integer({ min: -3, max: 12 }).map((number) => `__id${number}__`),
  fc.constantFrom('__id', '__id7', '__id9223372036854775807__', '0', '!', '-'),
);
const collection = fc
  .tuple(collectionId, fc.array(fc.tuple(documentId, collectionId), { maxLength: 2 }))
  .map(([first, below]) => [first, ...below.flat()].join('/'));
const path = fc.tuple(collection, documentId).map((segments) => segments.join('/'));
const pattern = fc.tuple(collectionId, collectionId).map(([above, below]) => `${above}/*/${below}`);
const bound = fc.option(fc.oneof(path, collection), { nil: null });

const scope: fc.Arbitrary<Scope> = fc.oneof(
  fc.record({
    collections: fc.oneof(fc.constant('all' as const), fc.array(fc.oneof(collection, pattern), { minLength: 1 })),
    excludeCollections: fc.array(collection, { maxLength: 1 }),
    includeSubcollections: fc.boolean(),
  }),
  fc.array(path, { minLength: 1, maxLength: 4 }).map((documents) => ({
    collections: 'all' as const,
    excludeCollections: [],
    includeSubcollections: true,
    documents: documents.toSorted(comparePaths),
  })),
);

const selection: fc.Arbitrary<Selection> = fc.record(
  {
    scope,
    range: fc.record({ start: bound, end: bound }),
    idPrefix: fc.constantFrom('', '_', '__id', '__id1', 'a', '0'),
    after: path,
    trees: fc.array(path, { maxLength: 4 }).map((documents) => documents.toSorted(comparePaths)),
  },
  { requiredKeys: [] },
);

test('a segment that holds something that is selected is never passed over', () => {
  fc.assert(
    fc.property(fc.array(path, { minLength: 1, maxLength: 8 }), selection, (held, wanted) => {
      const paths = held.toSorted(comparePaths);
      if (paths.some((one) => selects(wanted, one))) expect(mayHold(wanted, paths[0]!, paths.at(-1)!)).toBe(true);
    }),
    { numRuns: 5000 },
  );
});

test('of numeric ids, which sort before every other, a named collection misses none', () => {
  const named: Scope = { collections: ['kind'], excludeCollections: [], includeSubcollections: true };
  expect(mayHold({ scope: named }, 'a/1', 'kind/__id7__')).toBe(true);
  expect(mayHold({ scope: named }, 'kind/__id-5__', 'kind/__id7__')).toBe(true);
  expect(mayHold({ scope: named }, 'a/1', 'kin/zz')).toBe(false);
  expect(mayHold({ scope: named }, 'kind!/1', 'z/z')).toBe(false);
});

test('trees are documents with all below them, and none of their neighbours', () => {
  fc.assert(
    fc.property(path, fc.array(path, { maxLength: 4 }), (one, documents) => {
      const trees = documents.toSorted(comparePaths);
      const isIn = trees.some((document) => one === document || one.startsWith(`${document}/`));
      expect(selects({ trees }, one)).toBe(isIn);
      expect(mayHold({ trees }, one, one)).toBe(isIn);
    }),
    { numRuns: 5000 },
  );
});

test('of very many documents only a few are looked at for each segment', () => {
  let looks = 0;
  const paths = Array.from({ length: 10_000 }, (_, n) => `users/${10_000 + n}`);
  const documents = new Proxy(paths, {
    get: (target, name) => {
      if (typeof name === 'string' && /^[0-9]+$/.test(name)) looks += 1;
      return Reflect.get(target, name);
    },
  });
  const scope: Scope = { collections: [], excludeCollections: [], includeSubcollections: false, documents };
  expect(mayHold({ scope }, 'users/15000', 'users/15001')).toBe(true);
  expect(mayHold({ scope }, 'users/15000-a', 'users/15000-z')).toBe(false);
  expect(looks).toBeLessThan(100);
});
