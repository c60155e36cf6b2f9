import { expect, test } from 'vitest';
import { failedLast } from '../app/components/line/failed-last.ts';
import { midnightsOf, ticksOf } from '../app/components/line/ticks.ts';
import { lineOfNames, namesOfLine } from '../app/format/names.ts';
import { momentIn } from '../app/format/times.ts';
import { changedPart, databaseOfReference, diffRows, hintOf, rowsOf, typeOf } from '../app/format/values.ts';
import { collectionsBelow } from '../app/pages/browse/collections-below.ts';
import { reachOf } from '../app/pages/time/reachable.ts';

const integer = (value: number) => ({ integerValue: String(value) });

test('the two zeros of Firestore are not the same', () => {
  const [row] = diffRows({ zero: { doubleValue: 0 } }, { zero: { doubleValue: -0 } });
  expect(row?.change).toBe('changed');
});

test('a field called as something that every object has was not there before it was added', () => {
  const rows = diffRows({}, { constructor: integer(1), toString: integer(2) });
  expect(rows.map(({ name, then: before, change }) => [name, before, change])).toEqual([
    ['constructor', undefined, 'added'],
    ['toString', undefined, 'added'],
  ]);
});

test('a vector is shown as one, and not as the map that REST writes it as', () => {
  const vector = (...numbers: number[]) => {
    const values = numbers.map((number) => ({ doubleValue: number }));
    return { mapValue: { fields: { __type__: { stringValue: '__vector__' }, value: { arrayValue: { values } } } } };
  };
  const embedding = vector(0.5, 2);
  expect([typeOf(embedding), hintOf(embedding)]).toEqual(['vector', '0.5, 2.0']);
  const rows = rowsOf({ embedding }, new Set(['embedding']));
  expect(rows.map(({ name, depth }) => [name, depth])).toEqual([
    ['embedding', 0],
    ['0', 1],
    ['1', 1],
  ]);
  const [changed, ...others] = diffRows({ embedding }, { embedding: vector(0.5, 3) });
  expect([changed?.change, others]).toEqual(['changed', []]);
  const own = { mapValue: { fields: { __type__: { stringValue: 'mine' } } } };
  expect([typeOf(own), hintOf(own)]).toEqual(['map', '__type__']);
});

test('a reference that leads nowhere here names the database it leads into', () => {
  const into = (database: string) => databaseOfReference(`projects/other/databases/${database}/documents/a/b`);
  expect([into('(default)'), into('eu')]).toEqual(['other', 'other/eu']);
});

test('an opened list keeps its order, and says which of its entries differ', () => {
  const list = (last: number) => ({ arrayValue: { values: [...Array(11).keys(), last].map(integer) } });
  const [, ...entries] = diffRows({ list: list(11) }, { list: list(99) }, new Set(['list']));
  expect(entries.map(({ name }) => name)).toEqual([...Array(12).keys()].map(String));
  expect(entries.filter(({ change }) => change !== 'same').map(({ name }) => name)).toEqual(['11']);
});

test('of two texts only the part that differs is marked, and no character is cut in two', () => {
  const marked = (text: string, other: string) => {
    const { start, end } = changedPart(text, other);
    return text.slice(start, end);
  };
  expect(marked('order paid today', 'order pending today')).toBe('aid');
  expect(marked('same and more', 'same')).toBe(' and more');
  expect(marked('same', 'same and more')).toBe('');
  expect(marked('a😀b', 'a😁b')).toBe('😀');
});

test('collections below a document are those that documents of its collection have', () => {
  const events = { id: 'events', path: 'users/*/orders/*/events', collections: [] };
  const orders = { id: 'orders', path: 'users/*/orders', collections: [events] };
  const tree = [{ id: 'users', path: 'users', collections: [orders] }];
  expect(collectionsBelow(tree, 'users/ada')).toEqual(['orders']);
  expect(collectionsBelow(tree, 'users/ada/orders/1')).toEqual(['events']);
  expect(collectionsBelow(tree, 'rooms/1')).toEqual([]);
});

test('the nearest moments that are offered can be reached, though the service counts finer than a page', () => {
  const [coveredFrom, coveredTo] = ['2026-01-01T10:00:00.123456Z', '2026-01-01T12:00:00.123456Z'];
  const gap = { from: '2026-01-01T11:00:00.123456Z', to: '2026-01-01T11:05:00.123456Z', reason: '' };
  const window = { coveredFrom, coveredTo, gaps: [gap] };
  const nearest = ['2026-01-01T09:00:00Z', '2026-01-01T11:01:00Z', '2026-01-01T13:00:00Z'].map((at) =>
    reachOf(window, Date.parse(at)).nearest.map((ms) => new Date(ms).toISOString()),
  );
  expect(nearest).toEqual([
    ['2026-01-01T10:00:00.124Z'],
    ['2026-01-01T11:00:00.123Z', '2026-01-01T11:05:00.124Z'],
    ['2026-01-01T12:00:00.123Z'],
  ]);
  for (const at of nearest.flat()) expect(reachOf(window, Date.parse(at)).isReachable, at).toBe(true);
  expect(reachOf(window, Date.parse('2026-01-01T10:00:00.123Z')).isReachable).toBe(false);
});

test('names of collections come back as they were, with commas and quotes in them', () => {
  const names = ['users', 'a, b', 'say "hi"', ' spaced ', '"', 'back\\slash', '"quoted", and more'];
  expect(namesOfLine(lineOfNames(names))).toEqual(names);
  expect(namesOfLine(' users ,, orders,')).toEqual(['users', 'orders']);
  expect(namesOfLine('5" disks, "half')).toEqual(['5" disks', '"half']);
});

test('the word of a day stands at its midnight, in the zone that is shown', () => {
  const [from, to] = [Date.parse('2026-10-22T12:00:00Z'), Date.parse('2026-10-28T12:00:00Z')];
  const berlin = ticksOf(from, to, 8, 'Europe/Berlin');
  expect(berlin.map(({ atMs }) => new Date(atMs).toISOString().slice(0, 16))).toEqual([
    '2026-10-22T22:00',
    '2026-10-23T22:00',
    '2026-10-24T22:00',
    '2026-10-25T23:00',
    '2026-10-26T23:00',
    '2026-10-27T23:00',
  ]);
  const [first] = ticksOf(from, to, 8, 'America/Los_Angeles');
  expect(new Date(first!.atMs).toISOString()).toBe('2026-10-23T07:00:00.000Z');
});

test('what failed is drawn over what went well at the same place', () => {
  const drawn = failedLast([{ kind: 'failed' }, { kind: 'full' }, { kind: 'drill' }]);
  expect(drawn.map(({ kind }) => kind)).toEqual(['full', 'drill', 'failed']);
});

test('above the lines of all projects, too, a day begins at its midnight and not at this hour of it', () => {
  const [from, to] = [Date.parse('2026-10-20T22:30:00Z'), Date.parse('2026-10-27T22:30:00Z')];
  const days = midnightsOf(from, to, 2, 'Europe/Berlin').map((ms) => new Date(ms).toISOString().slice(0, 16));
  expect(days).toEqual(['2026-10-22T22:00', '2026-10-24T22:00', '2026-10-26T23:00']);
});

test('a moment is typed as people say it', () => {
  const nowMs = Date.parse('2026-03-30T09:00:00Z');
  const typed = (text: string) => {
    const atMs = momentIn(text, 'Europe/Lisbon', nowMs);
    return atMs === undefined ? undefined : new Date(atMs).toISOString().slice(0, 19);
  };
  expect(typed('yesterday 14:05')).toBe('2026-03-29T13:05:00');
  expect(typed('Yesterday at 0:30')).toBe('2026-03-29T00:30:00');
  expect(typed('today 9:15:30')).toBe('2026-03-30T08:15:30');
  expect(typed('14:05')).toBe('2026-03-29T13:05:00');
  expect(typed('9:15')).toBe('2026-03-30T08:15:00');
  expect(typed('2026-03-01 02:46:59')).toBe('2026-03-01T02:46:59');
  expect(typed('tomorrow 14:05')).toBeUndefined();
  expect(typed('yesterday')).toBeUndefined();
});
