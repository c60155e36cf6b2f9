import { malformed, ProtobufReader } from '../format/protobuf.ts';
import { EngineError } from '../ports/errors.ts';
import type { DocumentPlace } from './document-place.ts';

/** One field of a message whose schema only the caller knows; groups are returned as readers of their contents. */
export interface WireField {
  readonly number: number;
  readonly varint: bigint;
  readonly double: number;
  readonly inside: ProtobufReader;
}

const nothing = new ProtobufReader(new Uint8Array(0));

/** Reads the fields of a message of Protocol Buffers version 1, including groups. */
export function* wireFields(reader: ProtobufReader): Generator<WireField> {
  while (!reader.isAtEnd) {
    const tag = reader.varint();
    const number = tag >>> 3;
    const empty: WireField = { number, varint: 0n, double: 0, inside: nothing };
    if ((tag & 7) === 0) yield { ...empty, varint: reader.int64() };
    else if ((tag & 7) === 1) yield { ...empty, double: reader.double() };
    else if ((tag & 7) === 2) yield { ...empty, inside: reader.message() };
    else if ((tag & 7) === 3) yield { ...empty, inside: group(reader, number) };
    else reader.skip(tag & 7);
  }
}

/** Nesting of groups; each level is read again. */
const depthMax = 100;

/** A group ends at the end tag with its own number. */
function group(reader: ProtobufReader, number: number, depth = 0): ProtobufReader {
  if (depth > depthMax) throw malformed();
  const start = reader.position;
  for (;;) {
    const end = reader.position;
    const tag = reader.varint();
    if ((tag & 7) === 4) {
      if (tag >>> 3 !== number) throw malformed();
      return new ProtobufReader(reader.bytes, start, end);
    }
    if ((tag & 7) === 3) group(reader, tag >>> 3, depth + 1);
    else reader.skip(tag & 7);
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function textOf(reader: ProtobufReader, place?: DocumentPlace): string {
  try {
    return utf8.decode(insideBytes(reader));
  } catch {
    throw place?.refused('has a text that is not UTF-8') ?? new EngineError('VALIDATION_ERROR', 'A text is not UTF-8.');
  }
}

export function insideBytes(reader: ProtobufReader): Uint8Array {
  return reader.bytes.subarray(reader.position, reader.end);
}
