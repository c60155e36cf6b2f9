import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { comparePaths, rangeContains, rangesMeet } from './path-order.ts';

/** The order written the slow, obvious way. */
function slowCompare(left: string, right: string): number {
  const leftSegments = left.split('/');
  const rightSegments = right.split('/');
  for (let index = 0; index < Math.min(leftSegments.length, rightSegments.length); index += 1) {
    const decided = compareSegments(leftSegments[index]!, rightSegments[index]!);
    if (decided !== 0) return decided;
  }
  return leftSegments.length - rightSegments.length;
}

function compareSegments(left: string, right: string): number {
  const numbers = [left, right].map((segment) => /^__id(-?\d{1,19})__$/.exec(segment)?.[1]);
  if (numbers[0] !== undefined && numbers[1] !== undefined) return Number(BigInt(numbers[0]) - BigInt(numbers[1]));
  if (numbers[0] !== undefined) return -1;
  if (numbers[1] !== undefined) return 1;
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}

const segment = fc.oneof(
  fc.string({
    unit: fc.constantFrom('a', 'b', '-', '.', '0', '_', 'é', '\uffee', '😀', '~'),
    minLength: 1,
    maxLength: 4,
  }),
  fc.integer({ min: -20, max: 20 }).map((number) => `__id${number}__`),
  fc.constantFrom('__id', '__id7', '__id7__x', 'users', 'user'),
);
const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => segments.join('/'));

describe('the order of paths', () => {
  test('equals the segment-wise order written the obvious way', () => {
    fc.assert(
      fc.property(path, path, (left, right) => {
        expect(Math.sign(comparePaths(left, right))).toBe(Math.sign(slowCompare(left, right)));
      }),
      { numRuns: 3000 },
    );
  });

  test('numeric ids come first and by number, parents before children, siblings after a whole subtree', () => {
    const sorted = [
      'a/__id-3__',
      'a/__id7__',
      'a/__id10__',
      'a/x',
      'a/x/b/c',
      'a/x-',
      'a/x.y',
      'b/1',
      'b/\uffee',
      'b/😀',
    ];
    expect([...sorted].reverse().sort(comparePaths)).toEqual(sorted);
  });
});

test('ranges are half-open and meet only where a document could lie in both', () => {
  expect(rangeContains({ start: 'a/b', end: 'a/c' }, 'a/b')).toBe(true);
  expect(rangeContains({ start: 'a/b', end: 'a/c' }, 'a/b/x/y')).toBe(true);
  expect(rangeContains({ start: 'a/b', end: 'a/c' }, 'a/c')).toBe(false);
  expect(rangesMeet({ start: null, end: 'b/1' }, { start: 'b/1', end: null })).toBe(false);
  expect(rangesMeet({ start: null, end: 'b/2' }, { start: 'b/1', end: null })).toBe(true);
});
