// @module-tag long
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { value } from '../sample-data/value-builder.ts';
import { database, fields, name, query, root, setWrite } from './testing/fixtures.ts';
import { startWithClient } from './testing/start-with-client.ts';

const { sandbox, client, stop } = await startWithClient();
afterAll(stop);

/** Few ids, so that documents share parents, lack them, and nest a collection in itself. */
const id = fc.constantFrom('a', 'b', 'a!', '__id2__', '__id10__', 'é', '🔥', '\uffee');
const collectionId = fc.constantFrom('x', 'y', 'x.');
const documentPath = fc
  .array(fc.tuple(collectionId, id), { minLength: 1, maxLength: 3 })
  .map((pairs) => pairs.map((pair) => pair.join('/')).join('/'));

interface Cut {
  readonly path: string;
  readonly before: boolean;
}
const cut = fc.option(fc.record({ path: documentPath, before: fc.boolean() }));

function numericId(segment: string): number | null {
  const match = /^__id(\d+)__$/.exec(segment);
  return match === null ? null : Number(match[1]);
}

/** The order of names, written out. */
function compareNames(left: string, right: string): number {
  const [a, b] = [left.split('/'), right.split('/')];
  for (let index = 0; index < Math.min(a.length, b.length); index++) {
    const [x, y] = [numericId(a[index]!), numericId(b[index]!)];
    const order =
      x !== null && y !== null
        ? x - y
        : x !== null
          ? -1
          : y !== null
            ? 1
            : Buffer.compare(Buffer.from(a[index]!), Buffer.from(b[index]!));
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

interface Selection {
  readonly parent: string;
  readonly collection: string;
  readonly allDescendants: boolean;
  readonly descending: boolean;
  readonly start: Cut | null;
  readonly end: Cut | null;
  readonly offset: number;
  readonly limit: number | null;
}

const selection: fc.Arbitrary<Selection> = fc.record({
  parent: fc.oneof(fc.constant(''), documentPath),
  collection: fc.oneof(fc.constant(''), collectionId),
  allDescendants: fc.boolean(),
  descending: fc.boolean(),
  start: cut,
  end: cut,
  offset: fc.nat(3),
  limit: fc.option(fc.nat(8)),
});

/** The answer by plain filtering and sorting. */
function expected(paths: readonly string[], wanted: Selection): string[] {
  const parents = wanted.parent === '' ? [] : wanted.parent.split('/');
  const sign = wanted.descending ? -1 : 1;
  const within = paths.filter((path) => {
    const segments = path.split('/');
    if (segments.length < parents.length + 2 || parents.some((segment, index) => segments[index] !== segment))
      return false;
    if (!wanted.allDescendants && segments.length !== parents.length + 2) return false;
    return wanted.collection === '' || segments.at(-2) === wanted.collection;
  });
  const kept = within.filter((path) => {
    const fromStart = wanted.start === null ? 1 : sign * compareNames(path, wanted.start.path);
    const fromEnd = wanted.end === null ? -1 : sign * compareNames(path, wanted.end.path);
    return (wanted.start?.before ? fromStart >= 0 : fromStart > 0) && (wanted.end?.before ? fromEnd < 0 : fromEnd <= 0);
  });
  const sorted = kept.sort((left, right) => sign * compareNames(left, right));
  return sorted.slice(wanted.offset, wanted.limit === null ? undefined : wanted.offset + wanted.limit);
}

function structured(wanted: Selection): object {
  const cursor = (at: Cut | null): object | null =>
    at === null ? null : { values: [value.reference(`${root}/${at.path}`)], before: at.before };
  return {
    from: [{ collectionId: wanted.collection, allDescendants: wanted.allDescendants }],
    orderBy: [{ field: { fieldPath: '__name__' }, direction: wanted.descending ? 2 : 1 }],
    startAt: cursor(wanted.start),
    endAt: cursor(wanted.end),
    offset: wanted.offset,
    limit: wanted.limit === null ? null : { value: wanted.limit },
  };
}

test('any scan by name gives what plain filtering and sorting gives', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(documentPath, { minLength: 1, maxLength: 40 }),
      fc.array(selection, { minLength: 1, maxLength: 12 }),
      async (paths, selections) => {
        sandbox.control.clear(name);
        await client.unary('Commit', {
          database: database,
          writes: paths.map((path) => setWrite(path, fields({ n: 1 }))),
        });
        for (const wanted of selections) {
          const parent = wanted.parent === '' ? root : `${root}/${wanted.parent}`;
          const found = query(client, structured(wanted), { parent });
          if (wanted.collection === '' && wanted.descending) await expect(found).rejects.toThrow('INVALID_ARGUMENT');
          else expect(await found).toEqual(expected(paths, wanted));
        }
      },
    ),
    { numRuns: 80 },
  );
});
