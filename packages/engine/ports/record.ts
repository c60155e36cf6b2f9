/**
 * A record on its way through the engine is never a JavaScript object: it is bytes inside a batch.
 *
 *     record := kind (1 byte) | body length (u32 LE) | body
 *
 * The body of a put is the serialized google.firestore.v1.Document exactly as it was received. The body of a delete is
 * a Document with a name and, as update_time, the moment at which the document was seen gone.
 */
export const recordKind = { put: 1, delete: 2 } as const;
export type RecordKind = (typeof recordKind)[keyof typeof recordKind];

export const recordHeaderBytes = 5;
/**
 * Firestore's limit of 1 MiB per document uses its own formula, in which an empty string counts one byte and empty
 * bytes none. An encoded document can therefore be as large as a request, about 11 MiB.
 */
export const recordBodyBytesMax = 12 * 1024 * 1024;

/** Encoded records, ascending by path (see comparePaths) within a batch and from batch to batch of one stream. */
export interface RecordBatch {
  /** The receiver owns the bytes once it has the batch: a producer must not write to them before `release`. */
  readonly bytes: Uint8Array;
  readonly count: number;
  readonly firstPath: string;
  readonly lastPath: string;
  /** A receiver that has copied what it needs may return the bytes for reuse. It need not. */
  release?(): void;
}

/** Where one record lies; valid for the bytes it was read from. */
export interface RecordLocation {
  kind: RecordKind;
  /** Offset of the header. */
  start: number;
  bodyStart: number;
  end: number;
}

export function writeRecordHeader(target: Uint8Array, offset: number, kind: RecordKind, bodyLength: number): void {
  target[offset] = kind;
  target[offset + 1] = bodyLength & 0xff;
  target[offset + 2] = (bodyLength >>> 8) & 0xff;
  target[offset + 3] = (bodyLength >>> 16) & 0xff;
  target[offset + 4] = (bodyLength >>> 24) & 0xff;
}

/** Reads the header at `offset` into `into`; false when the bytes there are no whole record. */
export function readRecordAt(bytes: Uint8Array, offset: number, into: RecordLocation): boolean {
  const bodyStart = offset + recordHeaderBytes;
  if (bodyStart > bytes.length) return false;
  const kind = bytes[offset];
  if (kind !== recordKind.put && kind !== recordKind.delete) return false;
  const length =
    bytes[offset + 1]! | (bytes[offset + 2]! << 8) | (bytes[offset + 3]! << 16) | (bytes[offset + 4]! << 24);
  if (length < 0 || length > recordBodyBytesMax || bodyStart + length > bytes.length) return false;
  into.kind = kind;
  into.start = offset;
  into.bodyStart = bodyStart;
  into.end = bodyStart + length;
  return true;
}
