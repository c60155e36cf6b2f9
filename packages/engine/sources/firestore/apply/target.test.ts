import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { fillFast } from '../../../../sandbox/index.ts';
import { arbitraryFields } from '../../../fixtures/arbitrary-documents.ts';
import { decodeDocument, type JsonFields } from '../../../format/document-json.ts';
import {
  type ApplyOptions,
  type ApplyProgress,
  everything,
  isEngineError,
  wholeDatabase,
} from '../../../ports/index.ts';
import type { ConnectedFirestore } from '../connect.ts';
import {
  batchesOf,
  collect,
  type FirestoreHarness,
  fields,
  scanAll,
  startFirestoreHarness,
  type TestRecord,
  write,
} from '../testing/firestore-harness.ts';

let harness: FirestoreHarness;
let projects = 0;
beforeAll(async () => {
  harness = await startFirestoreHarness();
});
afterAll(() => harness.stop());
afterEach(() => {
  harness.sandbox.control.clearFaults();
  harness.sandbox.control.clearAccess();
});

const fresh = (more = {}): ConnectedFirestore => harness.connect({ projectId: `target-${++projects}`, ...more });
const many = (count: number, offset = 0): TestRecord[] =>
  Array.from({ length: count }, (_, index) => ({
    path: `c/${String(index).padStart(6, '0')}`,
    fields: fields(index + offset),
  }));
const plain: ApplyOptions = { mode: 'overwrite', rampUp: false };

async function apply(connected: ConnectedFirestore, records: TestRecord[], options: Partial<ApplyOptions> = {}) {
  return connected.target.apply(batchesOf(connected.target.database, records), { ...plain, ...options });
}

async function fieldsAt(connected: ConnectedFirestore, path: string): Promise<JsonFields | undefined> {
  const found = (await scanAll(connected)).find((stored) => stored.path === path);
  return found === undefined ? undefined : decodeDocument(found.body).fields;
}

describe('modes', () => {
  test('overwrite replaces the whole document and keeps the bytes of the fields', async () => {
    const connected = fresh();
    await write(connected, [{ path: 'c/a', fields: { old: { nullValue: null } } }]);
    expect(await apply(connected, [{ path: 'c/a', fields: fields(1) }])).toMatchObject({ written: 1, failed: 0 });
    expect(await fieldsAt(connected, 'c/a')).toEqual(fields(1));
  });

  test('skip_existing writes only where nothing is', async () => {
    const connected = fresh();
    await write(connected, many(50, 1000));
    const result = await apply(connected, many(80), { mode: 'skip_existing' });
    expect(result).toMatchObject({ written: 30, skipped: 50, failed: 0 });
    expect(await fieldsAt(connected, 'c/000000')).toEqual(fields(1000));
    expect(await fieldsAt(connected, 'c/000079')).toEqual(fields(79));
  });

  test('merge merges maps deeply, replaces arrays and scalars, and leaves full maps when an empty one comes', async () => {
    const connected = fresh();
    const text = (stringValue: string) => ({ stringValue });
    await write(connected, [
      {
        path: 'c/a',
        fields: {
          keep: text('kept'),
          scalar: text('old'),
          map: { mapValue: { fields: { stay: text('stays'), 'odd.name': text('old') } } },
          list: { arrayValue: { values: [text('old'), text('older')] } },
          full: { mapValue: { fields: { inside: text('safe') } } },
          was: text('scalar'),
        },
      },
    ]);
    const incoming: JsonFields = {
      scalar: text('new'),
      map: { mapValue: { fields: { 'odd.name': text('new'), more: text('added') } } },
      list: { arrayValue: { values: [text('new')] } },
      full: { mapValue: {} },
      was: { mapValue: {} },
      fresh: { mapValue: {} },
    };
    const result = await apply(
      connected,
      [
        { path: 'c/a', fields: incoming },
        { path: 'c/b', fields: incoming },
      ],
      { mode: 'merge' },
    );
    expect(result).toMatchObject({ written: 2, failed: 0 });
    expect(await fieldsAt(connected, 'c/a')).toEqual({
      keep: text('kept'),
      scalar: text('new'),
      map: { mapValue: { fields: { stay: text('stays'), 'odd.name': text('new'), more: text('added') } } },
      list: { arrayValue: { values: [text('new')] } },
      full: { mapValue: { fields: { inside: text('safe') } } },
      was: { mapValue: {} },
      fresh: { mapValue: {} },
    });
    expect(await fieldsAt(connected, 'c/b')).toEqual(incoming);
  });

  test('merging a document without fields creates it and empties nothing', async () => {
    const connected = fresh();
    await write(connected, [{ path: 'c/a', fields: fields(7) }]);
    await apply(
      connected,
      [
        { path: 'c/a', fields: {} },
        { path: 'c/b', fields: {} },
      ],
      { mode: 'merge' },
    );
    expect(await fieldsAt(connected, 'c/a')).toEqual(fields(7));
    expect(await fieldsAt(connected, 'c/b')).toEqual({});
  });

  test('delete records delete, in every mode, and are counted', async () => {
    const connected = fresh();
    for (const mode of ['overwrite', 'skip_existing', 'merge'] as const) {
      await write(connected, many(3));
      const result = await apply(connected, [{ path: 'c/000001' }, { path: 'c/none' }], { mode });
      expect(result).toMatchObject({ deleted: 2, failed: 0 });
      expect((await scanAll(connected)).map(({ path }) => path)).toEqual(['c/000000', 'c/000002']);
    }
  });
});

describe('bytes', () => {
  test('whatever the values, what is written and read back is the same to the byte', async () => {
    const source = fresh();
    await fc.assert(
      fc.asyncProperty(fc.array(arbitraryFields, { minLength: 1, maxLength: 20 }), async (documents) => {
        const usable = documents.map((document) =>
          Object.fromEntries(Object.entries(document).filter(([key]) => acceptable(key))),
        );
        const other = fresh();
        const records = usable.map((document, index) => ({ path: `c/${index}`, fields: document }));
        const first = await apply(source, records);
        const scan = source.source.scan(everything, {
          scope: wholeDatabase,
          readTime: await source.source.snapshotTime(),
        });
        const copied = await other.target.apply(scan, plain);
        const strip = (stored: { path: string; content: string }[]) =>
          stored.map(({ path, content }) => ({ path, content }));
        const stored = strip(await scanAll(source));
        // A database takes not every name that can be made up; what it took once it takes again.
        expect(copied).toMatchObject({ written: stored.length, failed: 0 });
        expect(strip(await scanAll(other))).toEqual(stored);
        expect(first.written + first.failed).toBe(records.length);
        await other.close();
      }),
      { numRuns: 25 },
    );
  });

  test('across projects, references follow and all else stays', async () => {
    const source = fresh();
    const target = fresh();
    const own = `${source.target.database}/documents/c/a`;
    const foreign = 'projects/else/databases/(default)/documents/c/a';
    await write(source, [
      { path: 'c/a', fields: { own: { referenceValue: own }, foreign: { referenceValue: foreign } } },
      { path: 'c/b', fields: fields(2) },
    ]);
    const readTime = await source.source.snapshotTime();
    const scan = () => source.source.scan(everything, { scope: wholeDatabase, readTime });
    await target.target.apply(scan(), { ...plain, rewriteReferencesFrom: source.target.database });
    expect(await fieldsAt(target, 'c/a')).toEqual({
      own: { referenceValue: `${target.target.database}/documents/c/a` },
      foreign: { referenceValue: foreign },
    });
    await target.target.apply(scan(), plain);
    expect(await fieldsAt(target, 'c/a')).toEqual({
      own: { referenceValue: own },
      foreign: { referenceValue: foreign },
    });
  });

  /** Field names Firestore takes. */
  function acceptable(key: string): boolean {
    return key !== '' && !/^__.*__$/.test(key);
  }
});

describe('limits and failures', () => {
  test('one bad document fails alone, with its reason', async () => {
    const connected = fresh();
    const tooLarge = { path: 'c/large', fields: { x: { stringValue: 'x'.repeat(1_100_000) } } };
    const badName = { path: 'c/__reserved__', fields: fields(1) };
    const result = await apply(connected, [...many(700), tooLarge, badName]);
    expect(result).toMatchObject({ written: 700, failed: 2 });
    expect(result.errors.map(({ path }) => path).sort()).toEqual(['c/__reserved__', 'c/large']);
    expect(result.errors.every(({ code, message }) => code === 'INVALID_ARGUMENT' && message.length > 0)).toBe(true);
    expect(await scanAll(connected)).toHaveLength(700);
  });

  test('failures are counted exactly and sampled within bounds', async () => {
    const connected = fresh();
    const bad = Array.from({ length: 150 }, (_, index) => ({ path: `c/__bad${index}__`, fields: fields(index) }));
    const result = await apply(connected, bad);
    expect(result.failed).toBe(150);
    expect(result.errors).toHaveLength(100);
  });

  test('large documents are spread over requests that stay within ten megabytes', async () => {
    const connected = fresh();
    const large = Array.from({ length: 24 }, (_, index) => ({
      path: `c/${index}`,
      fields: { x: { stringValue: 'y'.repeat(900_000) } },
    }));
    expect(await apply(connected, large)).toMatchObject({ written: 24, failed: 0 });
  });

  test('storms of retryable answers and lost acknowledgements lose nothing', { tags: 'long' }, async () => {
    const connected = fresh({ retry: { attemptsMax: 40, delayBaseMs: 1, delayMaxMs: 10 } });
    for (const status of ['RESOURCE_EXHAUSTED', 'ABORTED', 'UNAVAILABLE', 'DEADLINE_EXCEEDED'] as const) {
      harness.sandbox.control.addFault({ method: 'BatchWrite', status, probability: 0.2 });
    }
    harness.sandbox.control.addFault({
      method: 'BatchWrite',
      status: 'UNAVAILABLE',
      afterEffect: true,
      probability: 0.2,
    });
    harness.sandbox.control.addFault({ method: 'BatchWrite', reset: true, probability: 0.1 });
    const result = await apply(connected, many(10_000));
    expect(result).toMatchObject({ written: 10_000, failed: 0 });
    harness.sandbox.control.clearFaults();
    expect(await scanAll(connected)).toHaveLength(10_000);
  });

  test('each write has its own status: those over the quota are written later, the others once', async () => {
    const connected = fresh({ retry: { attemptsMax: 200, delayBaseMs: 5, delayMaxMs: 50 } });
    harness.sandbox.control.setWriteQuota({ documentsPerSecond: 3_000 });
    const result = await apply(connected, many(4_500));
    harness.sandbox.control.setWriteQuota(null);
    expect(result).toMatchObject({ written: 4_500, failed: 0 });
    expect(await scanAll(connected)).toHaveLength(4_500);
  });

  test('a quota that never refills ends in RESTORE_QUOTA_EXCEEDED, missing rights in RESTORE_PERMISSION_DENIED', async () => {
    const connected = fresh();
    harness.sandbox.control.addFault({ method: 'BatchWrite', status: 'RESOURCE_EXHAUSTED' });
    await expect(apply(connected, many(10))).rejects.toMatchObject({ code: 'RESTORE_QUOTA_EXCEEDED', retryable: true });
    harness.sandbox.control.clearFaults();
    harness.sandbox.control.deny({ access: 'write' });
    await expect(apply(connected, many(10))).rejects.toMatchObject({
      code: 'RESTORE_PERMISSION_DENIED',
      retryable: false,
    });
  });

  test('cancelling stops the writing with CANCELLED', async () => {
    const connected = fresh();
    harness.sandbox.control.addFault({ method: 'BatchWrite', latencyMs: 20 });
    const controller = new AbortController();
    const work = apply(connected, many(50_000), { signal: controller.signal });
    setTimeout(() => controller.abort(), 60);
    await expect(work).rejects.toSatisfy((error) => isEngineError(error, 'CANCELLED'));
  });
});

describe('progress', () => {
  test('a checkpoint never passes what is not surely written, whatever order the answers come in', async () => {
    const connected = fresh({ retry: { attemptsMax: 50, delayBaseMs: 5, delayMaxMs: 30 } });
    harness.sandbox.control.addFault({ method: 'BatchWrite', latencyMs: 15, probability: 0.5 });
    harness.sandbox.control.addFault({ method: 'BatchWrite', status: 'UNAVAILABLE', probability: 0.3 });
    const seen: ApplyProgress[] = [];
    const result = await apply(connected, many(8_000), {
      onProgress: async (progress) => {
        seen.push(progress);
        const through = Number(progress.settledThrough.slice(2));
        const readTime = await connected.source.snapshotTime();
        const range = { start: null, end: `c/${String(through + 1).padStart(6, '0')}` };
        const stored = await connected.source.count(range, { scope: wholeDatabase, readTime });
        expect(stored).toBe(through + 1);
      },
    });
    expect(result.written).toBe(8_000);
    expect(seen.at(-1)!.settledThrough).toBe('c/007999');
    const order = seen.map(({ settledThrough }) => settledThrough);
    expect(order).toEqual([...order].sort());
  });

  test('what a throttled database has taken of a batch is told before the batch is settled', async () => {
    const connected = fresh({ retry: { attemptsMax: 200, delayBaseMs: 5, delayMaxMs: 50 } });
    harness.sandbox.control.setWriteQuota({ documentsPerSecond: 40 });
    const controller = new AbortController();
    const told: number[] = [];
    const work = apply(connected, many(100), {
      signal: controller.signal,
      onAhead: ({ written }) => {
        told.push(written);
        if (written > 50) controller.abort();
      },
    });
    await expect(work).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(told[0]).toBe(40);
    expect(await scanAll(connected)).toHaveLength(told.at(-1)!);
  });

  test('a restore that died goes on behind its checkpoint and ends with everything', async () => {
    const connected = fresh();
    let checkpoint = '';
    const controller = new AbortController();
    const first = apply(connected, many(9_000), {
      signal: controller.signal,
      onProgress: ({ settledThrough }) => {
        checkpoint = settledThrough;
        if (settledThrough > 'c/003') controller.abort();
      },
    });
    await expect(first).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(checkpoint > 'c/003').toBe(true);
    const rest = many(9_000).filter(({ path }) => path > checkpoint);
    expect(rest.length).toBeLessThan(9_000);
    await apply(connected, rest);
    expect(await scanAll(connected)).toHaveLength(9_000);
  });

  test('two versions of one document in a row end with the later one', async () => {
    const connected = fresh();
    harness.sandbox.control.addFault({ method: 'BatchWrite', latencyMs: 30, times: 1 });
    async function* versions() {
      for (const n of [1, 2, 3]) yield* batchesOf(connected.target.database, [{ path: 'c/a', fields: fields(n) }]);
    }
    expect(await connected.target.apply(versions(), plain)).toMatchObject({ written: 3 });
    expect(await fieldsAt(connected, 'c/a')).toEqual(fields(3));
  });

  test('with ramp-up the first seconds stay near 500 writes per second', { tags: 'long' }, async () => {
    const connected = fresh();
    const startedMs = performance.now();
    expect(await apply(connected, many(1_200), { rampUp: true })).toMatchObject({ written: 1_200 });
    const seconds = (performance.now() - startedMs) / 1000;
    expect(1_200 / seconds).toBeLessThan(650);
  });

  test('the source is not read ahead of the writing', async () => {
    fillFast(harness.sandbox.control.database({ project: 'flood', database: '(default)' }), {
      collection: 'c',
      documents: 60_000,
    });
    const source = harness.connect({ projectId: 'flood' });
    const target = fresh();
    harness.sandbox.control.addFault({ method: 'BatchWrite', latencyMs: 400 });
    const controller = new AbortController();
    const readTime = await source.source.snapshotTime();
    const scan = source.source.scan(everything, { scope: wholeDatabase, readTime });
    const work = target.target.apply(scan, { ...plain, signal: controller.signal }).catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 300));
    // Sixteen requests of 500, and what the scan itself may hold.
    expect(source.source.usage.documentsRead).toBeLessThan(22_000);
    controller.abort();
    await work;
    await collect(scan);
  });
});
