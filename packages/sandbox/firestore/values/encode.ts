import { encodeTimestamp, type Micros } from './timestamp.ts';
import { valueTag } from './value.ts';
import { fixed64, varint, WireReader, WireWriter } from './wire.ts';

export const nullValue: Uint8Array = Uint8Array.of(valueTag.null, 0);

export function encodeBoolean(value: boolean): Buffer {
  return new WireWriter(4).tag(1, varint).varint(Number(value)).finish();
}

export function encodeInteger(value: number | bigint): Buffer {
  return new WireWriter(12).tag(2, varint).int64(value).finish();
}

export function encodeDouble(value: number): Buffer {
  return new WireWriter(10).tag(3, fixed64).double(value).finish();
}

export function encodeTimestampValue(micros: Micros): Buffer {
  return new WireWriter(20).delimited(10, encodeTimestamp(micros)).finish();
}

export function encodeString(text: string): Buffer {
  return new WireWriter(text.length + 8).string(17, text).finish();
}

export function encodeBytes(bytes: Uint8Array): Buffer {
  return new WireWriter(bytes.length + 8).delimited(18, bytes).finish();
}

export function encodeReference(name: string): Buffer {
  return new WireWriter(name.length + 8).string(5, name).finish();
}

export function encodeGeoPoint(latitude: number, longitude: number): Buffer {
  const writer = new WireWriter(20);
  if (latitude !== 0 || Object.is(latitude, -0)) writer.tag(1, fixed64).double(latitude);
  if (longitude !== 0 || Object.is(longitude, -0)) writer.tag(2, fixed64).double(longitude);
  return new WireWriter(24).delimited(8, writer.finish()).finish();
}

/** An array value from encoded elements. */
export function encodeArray(elements: readonly Uint8Array[]): Buffer {
  const content = new WireWriter();
  for (const element of elements) content.delimited(1, element);
  return new WireWriter().delimited(9, content.finish()).finish();
}

/** The encoded elements of an ArrayValue message. */
export function splitElements(bytes: Uint8Array, start = 0, end = bytes.length): Uint8Array[] {
  const reader = new WireReader(bytes, start, end);
  const elements: Uint8Array[] = [];
  while (reader.more) {
    const tag = reader.uint32();
    if (tag === 0x0a) elements.push(bytes.subarray(reader.delimited(), reader.position));
    else reader.skip(tag & 7);
  }
  return elements;
}

/** The encoded elements of a Value when it is an array, else null. */
export function elementsOf(value: Uint8Array | null): Uint8Array[] | null {
  if (value === null) return null;
  const reader = new WireReader(value);
  if (!reader.more || reader.uint32() !== valueTag.array) return null;
  return splitElements(value, reader.delimited(), reader.position);
}
