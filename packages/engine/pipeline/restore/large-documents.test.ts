// @module-tag long
import { createHash } from 'node:crypto';
import { type FirestoreSandbox, startFirestoreSandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BackupHarness } from '../../fixtures/backup-harness.ts';
import { everything, type RecordBatch, recordBodyBytesMax, recordKind, wholeDatabase } from '../../ports/index.ts';
import { varintBytes, writeVarint } from '../../ports/wire.ts';
import { emptySlices, sliceDocument } from '../../sources/firestore/apply/document-slices.ts';
import { type ConnectedFirestore, connectFirestore } from '../../sources/firestore/connect.ts';
import {
  type ForeignFirestore,
  isForeignFirestoreInstalled,
  startForeignFirestore,
} from '../../testing/foreign-firestore.ts';
import { runBackup } from '../backup/run-backup.ts';
import { verifyChain } from '../contents/verify-backup.ts';
import { readRecords } from '../segments/read-records.ts';
import { RecordBatchBuilder } from '../segments/record-batch-builder.ts';
import { restorePuts } from './restore.ts';

/** An array's elements as they are encoded. By Firestore's formula the string is one byte, the bytes are none. */
const emptyString = Buffer.from([0x0a, 3, 0x8a, 1, 0]);
const emptyBytes = Buffer.from([0x0a, 3, 0x92, 1, 0]);

function delimited(tag: number, content: Uint8Array): Buffer {
  const head = Buffer.alloc(1 + varintBytes(content.length));
  head[0] = tag;
  writeVarint(head, 1, content.length);
  return Buffer.concat([head, content]);
}

/** Field entries of a document whose one field `v` is an array of so many equal elements. */
function arrayField(count: number, element: Buffer): Buffer {
  const value = delimited(0x4a, Buffer.alloc(count * element.length, element));
  return delimited(0x12, Buffer.concat([delimited(0x0a, Buffer.from('v')), delimited(0x12, value)]));
}

const several: Contents = new Map([
  ['large/a', arrayField(1, emptyString)],
  ['large/b', arrayField(1_000_000, emptyString)],
  ['large/c', arrayField(1, emptyString)],
  ['large/d', arrayField(900_000, emptyString)],
  ['large/e', arrayField(1_000_000, emptyString)],
]);

type Contents = ReadonlyMap<string, Buffer>;

async function* recordsOf(contents: Contents, database: string): AsyncGenerator<RecordBatch> {
  for (const [path, fields] of contents) {
    const builder = new RecordBatchBuilder();
    const name = delimited(0x0a, Buffer.from(`${database}/documents/${path}`));
    builder.add(recordKind.put, path, Buffer.concat([name, fields]));
    yield builder.take();
  }
}

const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** The digest of every document's fields, by path. */
async function digestsIn({ source }: ConnectedFirestore): Promise<Map<string, string>> {
  const digests = new Map<string, string>();
  const readTime = await source.snapshotTime();
  for await (const batch of source.scan(everything, { scope: wholeDatabase, readTime })) {
    for (const { path, body } of readRecords(batch, source.database)) {
      const slices = emptySlices();
      sliceDocument(Buffer.from(body), 0, body.length, slices);
      digests.set(path, digest(slices.joined ?? body.subarray(slices.contentStart, slices.contentEnd)));
    }
  }
  return digests;
}

async function roundTrip(contents: Contents, origin: ConnectedFirestore, elsewhere: ConnectedFirestore): Promise<void> {
  const harness = new BackupHarness();
  const filling = recordsOf(contents, origin.target.database);
  const all = { written: contents.size, failed: 0, errors: [] };
  expect(await origin.target.apply(filling, { mode: 'overwrite', rampUp: false })).toMatchObject(all);
  await runBackup({ ...harness, source: origin.source, backupId: 'b' });
  const view = await harness.view('b');
  expect(await verifyChain(await harness.chain('b'), view)).toMatchObject({ isIntact: true, documents: contents.size });
  const how = { mode: 'overwrite', rampUp: false, rewriteReferences: true } as const;
  expect(await restorePuts({ view, target: elsewhere.target, ...how })).toMatchObject(all);
  expect(await digestsIn(elsewhere)).toEqual(new Map([...contents].map(([path, fields]) => [path, digest(fields)])));
  await Promise.all([origin.close(), elsewhere.close()]);
}

const connect = (projectId: string, host: string) =>
  connectFirestore({ projectId, connection: { type: 'emulator', host } });

describe('documents of more than 4 MiB in the sandbox', () => {
  let sandbox: FirestoreSandbox;
  beforeAll(async () => {
    sandbox = await startFirestoreSandbox();
    for (const project of ['origin', 'elsewhere', 'huge'])
      sandbox.control.exemptFromIndexes({ project, database: '(default)' }, 'v');
  });
  afterAll(() => sandbox.stop());

  test('come back from a backup', () =>
    roundTrip(several, connect('origin', sandbox.address), connect('elsewhere', sandbox.address)));

  test('are kept up to the size of the largest request', async () => {
    const harness = new BackupHarness();
    const { source, target, close } = connect('huge', sandbox.address);
    const fields = arrayField(2_090_000, emptyBytes);
    expect(fields.length).toBeGreaterThan(9.9 * 1024 * 1024);
    expect(fields.length).toBeLessThan(recordBodyBytesMax);
    const name = delimited(0x0a, Buffer.from(`${target.database}/documents/h/x`));
    const builder = new RecordBatchBuilder();
    builder.add(recordKind.put, 'h/x', Buffer.concat([name, fields]));
    const given = (async function* () {
      yield builder.take();
    })();
    expect(await target.apply(given, { mode: 'overwrite', rampUp: false })).toMatchObject({ written: 1, errors: [] });
    await runBackup({ ...harness, source, backupId: 'h' });
    const found = await (await harness.view('h')).get('h/x');
    expect(Buffer.from(found!).includes(fields)).toBe(true);
    await close();
  });
});

describe.skipIf(!isForeignFirestoreInstalled)('documents of more than 4 MiB in a Firestore of other hands', () => {
  let foreign: ForeignFirestore;
  beforeAll(async () => {
    foreign = await startForeignFirestore();
  });
  afterAll(() => foreign.stop());

  test('come back from a backup', () => {
    // That one is slow with large documents, so it gets one between two small ones.
    const one: Contents = new Map([...several].slice(0, 3));
    return roundTrip(one, connect('origin', foreign.address), connect('elsewhere', foreign.address));
  });
});
