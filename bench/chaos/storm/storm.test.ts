import { expect, test } from 'vitest';
import { differences } from './shop.ts';
import { troubles } from './troubles.ts';

const value = (n: number) => ({ n, map: { list: [n, null], text: 'x' } });

test('what is missing, changed or too much is a difference; the order of fields is none', () => {
  const wanted = new Map([
    ['users/a', value(1)],
    ['users/b', value(2)],
    ['users/c', value(3)],
  ]);
  const found = new Map<string, Record<string, unknown>>([
    ['users/a', { map: { text: 'x', list: [1, null] }, n: 1 }],
    ['users/b', { ...value(2), map: { list: [2], text: 'x' } }],
    ['users/d', value(4)],
  ]);
  expect(differences(wanted, wanted)).toEqual([]);
  expect(differences(found, wanted).toSorted()).toEqual(['users/b', 'users/c', 'users/d']);
});

test('storage is harmed on every level: the way, the request, the bytes, the answer', () => {
  for (const level of ['cannot be reached', 'answers with errors', 'damages bytes', 'loses answers'])
    expect(Object.keys(troubles)).toContain(`storage ${level}`);
});
