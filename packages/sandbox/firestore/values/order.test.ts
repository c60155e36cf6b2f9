import fc from 'fast-check';
import { expect, test } from 'vitest';
import { value } from '../../sample-data/value-builder.ts';
import { anyValue } from '../testing/arbitraries.ts';
import { compareValues } from './order.ts';
import { decodeValue } from './value.ts';

const root = 'projects/p/databases/d/documents';

/** Every line sorts before the next; values within a line are equal. */
const ascending: Uint8Array[][] = [
  [value.null],
  [value.boolean(false)],
  [value.boolean(true)],
  [value.double(Number.NaN)],
  [value.double(Number.NEGATIVE_INFINITY)],
  [value.integer(-(2n ** 63n)), value.double(-(2 ** 63))],
  [value.integer(-1), value.double(-1)],
  [value.integer(0), value.double(0), value.double(-0)],
  [value.double(Number.MIN_VALUE)],
  [value.integer(1), value.double(1)],
  [value.double(9007199254740992), value.integer(9007199254740992n)],
  [value.integer(9007199254740993n)],
  [value.integer(2n ** 63n - 1n)],
  [value.double(2 ** 63)],
  [value.double(Number.POSITIVE_INFINITY)],
  [value.timestamp(-1)],
  [value.timestamp(1)],
  [value.string('')],
  [value.string('A')],
  [value.string('a')],
  [value.string('\uffee')],
  [value.string('🔥')],
  [value.bytes(new Uint8Array(0))],
  [value.bytes(Uint8Array.of(0))],
  [value.bytes(Uint8Array.of(255))],
  [value.reference(`${root}/c/__id7__`)],
  [value.reference(`${root}/c/__id10__`)],
  [value.reference(`${root}/c/a`)],
  [value.reference(`${root}/c/a/b/c`)],
  [value.reference(`${root}/c/b`)],
  [value.geoPoint(-90, 180)],
  [value.geoPoint(0, -1)],
  [value.geoPoint(0, 1)],
  [value.array([])],
  [value.array([value.integer(1)])],
  [value.array([value.integer(1), value.null])],
  [value.array([value.integer(2)])],
  [value.vector([9])],
  [value.vector([1, 2])],
  [value.vector([1, 3])],
  [value.map()],
  [value.map(['a', value.integer(1)])],
  [value.map(['b', value.integer(0)], ['a', value.integer(1)])],
  [value.map(['a', value.integer(2)])],
  [value.map(['b', value.null])],
];

test('values of all types sort in Firestore’s order', () => {
  const ranked = ascending.flatMap((equal, rank) => equal.map((bytes) => ({ rank, decoded: decodeValue(bytes) })));
  for (const left of ranked) {
    for (const right of ranked) {
      const order = compareValues(left.decoded, right.decoded);
      expect(Math.sign(order), JSON.stringify([left.rank, right.rank])).toBe(Math.sign(left.rank - right.rank));
    }
  }
});

test('the order is total: antisymmetric and transitive for any values', { tags: 'long' }, () => {
  const decoded = anyValue.map((bytes) => decodeValue(bytes));
  fc.assert(
    fc.property(decoded, decoded, decoded, (a, b, c) => {
      expect(Math.sign(compareValues(a, b)) + Math.sign(compareValues(b, a))).toBe(0);
      const [low, middle, high] = [a, b, c].sort(compareValues);
      expect(compareValues(low!, high!)).toBeLessThanOrEqual(0);
      expect(compareValues(low!, middle!)).toBeLessThanOrEqual(0);
    }),
    { numRuns: 1000 },
  );
});
