/** Walking the records of a batch. */

import { pathOfName, type RecordBatch, type RecordLocation, readRecordAt, recordKind } from '../../../ports/index.ts';
import { MalformedMessage } from '../../../ports/wire.ts';
import { nameOfDocument } from './document-batch-builder.ts';

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Calls back for every record; the location object is reused. */
export function forEachRecord(batch: RecordBatch, visit: (bytes: Buffer, location: RecordLocation) => void): void {
  const bytes = asBuffer(batch.bytes);
  const location: RecordLocation = { kind: recordKind.put, start: 0, bodyStart: 0, end: 0 };
  for (let offset = 0; offset < bytes.length; offset = location.end) {
    if (!readRecordAt(bytes, offset, location)) throw new MalformedMessage();
    visit(bytes, location);
  }
}

export function eachPath(batch: RecordBatch): string[] {
  const paths: string[] = [];
  forEachRecord(batch, (bytes, { bodyStart, end }) => paths.push(pathOfName(nameOfDocument(bytes, bodyStart, end))));
  return paths;
}
