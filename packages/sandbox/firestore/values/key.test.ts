import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareKeys, groupOfKey, keyFromPath, pathFromKey } from './key.ts';

const odd = fc.constantFrom(
  '__id7__',
  '__id10__',
  '__id-3__',
  '__id9223372036854775807__',
  '\u0000',
  '\u0001',
  'a\u0001',
  '\uffee',
  '🔥',
  '\ue000',
  '__',
  'a.b',
);
const segment = fc
  .oneof(odd, fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 }), fc.string({ minLength: 1, maxLength: 3 }))
  .filter((text) => !text.includes('/') && text.isWellFormed());
const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => segments.join('/'));

/** The order as Firestore documents it, written out. */
function compareByTheBook(left: string, right: string): number {
  const [a, b] = [left.split('/'), right.split('/')];
  for (let index = 0; index < Math.min(a.length, b.length); index++) {
    const [x, y] = [numericId(a[index]!), numericId(b[index]!)];
    if (x !== null && y !== null && x !== y) return x < y ? -1 : 1;
    if ((x === null) !== (y === null)) return x !== null ? -1 : 1;
    const order = Buffer.compare(Buffer.from(a[index]!), Buffer.from(b[index]!));
    if (x === null && order !== 0) return order;
  }
  return a.length - b.length;
}

function numericId(text: string): bigint | null {
  const match = /^__id(0|-?[1-9][0-9]*)__$/.exec(text);
  return match === null ? null : BigInt(match[1]!);
}

test('comparing keys as strings gives the order of names: segment-wise, numeric ids first, then UTF-8', () => {
  fc.assert(
    fc.property(path, path, (left, right) => {
      expect(Math.sign(compareKeys(keyFromPath(left), keyFromPath(right)))).toBe(
        Math.sign(compareByTheBook(left, right)),
      );
    }),
    { numRuns: 5000 },
  );
});

test('a key can be converted back into its path', () => {
  fc.assert(
    fc.property(path, (text) => {
      expect(pathFromKey(keyFromPath(text))).toBe(text);
    }),
  );
});

test('a key knows its collection', () => {
  expect(groupOfKey(keyFromPath('users/__id7__/orders/a'))).toBe('orders');
  expect(groupOfKey(keyFromPath('users/ada'))).toBe('users');
});
