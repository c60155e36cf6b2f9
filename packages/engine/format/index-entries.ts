import { smallBlockBytesMax } from '../crypto/block.ts';
import { EngineError } from '../ports/errors.ts';
import { recordHeaderBytes } from '../ports/record.ts';
import { unzigzag, VarintReader } from './varint.ts';

/** A decoded index block, one array per column: half the memory of objects, and binary search works on `paths`. */
export interface IndexEntries {
  readonly count: number;
  readonly paths: readonly string[];
  /** Offset of each record's header in the data plaintext; one more at the end, the data's length. */
  readonly offsets: Uint32Array;
  readonly isDelete: Uint8Array;
  readonly updateSeconds: Float64Array;
  readonly updateNanos: Uint32Array;
}

/** Decodes an index block. Its seal was checked before, but inconsistent contents are still an integrity error. */
export function decodeIndex(index: Uint8Array, count: number, dataLength: number): IndexEntries {
  if (count > index.length || dataLength > smallBlockBytesMax) throw damaged();
  const paths: string[] = new Array(count);
  const offsets = new Uint32Array(count + 1);
  const isDelete = new Uint8Array(count);
  const updateSeconds = new Float64Array(count);
  const updateNanos = new Uint32Array(count);
  const reader = new VarintReader(index);
  let path = Buffer.alloc(2048);
  let offset = 0;
  let pathBytes = 0;
  let seconds = 0;
  for (let entry = 0; entry < count; entry += 1) {
    const shared = reader.next();
    const suffixLength = reader.next();
    const suffixEnd = reader.position + suffixLength;
    if (shared < 0 || suffixLength < 0 || suffixEnd > index.length) throw damaged();
    // Each path is also in its record, so all paths together are shorter than the data.
    pathBytes += shared + suffixLength;
    if (pathBytes > dataLength) throw damaged();
    if (shared + suffixLength > path.length) path = Buffer.concat([path, Buffer.alloc(shared + suffixLength)]);
    path.set(index.subarray(reader.position, suffixEnd), shared);
    reader.position = suffixEnd;
    paths[entry] = path.toString('utf8', 0, shared + suffixLength);
    const lengthAndKind = reader.next();
    const secondsDelta = reader.next();
    const nanos = reader.next();
    if (lengthAndKind < 0 || secondsDelta < 0 || nanos < 0) throw damaged();
    seconds += unzigzag(secondsDelta);
    offsets[entry] = offset;
    isDelete[entry] = lengthAndKind % 2;
    updateSeconds[entry] = seconds;
    updateNanos[entry] = nanos;
    offset += recordHeaderBytes + Math.floor(lengthAndKind / 2);
    if (offset > dataLength) throw damaged();
  }
  offsets[count] = offset;
  if (reader.position !== index.length || offset !== dataLength) throw damaged();
  return { count, paths, offsets, isDelete, updateSeconds, updateNanos };
}

function damaged(): EngineError {
  return new EngineError('INTEGRITY_ERROR', "A segment's index does not match its header.");
}
