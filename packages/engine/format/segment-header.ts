import { type Codec, isCodec } from '../crypto/block.ts';
import { EngineError } from '../ports/errors.ts';

export const segmentContent = { documents: 1, authUsers: 2, log: 3 } as const;
export type SegmentContent = (typeof segmentContent)[keyof typeof segmentContent];

export const segmentHeaderBytes = 56;
const annexBytesMax = 64 * 1024;
export const formatVersion = 1;
const segmentMagic = 0x47534648; // "HFSG" read as u32 LE

/** The unencrypted beginning of a segment. Both sealed blocks are bound to all of it as additional data. */
export interface SegmentHeader {
  readonly content: SegmentContent;
  readonly codec: Codec;
  readonly objectId: Uint8Array;
  readonly range: number;
  readonly sequence: number;
  readonly records: number;
  readonly indexPlainLength: number;
  readonly indexSealedLength: number;
  readonly dataPlainLength: number;
  readonly dataSealedLength: number;
  readonly annexLength: number;
}

export function encodeSegmentHeader(header: SegmentHeader): Uint8Array {
  const bytes = new Uint8Array(segmentHeaderBytes);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, segmentMagic, true);
  view.setUint8(4, formatVersion);
  view.setUint8(5, header.content);
  view.setUint8(6, header.codec);
  bytes.set(header.objectId, 8);
  const numbers = [
    header.range,
    header.sequence,
    header.records,
    header.indexPlainLength,
    header.indexSealedLength,
    header.dataPlainLength,
    header.dataSealedLength,
    header.annexLength,
  ];
  for (const [index, number] of numbers.entries()) view.setUint32(24 + index * 4, number, true);
  return bytes;
}

export function decodeSegmentHeader(bytes: Uint8Array): SegmentHeader {
  if (bytes.length < segmentHeaderBytes) throw damaged('is shorter than its header');
  const view = new DataView(bytes.buffer, bytes.byteOffset, segmentHeaderBytes);
  if (view.getUint32(0, true) !== segmentMagic) throw damaged('does not begin like a segment');
  if (view.getUint8(4) !== formatVersion) throw damaged(`has the unknown format version ${view.getUint8(4)}`);
  const content = view.getUint8(5);
  const usedCodec = view.getUint8(6);
  if (content < 1 || content > 3 || !isCodec(usedCodec) || view.getUint8(7) !== 0) throw damaged('has an unknown kind');
  const numberAt = (index: number) => view.getUint32(24 + index * 4, true);
  if (numberAt(7) > annexBytesMax) throw damaged('has an impossible annex');
  return {
    content: content as SegmentContent,
    codec: usedCodec,
    objectId: bytes.slice(8, 24),
    range: numberAt(0),
    sequence: numberAt(1),
    records: numberAt(2),
    indexPlainLength: numberAt(3),
    indexSealedLength: numberAt(4),
    dataPlainLength: numberAt(5),
    dataSealedLength: numberAt(6),
    annexLength: numberAt(7),
  };
}

function damaged(how: string): EngineError {
  return new EngineError('INTEGRITY_ERROR', `A segment ${how}.`);
}
