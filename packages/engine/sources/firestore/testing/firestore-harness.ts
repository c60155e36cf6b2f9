/** What the tests of this folder share: a Firestore in this process, connections to it, and a look at stored documents. */

import {
  type FirestoreSandbox,
  type FirestoreSandboxOptions,
  startFirestoreSandbox,
} from '../../../../sandbox/index.ts';
import { encodeDocument, type JsonFields } from '../../../format/document-json.ts';
import { encodeDeletedDocument } from '../../../ports/deleted-document.ts';
import {
  comparePaths,
  emptyOutline,
  everything,
  type Instant,
  instantFromParts,
  outlineDocument,
  pathOfName,
  type RecordBatch,
  recordKind,
  type Scope,
  wholeDatabase,
} from '../../../ports/index.ts';
import { emptySlices, sliceDocument } from '../apply/document-slices.ts';
import { type ConnectedFirestore, type ConnectOptions, connectFirestore } from '../connect.ts';
import { DocumentBatchBuilder, nameOfDocument } from '../scan/document-batch-builder.ts';
import { forEachRecord } from '../scan/records.ts';

/** Impatient, so that tests of failure do not wait. */
export const quickRetry = { attemptsMax: 6, delayBaseMs: 2, delayMaxMs: 20 };

export interface FirestoreHarness {
  readonly sandbox: FirestoreSandbox;
  connect(options?: Partial<ConnectOptions>): ConnectedFirestore;
  stop(): Promise<void>;
}

export async function startFirestoreHarness(options: FirestoreSandboxOptions = {}): Promise<FirestoreHarness> {
  const sandbox = await startFirestoreSandbox(options);
  const open: ConnectedFirestore[] = [];
  return {
    sandbox,
    connect: (more = {}) => {
      const connection = { type: 'emulator', host: sandbox.address } as const;
      const connected = connectFirestore({ projectId: 'demo', connection, retry: quickRetry, ...more });
      open.push(connected);
      return connected;
    },
    stop: async () => {
      for (const connected of open) await connected.close();
      await sandbox.stop();
    },
  };
}

export interface TestRecord {
  readonly path: string;
  readonly fields?: JsonFields;
}

export const fields = (n: number): JsonFields => ({ n: { integerValue: String(n) } });

/** Puts for records with fields, deletes for those without, ascending, `perBatch` to a batch. */
export async function* batchesOf(
  database: string,
  records: readonly TestRecord[],
  perBatch = 100,
): AsyncGenerator<RecordBatch, void> {
  const sorted = [...records].sort((left, right) => comparePaths(left.path, right.path));
  for (let offset = 0; offset < sorted.length; offset += perBatch) {
    const builder = new DocumentBatchBuilder();
    for (const record of sorted.slice(offset, offset + perBatch)) {
      const name = `${database}/documents/${record.path}`;
      const body =
        record.fields === undefined
          ? encodeDeletedDocument(name, '2026-01-01T00:00:00.000000000Z')
          : Buffer.from(encodeDocument({ name, fields: record.fields }));
      builder.append(record.fields === undefined ? recordKind.delete : recordKind.put, body, 0, body.length);
    }
    yield builder.take()!;
  }
}

export async function write(connected: ConnectedFirestore, records: readonly TestRecord[]): Promise<void> {
  const { target } = connected;
  const result = await target.apply(batchesOf(target.database, records), { mode: 'overwrite', rampUp: false });
  if (result.failed > 0) throw new Error(`the test data was refused: ${JSON.stringify(result.errors[0])}`);
}

export interface Stored {
  readonly path: string;
  readonly kind: number;
  /** The serialized fields, in hex, without name and times. */
  readonly content: string;
  readonly body: Buffer;
  /** Update time, or when it was seen gone. */
  readonly at: Instant;
}

export function storedIn(batches: readonly RecordBatch[]): Stored[] {
  const stored: Stored[] = [];
  for (const batch of batches) {
    forEachRecord(batch, (bytes, { kind, bodyStart, end }) => {
      const slices = emptySlices();
      sliceDocument(bytes, bodyStart, end, slices);
      const content = slices.joined ?? bytes.subarray(slices.contentStart, slices.contentEnd);
      const path = pathOfName(nameOfDocument(bytes, bodyStart, end));
      const body = Buffer.from(bytes.subarray(bodyStart, end));
      const outline = emptyOutline();
      outlineDocument(body, 0, body.length, outline);
      const at = instantFromParts(outline.updateSeconds, outline.updateNanos);
      stored.push({ path, kind, content: content.toString('hex'), body, at });
    });
  }
  return stored;
}

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

export async function scanAll(
  connected: ConnectedFirestore,
  options: { scope?: Scope; readTime?: Instant; namesOnly?: boolean } = {},
): Promise<Stored[]> {
  const readTime = options.readTime ?? (await connected.source.snapshotTime());
  const scan = { scope: options.scope ?? wholeDatabase, readTime, namesOnly: options.namesOnly ?? false };
  return storedIn(await collect(connected.source.scan(everything, scan)));
}
