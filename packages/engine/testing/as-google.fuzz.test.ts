// @module-tag long
import {
  AggregateField,
  FieldPath,
  FieldValue,
  Filter,
  Firestore,
  GeoPoint,
  type Query,
  Timestamp,
  type WhereFilterOp,
} from '@google-cloud/firestore';
import { type FirestoreSandbox, startFirestoreSandbox } from '@holdfast/sandbox';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isGoogleEmulatorInstalled, startGoogleEmulator } from './google-emulator.ts';

/** As `npm run fuzz` says. */
const histories = Number(process.env.FUZZ_CASES ?? 3);
const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 1_000_000);
/** A third of a second on a machine that does nothing else; each of some hundred questions waits its turn twice. */
const historyMsMax = 60_000;

/** Made for one database, since references belong to one. */
type Made = (database: Firestore) => unknown;

const constant =
  (value: unknown): Made =>
  () =>
    value;
const plain = [null, true, false, 0, -0, 1, -1, 1.5, 1e300, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53 - 1];
const texts = ['', 'a', 'b', 'ab', 'é', '😀', '\uFFFD', 'Z', Buffer.from([]), Buffer.from([0]), Buffer.from([1, 0])];
const times = [Timestamp.fromMillis(0), Timestamp.fromMillis(1e12), new Timestamp(1, 5000)];
const points = [new GeoPoint(0, 0), new GeoPoint(-1, 5), new GeoPoint(1, -5)];
const arrays = [[], [1], [1, 2], ['a'], [null], [{ a: 1 }]];
const maps = [{}, { a: 1 }, { a: 1, b: 2 }, { b: { c: 1 } }];
const vectors = [FieldValue.vector([1]), FieldValue.vector([1, 2])];
const values: readonly Made[] = [
  ...[...plain, ...texts, ...times, ...points, ...arrays, ...maps, ...vectors].map(constant),
  (database) => database.doc('a/b'),
  (database) => database.doc('a/b/c/d'),
];

const anyValue = fc.constantFrom(...values);
const anyField = fc.constantFrom('x', 'y', 'm.a', 'm.b.c', 'arr');
/** Few, so that one write meets what another has left. */
const anyId = fc.constantFrom('a', 'B', '10', 'é', '😀', '__id7__');
const anyPath = fc
  .tuple(anyId, fc.option(anyId, { freq: 3 }))
  .map(([id, below]) => `w/${id}${below === null ? '' : `/s/${below}`}`);

type Write = (database: Firestore, path: string, field: string, one: unknown, other: unknown) => Promise<unknown>;
const merge = { merge: true };
const writes: { readonly [name: string]: Write } = {
  set: (database, path, _field, x, y) => database.doc(path).set({ x, y }),
  create: (database, path, _field, x) => database.doc(path).create({ x }),
  update: (database, path, field, value) => database.doc(path).update({ [field]: value }),
  merge: (database, path, _field, a, n) => database.doc(path).set({ m: { a }, n }, merge),
  'merge fields': (database, path, _field, c) =>
    database.doc(path).set({ m: { b: { c } }, left: 1 }, { mergeFields: ['m.b'] }),
  delete: (database, path) => database.doc(path).delete(),
  'delete one that exists': (database, path) => database.doc(path).delete({ exists: true }),
  'delete a field': (database, path, field) => database.doc(path).update({ [field]: FieldValue.delete() }),
  increment: (database, path) => database.doc(path).set({ x: FieldValue.increment(1.5) }, merge),
  'increment beyond': (database, path) => database.doc(path).set({ y: FieldValue.increment(2 ** 53 - 1) }, merge),
  union: (database, path) => database.doc(path).set({ arr: FieldValue.arrayUnion(1, 'a', null) }, merge),
  remove: (database, path) => database.doc(path).update({ arr: FieldValue.arrayRemove(1, 2) }),
};

type Ask = (query: Query, field: string, value: unknown, count: number) => Query;
const anyOperator = ['==', '!=', '<', '<=', '>', '>=', 'array-contains'] as const satisfies WhereFilterOp[];
const lists = ['in', 'not-in', 'array-contains-any'] as const satisfies WhereFilterOp[];
const asks: { readonly [name: string]: Ask } = {
  ...Object.fromEntries(
    anyOperator.map((operator): [string, Ask] => [
      operator,
      (query, field, value, count) => query.where(field, operator, value).limit(count),
    ]),
  ),
  ...Object.fromEntries(
    lists.map((operator): [string, Ask] => [
      operator,
      (query, field, value) => query.where(field, operator, [value, 1]),
    ]),
  ),
  upwards: (query, field, value) => query.orderBy(field).startAt(value),
  downwards: (query, field, value) => query.orderBy(field, 'desc').endBefore(value),
  last: (query, field, _value, count) => query.orderBy(field).orderBy(FieldPath.documentId()).limitToLast(count),
  either: (query, field, value) => query.where(Filter.or(Filter.where(field, '==', value), Filter.where('y', '==', 1))),
  some: (query, field, _value, count) => query.select(field).offset(count).limit(3),
};

describe.skipIf(!isGoogleEmulatorInstalled)("the sandbox and Google's own emulator", () => {
  let google: Awaited<ReturnType<typeof startGoogleEmulator>>;
  let sandbox: FirestoreSandbox;
  let projects = 0;
  beforeAll(async () => {
    [google, sandbox] = await Promise.all([startGoogleEmulator(), startFirestoreSandbox()]);
  });
  afterAll(() => Promise.all([google.stop(), sandbox.stop()]));

  /** A new database in both, and a way to ask both and hear whether they answer alike. */
  function openBoth() {
    projects += 1;
    const open = (host: string) =>
      new Firestore({
        projectId: `both-${projects}`,
        host,
        ssl: false,
        customHeaders: { Authorization: 'Bearer owner' },
      });
    const databases = [open(google.address), open(sandbox.address)] as const;
    const alike = async (what: string, ask: (database: Firestore) => Promise<unknown>) => {
      const [theirs, ours] = await Promise.all(databases.map((database) => outcomeOf(() => ask(database))));
      expect(ours, what).toEqual(theirs);
    };
    return { alike, close: () => Promise.all(databases.map((database) => database.terminate())) };
  }

  test('hold the same after the same writes, and answer every question alike', {
    timeout: histories * historyMsMax,
  }, async () => {
    const anyWrite = fc.record({
      name: fc.constantFrom(...Object.keys(writes)),
      path: anyPath,
      field: anyField,
      one: anyValue,
      other: anyValue,
    });
    const anyQuestion = fc.record({
      name: fc.constantFrom(...Object.keys(asks)),
      isGroup: fc.boolean(),
      // A vector is written like a map with a `value`.
      field: fc.oneof(anyField, fc.constant('x.value')),
      value: anyValue,
      count: fc.integer({ min: 1, max: 5 }),
    });
    const history = fc.tuple(
      fc.array(anyWrite, { minLength: 40, maxLength: 120 }),
      fc.array(anyQuestion, { minLength: 20, maxLength: 40 }),
    );
    await fc.assert(
      fc.asyncProperty(history, async ([steps, questions]) => {
        const { alike, close } = openBoth();
        try {
          for (const { name, path, field, one, other } of steps)
            await alike(`${name} ${path} ${field}`, async (database) => {
              await writes[name]!(database, path, field, one(database), other(database));
            });
          await alike('the documents', async (database) => [
            ...(await documentsOf(database.collection('w'))),
            ...(await documentsOf(database.collectionGroup('s'))),
          ]);
          await alike('the names', async (database) => [
            ...(await database.collection('w').listDocuments()).map(({ id }) => id),
            ...(await database.listCollections()).map(({ id }) => id),
          ]);
          for (const { name, isGroup, field, value, count } of questions) {
            const rows = (database: Firestore) => (isGroup ? database.collectionGroup('s') : database.collection('w'));
            await alike(`${name} ${field} of ${isGroup ? 's' : 'w'}`, (database) =>
              documentsOf(asks[name]!(rows(database), field, value(database), count)),
            );
          }
          for (const field of ['x', 'arr'])
            await alike(`the sum of ${field}`, async (database) => {
              const sums = {
                n: AggregateField.count(),
                sum: AggregateField.sum(field),
                mean: AggregateField.average(field),
              };
              return (await database.collection('w').aggregate(sums).get()).data();
            });
        } finally {
          await close();
        }
      }),
      { numRuns: histories, seed },
    );
  });
});

async function outcomeOf(ask: () => Promise<unknown>): Promise<unknown> {
  try {
    return legible(await ask());
  } catch (error) {
    const { code, message } = error as Error & { code?: number };
    // What the client itself refuses is none of theirs.
    return code === undefined ? message : `refused with ${code}`;
  }
}

async function documentsOf(query: Query): Promise<unknown[]> {
  return (await query.get()).docs.map((document) => [document.ref.path, document.data()]);
}

/** References of two databases are alike when their paths are; the order of fields is nobody's promise. */
function legible(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value ?? null, (_key, inner: unknown) => {
      if (typeof inner === 'number' && (!Number.isFinite(inner) || Object.is(inner, -0)))
        return `number ${inner === 0 ? '-0' : inner}`;
      if (inner !== null && typeof inner === 'object' && 'formattedName' in inner && 'path' in inner)
        return `to ${inner.path}`;
      return inner;
    }),
  );
}
