import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SortedList } from './sorted-list.ts';

interface Item {
  key: string;
}

function keysFrom(list: SortedList<Item>, from: string, to: string | null, descending = false): string[] {
  const cursor = list.cursor(from, to, descending);
  const keys: string[] = [];
  for (let item = cursor.next(); item !== undefined; item = cursor.next()) keys.push(item.key);
  return keys;
}

const keys = fc.uniqueArray(
  fc.nat(5000).map((number) => `k${String(number).padStart(4, '0')}`),
  { maxLength: 2000 },
);

test('ranges come out in order, both ways, after any inserts and deletes', () => {
  fc.assert(
    fc.property(keys, fc.nat(2000), fc.nat(5000), fc.nat(5000), (inserted, deletedCount, low, high) => {
      const list = new SortedList<Item>();
      for (const key of inserted) list.insert({ key });
      const deleted = new Set(inserted.slice(0, deletedCount));
      for (const key of deleted) list.delete(key);
      const from = `k${String(low).padStart(4, '0')}`;
      const to = `k${String(high).padStart(4, '0')}`;
      const expected = inserted.filter((key) => !deleted.has(key) && key >= from && key < to).sort();
      expect(keysFrom(list, from, to)).toEqual(expected);
      expect(list.countBetween(from, to)).toBe(expected.length);
      expect(list.countBetween('', null)).toBe(list.size);
      expect(keysFrom(list, from, to, true)).toEqual(expected.reverse());
      expect(list.size).toBe(inserted.length - deleted.size);
    }),
    { numRuns: 60 },
  );
});

test('a cursor continues after its last item when the list changes', () => {
  const list = new SortedList<Item>();
  for (let index = 0; index < 3000; index += 2) list.insert({ key: `k${String(index).padStart(4, '0')}` });
  const cursor = list.cursor('', null);
  const seen: string[] = [];
  for (let item = cursor.next(); item !== undefined; item = cursor.next()) {
    seen.push(item.key);
    if (seen.length === 700) {
      for (let index = 1; index < 3000; index += 2) list.insert({ key: `k${String(index).padStart(4, '0')}` });
      list.delete(item.key);
    }
  }
  expect(seen).toEqual([...new Set(seen)].sort());
  expect(seen.length).toBe(700 + (3000 - 1399));
});
