import fc from 'fast-check';
import { value } from '../../sample-data/value-builder.ts';

const fieldName = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
  .filter((name) => name.isWellFormed() && !/^__.*__$/s.test(name));

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

const scalar = fc.oneof(
  fc.constant(value.null),
  fc.boolean().map(value.boolean),
  int64.map(value.integer),
  fc.double().map(value.double),
  fc.constantFrom(0, -0, Number.NaN, Number.POSITIVE_INFINITY, 1e308).map(value.double),
  fc
    .tuple(fc.integer({ min: -62_135_596_800, max: 253_402_300_799 }), fc.nat(999_999_999))
    .map(([seconds, nanos]) => value.timestampParts(seconds, nanos)),
  fc
    .string({ unit: 'grapheme' })
    .filter((text) => text.isWellFormed())
    .map(value.string),
  fc.uint8Array({ maxLength: 40 }).map(value.bytes),
  fc
    .constantFrom('a/b', 'a/b/c/__id7__', 'é/🔥')
    .map((path) => value.reference(`projects/p/databases/d/documents/${path}`)),
  fc
    .tuple(fc.double({ min: -90, max: 90, noNaN: true }), fc.double({ min: -180, max: 180, noNaN: true }))
    .map(([latitude, longitude]) => value.geoPoint(latitude, longitude)),
);

/** Allowed anywhere but in an array. */
const vector = fc.array(fc.double(), { minLength: 1, maxLength: 5 }).map(value.vector);

const entriesOf = (inner: fc.Arbitrary<Uint8Array>): fc.Arbitrary<[string, Uint8Array][]> =>
  fc.uniqueArray(fc.tuple(fieldName, inner), { maxLength: 6, selector: ([name]) => name });

const { tree } = fc.letrec<{ tree: Uint8Array; map: Uint8Array; array: Uint8Array }>((tie) => ({
  tree: fc.oneof({ depthSize: 'small', withCrossShrink: true }, scalar, vector, tie('map'), tie('array')),
  map: entriesOf(tie('tree')).map((entries) => value.map(...entries)),
  array: fc.array(fc.oneof(scalar, tie('map')), { maxLength: 4 }).map(value.array),
}));

/** Any value that a document may contain, encoded. */
export const anyValue: fc.Arbitrary<Uint8Array> = tree;

/** Any document's fields: names and encoded values. */
export const anyFields: fc.Arbitrary<[string, Uint8Array][]> = entriesOf(tree);
