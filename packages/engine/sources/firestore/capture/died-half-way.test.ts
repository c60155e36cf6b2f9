import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { encodeDocument } from '../../../format/document-json.ts';
import { RecordBatchBuilder } from '../../../pipeline/segments/record-batch-builder.ts';
import {
  type CaptureOptions,
  type CapturePosition,
  type Instant,
  type RecordBatch,
  recordKind,
  wholeDatabase,
} from '../../../ports/index.ts';
import type { ConnectedFirestore } from '../connect.ts';
import {
  type FirestoreHarness,
  fields,
  scanAll,
  startFirestoreHarness,
  storedIn,
  write,
} from '../testing/firestore-harness.ts';

/** A capture that dies between two pieces of what it had heard or found at once. */
let bench: FirestoreHarness;
/** What a listener waits for after each document that it is told of. */
const hold = { method: 'Listen', batchLatencyMs: 0, until: Promise.resolve() };
beforeAll(async () => {
  bench = await startFirestoreHarness({ listenMode: 'as-production', listenHeartbeatMs: 50 });
  bench.sandbox.control.addFault(hold);
});
afterAll(() => bench.stop());

/** What the log says, and nothing else: names, the end and the position. */
class Log {
  readonly #connected: ConnectedFirestore;
  readonly names: Set<string>;
  from: Instant;
  #position: CapturePosition | undefined;

  constructor(connected: ConnectedFirestore, names: readonly string[], from: Instant) {
    this.#connected = connected;
    this.names = new Set(names);
    this.from = from;
  }

  /** Listens until the condition holds for what came last, and dies there. */
  async capture(isOver: (paths: string[]) => boolean, more: Partial<CaptureOptions> = {}): Promise<void> {
    const controller = new AbortController();
    const options: CaptureOptions = {
      from: this.from,
      scope: wholeDatabase,
      batchIntervalMs: 30,
      signal: controller.signal,
      knownNames: () => this.#known(),
      ...(this.#position ? { position: this.#position } : {}),
      ...more,
    };
    for await (const { records, coveredThrough, position } of this.#connected.capture.capture(options)) {
      const told = records === null ? [] : storedIn([records]);
      for (const { kind, path } of told) {
        if (kind === recordKind.put) this.names.add(path);
        else this.names.delete(path);
      }
      this.from = coveredThrough;
      this.#position = position;
      if (isOver(told.map(({ path }) => path))) break;
    }
    controller.abort();
  }

  async *#known(): AsyncGenerator<RecordBatch> {
    const builder = new RecordBatchBuilder();
    for (const path of [...this.names].sort())
      builder.add(
        recordKind.put,
        path,
        encodeDocument({ name: `${this.#connected.source.database}/documents/${path}`, fields: {} }),
      );
    if (!builder.isEmpty) yield builder.take();
  }
}

const namesIn = async (connected: ConnectedFirestore) => (await scanAll(connected)).map(({ path }) => path).sort();
const large = { text: { stringValue: 'x'.repeat(1000) } };

test('between two pieces of one snapshot: a deletion that was to be told with the second is found', async () => {
  const connected = bench.connect({ projectId: 'pieces' });
  const names = [...Array(10)].map((_, index) => `c/${index}`);
  await write(
    connected,
    names.map((path) => ({ path, fields: fields(0) })),
  );
  const log = new Log(connected, names, await connected.source.snapshotTime());
  let isListening = false;
  let heardBusy = false;
  const first = log.capture(
    (paths) => {
      isListening = true;
      heardBusy ||= paths.includes('c/0');
      return paths.includes('c/5');
    },
    { batchBytesMax: 1500, batchIntervalMs: 30 },
  );
  await vi.waitUntil(() => isListening, { timeout: 60_000 });
  const { promise, resolve } = Promise.withResolvers<void>();
  hold.until = promise;
  await write(connected, [{ path: 'c/0', fields: fields(1) }]);
  // All of this is heard at once.
  await write(connected, [{ path: 'c/3' }]);
  for (const path of ['c/5', 'c/6', 'c/7', 'c/8']) await write(connected, [{ path, fields: large }]);
  hold.until = Promise.resolve();
  resolve();
  await first;
  expect(heardBusy).toBe(true);
  expect(log.names).toContain('c/3');
  await log.capture((paths) => paths.length === 0);
  expect([...log.names].sort()).toEqual(await namesIn(connected));
});

test('half-way in a comparison of all names: what was deleted before the part that is written down is found', async () => {
  const connected = bench.connect({ projectId: 'compared' });
  const names = [...Array(10)].map((_, index) => `c/${index}`);
  await write(
    connected,
    names.map((path) => ({ path, fields: fields(0) })),
  );
  const log = new Log(connected, names, await connected.source.snapshotTime());
  await log.capture(() => true);
  bench.sandbox.control.moveClock({ project: 'compared', database: '(default)' }, 40 * 60_000);
  await write(connected, [{ path: 'c/3' }]);
  for (const part of ['a', 'b', 'c'])
    await write(
      connected,
      [...Array(500)].map((_, index) => ({ path: `d/${part}${index}`, fields: fields(1) })),
    );
  await log.capture((paths) => paths.some((path) => path.startsWith('d/')));
  expect(log.names).toContain('c/3');
  expect(log.names.size).toBeLessThan(1200);
  await log.capture((paths) => paths.length === 0 || paths.includes('c/3'));
  await log.capture((paths) => paths.length === 0);
  expect([...log.names].sort()).toEqual(await namesIn(connected));
});
