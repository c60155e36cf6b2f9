import { emptyOutline, outlineDocument } from '../ports/document-bytes.ts';
import { EngineError } from '../ports/errors.ts';
import { type RecordLocation, readRecordAt, recordKind } from '../ports/record.ts';
import { writeVarint } from '../ports/wire.ts';
import { CollectionCounter } from './collection-counter.ts';
import { comparePathBytes, sharedByteCount, utf8 } from './path-bytes.ts';
import { zigzag } from './varint.ts';

/** The result of one pass over a segment's records. Reading a segment does the same pass and compares. */
export interface RecordSummary {
  readonly index: Uint8Array;
  readonly records: number;
  readonly puts: number;
  readonly deletes: number;
  readonly firstPath: string;
  readonly lastPath: string;
  /** Puts per collection, ids of parent documents replaced by `*`. */
  readonly collections: ReadonlyMap<string, number>;
}

/** The most bytes that the numbers of one entry can take. */
const entryNumbersBytesMax = 40;

/** The first size of the buffer, which grows with the segment: segments of increments and logs are mostly small. */
const indexBytesAtFirst = 8 * 1024;

/** In a log a path may occur several times; elsewhere only once. */
export type Order = 'paths-once' | 'paths-repeat';

/** Builds the index block of document records; see DocumentSummary. */
export function summarizeDocuments(data: Uint8Array, database: string, order: Order = 'paths-once'): RecordSummary {
  const summary = new DocumentSummary(database, order);
  summary.add(data, data.length);
  return summary.finish(data);
}

/**
 * Builds the index block of document records. Refuses records that are incomplete, belong to another database or are
 * not in order. Runs on every document of every backup: no allocation per record. Records can be added while a segment
 * fills, so that no segment blocks the process for the whole computation.
 */
export class DocumentSummary {
  readonly #prefix: DataView;
  readonly #order: Order;
  readonly #counter = new CollectionCounter();
  readonly #location: RecordLocation = { kind: recordKind.put, start: 0, bodyStart: 0, end: 0 };
  readonly #outline = emptyOutline(false);
  #index = new Uint8Array(indexBytesAtFirst);
  #used = 0;
  #position = 0;
  #records = 0;
  #deletes = 0;
  #previousStart = 0;
  #previousEnd = 0;
  #previousSeconds = 0;
  #previousNanos = 0;
  #firstStart = 0;
  #firstEnd = 0;

  constructor(database: string, order: Order) {
    this.#prefix = new DataView(Uint8Array.from(Buffer.from(`${database}/documents/`, 'utf8')).buffer);
    this.#order = order;
  }

  /** Goes on to `end`; `data` are the same bytes every time, only more of them. */
  add(data: Uint8Array, end: number): void {
    const prefix = this.#prefix;
    const location = this.#location;
    const outline = this.#outline;
    let index = this.#index;
    let used = this.#used;
    let records = this.#records;
    let previousStart = this.#previousStart;
    let previousEnd = this.#previousEnd;
    let previousSeconds = this.#previousSeconds;
    let previousNanos = this.#previousNanos;
    let position = this.#position;
    let view = new DataView(index.buffer);
    const words = new DataView(data.buffer, data.byteOffset, data.byteLength);
    for (; position < end; position = location.end) {
      if (!readRecordAt(data, position, location) || location.end > end) throw damaged('is not whole', records);
      if (!outlineDocument(data, location.bodyStart, location.end, outline)) throw damaged('is no document', records);
      if (!startsWith(words, outline.nameStart, outline.nameEnd, prefix))
        throw damaged('is of another database', records);
      const pathStart = outline.nameStart + prefix.byteLength;
      const pathEnd = outline.nameEnd;
      const shared = sharedByteCount(data, previousStart, previousEnd, data, pathStart, pathEnd);
      if (records === 0) {
        this.#firstStart = pathStart;
        this.#firstEnd = pathEnd;
      } else {
        const compared = comparePathBytes(data, previousStart, previousEnd, pathStart, pathEnd, shared);
        const timeGoesOn =
          outline.updateSeconds > previousSeconds ||
          (outline.updateSeconds === previousSeconds && outline.updateNanos >= previousNanos);
        const ascends = compared < 0 || (compared === 0 && this.#order === 'paths-repeat' && timeGoesOn);
        if (!ascends) throw damaged('is out of order', records);
      }
      const suffixLength = pathEnd - pathStart - shared;
      if (used + suffixLength + entryNumbersBytesMax > index.length) {
        index = grown(index, used + suffixLength + entryNumbersBytesMax);
        view = new DataView(index.buffer);
      }
      used = writeVarint(index, used, shared);
      used = writeVarint(index, used, suffixLength);
      let offset = pathStart + shared;
      for (; offset + 4 <= pathEnd; offset += 4, used += 4) view.setUint32(used, words.getUint32(offset));
      for (; offset < pathEnd; offset += 1, used += 1) index[used] = data[offset]!;
      const isDelete = location.kind === recordKind.delete;
      used = writeVarint(index, used, (location.end - location.bodyStart) * 2 + (isDelete ? 1 : 0));
      used = writeVarint(index, used, zigzag(outline.updateSeconds - previousSeconds));
      used = writeVarint(index, used, outline.updateNanos);
      if (isDelete) this.#deletes += 1;
      this.#counter.show(data, pathStart, pathEnd, shared, !isDelete);
      previousStart = pathStart;
      previousEnd = pathEnd;
      previousSeconds = outline.updateSeconds;
      previousNanos = outline.updateNanos;
      records += 1;
    }
    this.#index = index;
    this.#used = used;
    this.#records = records;
    this.#previousStart = previousStart;
    this.#previousEnd = previousEnd;
    this.#previousSeconds = previousSeconds;
    this.#previousNanos = previousNanos;
    this.#position = position;
  }

  finish(data: Uint8Array): RecordSummary {
    return {
      index: this.#index.subarray(0, this.#used),
      records: this.#records,
      puts: this.#records - this.#deletes,
      deletes: this.#deletes,
      firstPath: utf8(data, this.#firstStart, this.#firstEnd),
      lastPath: utf8(data, this.#previousStart, this.#previousEnd),
      collections: this.#counter.counts(),
    };
  }
}

/** Auth users: the body is JSON, `localId` is the path, and there are no times. */
export function summarizeUsers(data: Uint8Array): RecordSummary {
  const location: RecordLocation = { kind: recordKind.put, start: 0, bodyStart: 0, end: 0 };
  const parts: Uint8Array[] = [];
  let previous = Buffer.alloc(0);
  let records = 0;
  let firstPath = '';
  for (let position = 0; position < data.length; position = location.end) {
    if (!readRecordAt(data, position, location)) throw damaged('is not whole', records);
    const localId = Buffer.from(localIdOf(utf8(data, location.bodyStart, location.end)) ?? '', 'utf8');
    if (localId.length === 0) throw damaged('is no user', records);
    const shared = sharedByteCount(previous, 0, previous.length, localId, 0, localId.length);
    if (records > 0 && Buffer.compare(previous, localId) >= 0) throw damaged('is out of order', records);
    const entry = new Uint8Array(localId.length + entryNumbersBytesMax);
    let used = writeVarint(entry, 0, shared);
    used = writeVarint(entry, used, localId.length - shared);
    entry.set(localId.subarray(shared), used);
    used = writeVarint(entry, used + localId.length - shared, (location.end - location.bodyStart) * 2);
    parts.push(entry.subarray(0, used + 2));
    if (records === 0) firstPath = localId.toString('utf8');
    previous = localId;
    records += 1;
  }
  const lastPath = previous.toString('utf8');
  return {
    index: Buffer.concat(parts),
    records,
    puts: records,
    deletes: 0,
    firstPath,
    lastPath,
    collections: new Map(),
  };
}

function localIdOf(text: string): string | undefined {
  try {
    const user = JSON.parse(text) as { localId?: unknown } | null;
    return typeof user?.localId === 'string' ? user.localId : undefined;
  } catch {
    return undefined;
  }
}

/** Compares four bytes at a time, because every path begins with the same long name. */
function startsWith(data: DataView, start: number, end: number, prefix: DataView): boolean {
  const { byteLength } = prefix;
  if (end - start <= byteLength) return false;
  let index = 0;
  for (; index + 4 <= byteLength; index += 4)
    if (data.getUint32(start + index) !== prefix.getUint32(index)) return false;
  for (; index < byteLength; index += 1) if (data.getUint8(start + index) !== prefix.getUint8(index)) return false;
  return true;
}

function grown(bytes: Uint8Array, needed: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.max(needed, bytes.length * 2));
  larger.set(bytes);
  return larger;
}

function damaged(how: string, record: number): EngineError {
  return new EngineError('INTEGRITY_ERROR', `A record ${how}.`, { details: { record } });
}
