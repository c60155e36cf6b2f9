import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { JsonFields } from '../format/document-json.ts';
import { comparePaths, everything, parseInstant, recordKind, type Scope, wholeDatabase } from '../ports/index.ts';
import {
  type DatabaseUnderTest,
  type OpenDatabase,
  pathsOf,
  readAll,
  scan,
  text,
  write,
} from './database-under-test.ts';

/** With subcollections, a missing parent and odd ids. */
const paths = [
  'orders/1',
  'users/ada',
  'users/ada/orders/1',
  'users/ada/orders/2',
  'users/ada/orders/2/lines/a',
  'users/bob',
  'users/ghost/orders/9',
  'users/é',
  'users/😀',
  'users-old/x',
  'ü/12',
  'ü/7',
  'ü/a b.c`d',
].sort(comparePaths);

type ScopeCase = readonly [string, Scope, (path: string) => boolean];

const inCollections = (...collections: string[]): Scope => ({ ...wholeDatabase, collections });

export interface SourceSuiteOptions {
  /**
   * Firestore sorts ids that are numbers (`__id7__`) before all others, and stretches of the order begin there. A server
   * that has no such ids sorts that place among the others and cannot be asked for everything below one document.
   */
  readonly hasNumericIds?: boolean;
}

/** What every DocumentSource must keep. */
export function documentSourceConformance(
  name: string,
  open: OpenDatabase,
  { hasNumericIds = true }: SourceSuiteOptions = {},
): void {
  describe(`${name} as a source`, () => {
    let database: DatabaseUnderTest;
    beforeEach(async () => {
      database = await open();
      await write(
        database,
        paths.map((path) => ({ path, fields: text(path) })),
      );
    });
    afterEach(() => database.close());

    test('holds every document exactly once, ascending, those under missing parents too', async () => {
      const documents = await scan(database);
      expect(pathsOf(documents)).toEqual(paths);
      for (const { path, fields, kind, name, updateTime } of documents) {
        expect({ fields, kind, name }).toEqual({
          fields: text(path),
          kind: recordKind.put,
          name: `${database.source.database}/documents/${path}`,
        });
        expect(updateTime).toMatch(/^\d{4}-.*Z$/);
      }
    });

    test('is read as of one instant, whatever is written afterwards', async () => {
      const readTime = await database.source.snapshotTime();
      await write(database, [
        { path: 'users/ada', fields: text('later') },
        { path: 'users/bob' },
        { path: 'users/new', fields: text('new') },
      ]);
      const before = await scan(database, { readTime });
      expect(pathsOf(before)).toEqual(paths);
      expect(before.find(({ path }) => path === 'users/ada')!.fields).toEqual(text('users/ada'));
      const now = await scan(database);
      expect(pathsOf(now)).toEqual([...paths, 'users/new'].filter((path) => path !== 'users/bob').sort(comparePaths));
    });

    test('tells an instant that can be read now, in microseconds', async () => {
      const readTime = await database.source.snapshotTime();
      expect(readTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}000Z$/);
      expect((await database.source.earliestReadTime()) <= readTime).toBe(true);
    });

    const scopes: readonly ScopeCase[] = [
      ['one collection and all below', inCollections('users'), (path) => path.startsWith('users/')],
      [
        'one collection alone',
        { ...inCollections('users'), includeSubcollections: false },
        (path) => /^users\/[^/]+$/.test(path),
      ],
      [
        'everything without subcollections',
        { ...wholeDatabase, includeSubcollections: false },
        (path) => /^[^/]+\/[^/]+$/.test(path),
      ],
      [
        'everything but one collection',
        { ...wholeDatabase, excludeCollections: ['users'] },
        (path) => !path.startsWith('users/'),
      ],
      [
        'a subcollection of every document',
        inCollections('users/*/orders'),
        (path) => /^users\/[^/]+\/orders\//.test(path),
      ],
      [
        'a subcollection of every document, alone',
        { ...inCollections('users/*/orders'), includeSubcollections: false },
        (path) => /^users\/[^/]+\/orders\/[^/]+$/.test(path),
      ],
      [
        'everything but a subcollection of every document',
        { ...wholeDatabase, excludeCollections: ['users/*/orders'] },
        (path) => !/^users\/[^/]+\/orders\//.test(path),
      ],
      ['a collection that does not exist', inCollections('nothing'), () => false],
    ];
    const nested: readonly ScopeCase[] = [
      ['a subcollection', inCollections('users/ada/orders'), (path) => path.startsWith('users/ada/orders/')],
      [
        'a collection but one below it',
        { ...inCollections('users'), excludeCollections: ['users/ada/orders'] },
        (path) => path.startsWith('users/') && !path.startsWith('users/ada/orders/'),
      ],
    ];
    test.skipIf(!hasNumericIds).each(nested)('scans and counts %s', (_, scope, isWithin) => check(scope, isWithin));
    test.each(scopes)('scans and counts %s', (_, scope, isWithin) => check(scope, isWithin));

    async function check(scope: Scope, isWithin: (path: string) => boolean): Promise<void> {
      const readTime = await database.source.snapshotTime();
      expect(pathsOf(await scan(database, { scope, readTime }))).toEqual(paths.filter(isWithin));
      expect(await database.source.count(everything, { scope, readTime })).toBe(paths.filter(isWithin).length);
    }

    test('goes on behind any document', async () => {
      const readTime = await database.source.snapshotTime();
      for (const [index, after] of paths.entries()) {
        expect(pathsOf(await scan(database, { readTime, after }))).toEqual(paths.slice(index + 1));
        const counted = await database.source.count(everything, { scope: wholeDatabase, readTime, after });
        expect(counted).toBe(paths.length - index - 1);
      }
    });

    test('any cuts give ranges that hold everything once', async () => {
      const { source } = database;
      const readTime = await source.snapshotTime();
      const planned = await source.planRanges({ scope: wholeDatabase, readTime, targetRanges: 4 });
      const bounds = [null, 'users', 'users/ada/orders/2', 'users/bob', null];
      const given = bounds.slice(1).map((end, index) => ({ start: bounds[index]!, end }));
      for (const ranges of [planned, given]) {
        const found: string[] = [];
        for (const range of ranges) {
          const inRange = await readAll(source.scan(range, { scope: wholeDatabase, readTime }), source.database);
          found.push(...pathsOf(inRange));
          expect(await source.count(range, { scope: wholeDatabase, readTime })).toBe(inRange.length);
        }
        expect(found).toEqual(paths);
      }
    });

    test('names alone come with their times and without fields', async () => {
      const readTime = await database.source.snapshotTime();
      const whole = await scan(database, { readTime });
      const names = await scan(database, { readTime, namesOnly: true });
      expect(names).toEqual(whole.map((document) => ({ ...document, fields: {} })));
    });

    test('named documents come in the order asked for, missing ones as deletes', async () => {
      const { source } = database;
      const readTime = await source.snapshotTime();
      const wanted = ['orders/1', 'users/ada', 'users/ada/orders/2/lines/a', 'users/ghost', 'ü/12'];
      const fetched = await readAll(source.fetch(wanted, { readTime }), source.database);
      expect(pathsOf(fetched)).toEqual(wanted);
      expect(fetched.map(({ kind }) => kind === recordKind.delete)).toEqual([false, false, false, true, false]);
      expect(fetched[3]!.fields).toEqual({});
      expect(parseInstant(fetched[3]!.updateTime!)).toBe(readTime);
      expect(fetched[1]!.fields).toEqual(text('users/ada'));
    });

    test('lists the collections of the root and below a document, missing ones too', async () => {
      const { source } = database;
      const readTime = await source.snapshotTime();
      const ids = async (parent: string) => {
        const found: string[] = [];
        for await (const id of source.listCollectionIds(parent, { readTime })) found.push(id);
        return found.sort(comparePaths);
      };
      expect(await ids('')).toEqual(['orders', 'users', 'users-old', 'ü']);
      expect(await ids('users/ada')).toEqual(['orders']);
      expect(await ids('users/ghost')).toEqual(['orders']);
      expect(await ids('users/bob')).toEqual([]);
    });

    test('a scan that is aborted ends with CANCELLED', async () => {
      const readTime = await database.source.snapshotTime();
      const scanning = database.source.scan(everything, {
        scope: wholeDatabase,
        readTime,
        signal: AbortSignal.abort(),
      });
      await expect(readAll(scanning, database.source.database)).rejects.toMatchObject({ code: 'CANCELLED' });
    });

    test('values of every kind come as they were written', async () => {
      const fields = everyKind(database.source.database);
      await write(database, [{ path: 'kinds/all', fields }]);
      const [found] = await scan(database, { scope: inCollections('kinds') });
      expect(found!.fields).toEqual(fields);
    });
  });
}

/** Every kind of value, at its edges. Map keys ascend, because a server may order them. */
export function everyKind(database: string): JsonFields {
  const referenceValue = `${database}/documents/users/ada`;
  return {
    array: { arrayValue: { values: [{ integerValue: '1' }, { nullValue: null }, { mapValue: {} }] } },
    bytes: { bytesValue: Buffer.from([0, 255, 128]).toString('base64') },
    bytesNone: { bytesValue: '' },
    doubleInfinity: { doubleValue: '-Infinity' },
    doubleNaN: { doubleValue: 'NaN' },
    doubleSmall: { doubleValue: 5e-324 },
    doubleWhole: { doubleValue: 3 },
    emptyArray: { arrayValue: {} },
    emptyMap: { mapValue: {} },
    false: { booleanValue: false },
    geoPoint: { geoPointValue: { latitude: -33.5, longitude: 151.25 } },
    integerMax: { integerValue: '9223372036854775807' },
    integerMin: { integerValue: '-9223372036854775808' },
    map: {
      mapValue: { fields: { a: { stringValue: 'b' }, z: { mapValue: { fields: { 'c.d': { integerValue: '0' } } } } } },
    },
    null: { nullValue: null },
    reference: { referenceValue },
    string: { stringValue: 'ünïcödé 😀 \u0000' },
    stringNone: { stringValue: '' },
    timeFirst: { timestampValue: '0001-01-01T00:00:00Z' },
    timeLast: { timestampValue: '9999-12-31T23:59:59.999999Z' },
    true: { booleanValue: true },
  };
}
