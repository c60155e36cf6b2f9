import { utf8 } from '../../format/path-bytes.ts';
import { type DocumentOutline, emptyOutline, outlineDocument } from '../../ports/document-bytes.ts';
import { EngineError } from '../../ports/errors.ts';
import {
  type RecordBatch,
  type RecordKind,
  type RecordLocation,
  readRecordAt,
  recordKind,
} from '../../ports/record.ts';

/** One record of a batch, read where names and bodies are needed one by one. */
export interface ReadRecord {
  readonly kind: RecordKind;
  readonly path: string;
  readonly body: Uint8Array;
  readonly updateSeconds: number;
  readonly updateNanos: number;
  /** Nobody has written it since it was created. */
  readonly isAsCreated: boolean;
}

export function* readRecords(batch: Pick<RecordBatch, 'bytes'>, database: string): Generator<ReadRecord> {
  const prefixLength = Buffer.byteLength(`${database}/documents/`);
  const { bytes } = batch;
  const location: RecordLocation = { kind: recordKind.put, start: 0, bodyStart: 0, end: 0 };
  const outline: DocumentOutline = emptyOutline();
  for (let position = 0; position < bytes.length; position = location.end) {
    const isWhole =
      readRecordAt(bytes, position, location) && outlineDocument(bytes, location.bodyStart, location.end, outline);
    if (!isWhole) throw new EngineError('INTEGRITY_ERROR', 'A batch holds a record that is not whole.');
    yield {
      kind: location.kind,
      path: utf8(bytes, outline.nameStart + prefixLength, outline.nameEnd),
      body: bytes.subarray(location.bodyStart, location.end),
      updateSeconds: outline.updateSeconds,
      updateNanos: outline.updateNanos,
      isAsCreated: outline.createSeconds === outline.updateSeconds && outline.createNanos === outline.updateNanos,
    };
  }
}
