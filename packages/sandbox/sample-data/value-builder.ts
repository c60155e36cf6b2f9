import {
  encodeArray,
  encodeBoolean,
  encodeBytes,
  encodeDouble,
  encodeGeoPoint,
  encodeInteger,
  encodeReference,
  encodeString,
  encodeTimestampValue,
  nullValue,
} from '../firestore/values/encode.ts';
import { documentEntry, encodeFields, encodeMapValue, type FieldMap } from '../firestore/values/fields.ts';
import { encodeTimestampParts, type Micros } from '../firestore/values/timestamp.ts';
import { WireWriter } from '../firestore/values/wire.ts';

/** Fields given as name and encoded value, in order. */
export type Entries = readonly (readonly [string, Uint8Array])[];

/** Short names for the values of samples; each returns an encoded Firestore value. */
export const value = {
  null: nullValue,
  boolean: encodeBoolean,
  integer: encodeInteger,
  double: encodeDouble,
  timestamp: (micros: Micros): Uint8Array => encodeTimestampValue(micros),
  timestampParts: (seconds: number, nanos: number): Uint8Array =>
    new WireWriter(20).delimited(10, encodeTimestampParts(seconds, nanos)).finish(),
  string: encodeString,
  bytes: encodeBytes,
  reference: encodeReference,
  geoPoint: encodeGeoPoint,
  array: encodeArray,
  map: (...entries: Entries): Uint8Array => encodeMapValue(toMap(entries)),
  vector: (numbers: readonly number[]): Uint8Array =>
    encodeMapValue(
      toMap([
        ['__type__', encodeString('__vector__')],
        ['value', encodeArray(numbers.map(encodeDouble))],
      ]),
    ),
};

function toMap(entries: Entries): FieldMap {
  return new Map(entries);
}

/** The field entries of a document, as a Write's document carries them. */
export function documentFields(...entries: Entries): Buffer {
  return encodeFields(toMap(entries), documentEntry);
}
