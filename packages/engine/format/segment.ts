import { randomBytes, timingSafeEqual } from 'node:crypto';
import { codec, compress, openBlock, sealBlock, sha256, smallBlockBytesMax } from '../crypto/block.ts';
import { deriveObjectKey, tagBytes } from '../crypto/derive.ts';
import { freeBytes } from '../memory/free-bytes.ts';
import { EngineError } from '../ports/errors.ts';
import { type RecordLocation, readRecordAt } from '../ports/record.ts';
import { nextTurn } from '../time/turns.ts';
import { type SegmentDescriptor, storedBytesOf } from './descriptor.ts';
import { DocumentSummary, type RecordSummary, summarizeDocuments, summarizeUsers } from './index-build.ts';
import {
  decodeSegmentHeader,
  encodeSegmentHeader,
  type SegmentContent,
  type SegmentHeader,
  segmentContent,
  segmentHeaderBytes,
} from './segment-header.ts';

/** The context to which every block of a backup or log is bound. */
export interface SealContext {
  readonly ownerId: string;
  readonly dataKey: Uint8Array;
  readonly database: string;
}

export interface SegmentPosition {
  readonly content: SegmentContent;
  readonly range: number;
  readonly sequence: number;
  /** Clear and authenticated; empty except in a log. */
  readonly annex: Uint8Array;
}

export interface SealedSegment {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly descriptor: SegmentDescriptor;
  readonly collections: ReadonlyMap<string, number>;
}

/** A summary that can be built while documents arrive; undefined for content that can only be summarized as a whole. */
export function summaryOf(content: SegmentContent, database: string): DocumentSummary | undefined {
  if (content === segmentContent.authUsers) return undefined;
  return new DocumentSummary(database, content === segmentContent.log ? 'paths-repeat' : 'paths-once');
}

/**
 * Compresses and seals records with their index, which is built here unless the caller has built it. Uses a new random
 * object id, and so a new key, on every call.
 */
export async function sealSegment(
  data: Uint8Array,
  position: SegmentPosition,
  context: SealContext,
  summary: RecordSummary = summarize(data, position.content, context.database),
): Promise<SealedSegment> {
  const objectId = randomBytes(16);
  const objectKey = deriveObjectKey(context.dataKey, objectId, context.ownerId);
  const indexPlainLength = summary.index.length;
  const packedIndex = await compress(summary.index, codec.zstd);
  freeBytes(summary.index);
  const packedData = await compress(data, codec.zstd);
  const header: SegmentHeader = {
    content: position.content,
    codec: codec.zstd,
    objectId,
    range: position.range,
    sequence: position.sequence,
    records: summary.records,
    indexPlainLength,
    indexSealedLength: packedIndex.length + tagBytes,
    dataPlainLength: data.length,
    dataSealedLength: packedData.length + tagBytes,
    annexLength: position.annex.length,
  };
  const clear = Buffer.concat([encodeSegmentHeader(header), position.annex]);
  const sealedIndex = await sealBlock(objectKey, 1, additionalData(clear, context.ownerId, 1), packedIndex);
  const sealedData = await sealBlock(objectKey, 2, additionalData(clear, context.ownerId, 2), packedData);
  const bytes = joined([clear, sealedIndex, sealedData]);
  for (const used of [packedIndex, packedData, sealedIndex, sealedData]) freeBytes(used);
  const descriptor = describe(header, clear.length, summary, await sha256(bytes));
  return { bytes, descriptor, collections: summary.collections };
}

/** Joins into a buffer of exact size, so that an object keeps no extra memory. */
function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}

function describe(header: SegmentHeader, headerBytes: number, summary: RecordSummary, hash: string): SegmentDescriptor {
  return {
    id: Buffer.from(header.objectId).toString('hex'),
    content: header.content,
    range: header.range,
    sequence: header.sequence,
    records: summary.records,
    puts: summary.puts,
    deletes: summary.deletes,
    firstPath: summary.firstPath,
    lastPath: summary.lastPath,
    headerBytes,
    indexBytes: header.indexSealedLength,
    dataBytes: header.dataSealedLength,
    plainBytes: header.dataPlainLength,
    sha256: hash,
  };
}

export function additionalData(clear: Uint8Array, ownerId: string, block: number): Uint8Array {
  return Buffer.concat([clear, Buffer.from(ownerId, 'utf8'), Uint8Array.of(block)]);
}

function summarize(data: Uint8Array, content: SegmentContent, database: string): RecordSummary {
  if (content === segmentContent.authUsers) return summarizeUsers(data);
  return summarizeDocuments(data, database, content === segmentContent.log ? 'paths-repeat' : 'paths-once');
}

/** About a millisecond of looking at records. */
const sliceBytes = 256 * 1024;

/**
 * The same for a segment that is read, in slices that let others use the thread: several MiB of records take some time.
 */
async function summarizeInSlices(data: Uint8Array, content: SegmentContent, database: string): Promise<RecordSummary> {
  const summary = data.length > sliceBytes ? summaryOf(content, database) : undefined;
  if (!summary) return summarize(data, content, database);
  const location: RecordLocation = { kind: 1, start: 0, bodyStart: 0, end: 0 };
  for (let from = 0; from < data.length; ) {
    let end = from;
    while (end < data.length && end - from < sliceBytes)
      end = readRecordAt(data, end, location) ? location.end : data.length;
    summary.add(data, end);
    from = end;
    await nextTurn();
  }
  return summary.finish(data);
}

export interface OpenedSegment {
  readonly data: Uint8Array;
  readonly index: Uint8Array;
  readonly collections: ReadonlyMap<string, number>;
}

/**
 * Opens the whole segment and checks everything that its descriptor says: hash, position, seals, order, names, counts.
 */
export async function openSegment(
  bytes: Uint8Array,
  descriptor: SegmentDescriptor,
  context: SealContext,
): Promise<OpenedSegment> {
  if (bytes.length !== storedBytesOf(descriptor)) throw mismatch('length', descriptor);
  if ((await sha256(bytes)) !== descriptor.sha256) throw mismatch('hash', descriptor);
  const header = decodeSegmentHeader(bytes);
  assertDescribed(header, descriptor);
  const clear = bytes.subarray(0, descriptor.headerBytes);
  const indexEnd = clear.length + header.indexSealedLength;
  const index = await openNamedBlock('index', header, clear, bytes.subarray(clear.length, indexEnd), context);
  const data = await openNamedBlock('data', header, clear, bytes.subarray(indexEnd), context);
  const summary = await summarizeInSlices(data, header.content, context.database);
  assertSummary(summary, index, descriptor);
  freeBytes(summary.index);
  return { data, index, collections: summary.collections };
}

/** Opens a segment that no manifest lists, as in a log: checks its seals and its own header. */
export async function openUndescribedSegment(
  bytes: Uint8Array,
  context: SealContext,
): Promise<{ readonly header: SegmentHeader; readonly annex: Uint8Array; readonly data: Uint8Array }> {
  const header = decodeSegmentHeader(bytes);
  const headerBytes = segmentHeaderBytes + header.annexLength;
  const clear = bytes.subarray(0, headerBytes);
  const indexEnd = headerBytes + header.indexSealedLength;
  if (bytes.length !== indexEnd + header.dataSealedLength) {
    throw new EngineError('INTEGRITY_ERROR', 'A segment has another length than it says.');
  }
  const index = await openNamedBlock('index', header, clear, bytes.subarray(headerBytes, indexEnd), context);
  const data = await openNamedBlock('data', header, clear, bytes.subarray(indexEnd), context);
  const summary = summarize(data, header.content, context.database);
  if (summary.records !== header.records || Buffer.compare(summary.index, index) !== 0) {
    throw new EngineError('INTEGRITY_ERROR', "A segment's index does not match its records.");
  }
  return { header, annex: clear.subarray(segmentHeaderBytes), data };
}

/** The index alone, from the first headerBytes + indexBytes of the object. */
export async function openSegmentIndex(
  bytes: Uint8Array,
  descriptor: SegmentDescriptor,
  context: SealContext,
): Promise<Uint8Array> {
  if (bytes.length !== descriptor.headerBytes + descriptor.indexBytes) throw mismatch('length', descriptor);
  const header = decodeSegmentHeader(bytes);
  assertDescribed(header, descriptor);
  return await openNamedBlock(
    'index',
    header,
    bytes.subarray(0, descriptor.headerBytes),
    bytes.subarray(descriptor.headerBytes),
    context,
  );
}

async function openNamedBlock(
  name: 'index' | 'data',
  header: SegmentHeader,
  clear: Uint8Array,
  sealed: Uint8Array,
  context: SealContext,
): Promise<Uint8Array> {
  const block = name === 'index' ? 1 : 2;
  return await openBlock(deriveObjectKey(context.dataKey, header.objectId, context.ownerId), {
    block,
    aad: additionalData(clear, context.ownerId, block),
    sealed,
    codec: header.codec,
    plainLength: name === 'index' ? header.indexPlainLength : header.dataPlainLength,
    plainLengthMax: smallBlockBytesMax,
  });
}

function assertDescribed(header: SegmentHeader, descriptor: SegmentDescriptor): void {
  const isTheOne =
    Buffer.from(header.objectId).toString('hex') === descriptor.id &&
    header.content === descriptor.content &&
    header.range === descriptor.range &&
    header.sequence === descriptor.sequence &&
    header.records === descriptor.records &&
    header.indexSealedLength === descriptor.indexBytes &&
    header.dataSealedLength === descriptor.dataBytes &&
    header.dataPlainLength === descriptor.plainBytes &&
    segmentHeaderBytes + header.annexLength === descriptor.headerBytes;
  if (!isTheOne) throw mismatch('header', descriptor);
}

function assertSummary(summary: RecordSummary, index: Uint8Array, descriptor: SegmentDescriptor): void {
  const isSame =
    summary.records === descriptor.records &&
    summary.puts === descriptor.puts &&
    summary.deletes === descriptor.deletes &&
    summary.firstPath === descriptor.firstPath &&
    summary.lastPath === descriptor.lastPath &&
    summary.index.length === index.length &&
    timingSafeEqual(summary.index, index);
  if (!isSame) throw mismatch('content', descriptor);
}

function mismatch(what: string, descriptor: SegmentDescriptor): EngineError {
  return new EngineError('INTEGRITY_ERROR', `The ${what} of segment ${descriptor.id} is not what the manifest says.`, {
    details: { segment: descriptor.id, what },
  });
}
