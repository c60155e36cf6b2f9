import type { JsonFields, JsonValue } from '../format/document-json.ts';
import { instantFromParts } from '../ports/instant.ts';
import type { DocumentPlace } from './document-place.ts';
import { isNumericId, nameFault } from './names.ts';

/**
 * What Firestore can store. Other values are refused and never changed: they would become different values, or make a
 * restore fail.
 */

/** Nesting of maps and arrays. */
export const depthMax = 20;
const documentBytesMax = 1024 * 1024;
const secondsMin = -62_135_596_800;
const secondsMax = 253_402_300_799;
const nanosMax = 999_999_999;

export function timestampValue(seconds: number, nanos: number, place: DocumentPlace): JsonValue {
  return { timestampValue: timestampOf(seconds, nanos, place) };
}

/** Both are whole. */
function timestampOf(seconds: number, nanos: number, place: DocumentPlace): string {
  if (seconds < secondsMin || seconds > secondsMax)
    throw place.refused('is a time that is not in the years 0001 to 9999');
  if (nanos < 0 || nanos > nanosMax) throw place.refused(`is a time whose nanoseconds are not 0 to ${nanosMax}`);
  return instantFromParts(seconds, nanos);
}

const timePattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))$/;

/** A day or hour that does not exist would become another one, so the parsed time is compared with the text. */
export function timestampOfText(text: unknown, place: DocumentPlace): string {
  const [, second, fraction = '', sign, hours, minutes] = (typeof text === 'string' && timePattern.exec(text)) || [];
  const date = new Date(`${second}Z`);
  if (second === undefined || Number.isNaN(date.getTime()) || !date.toISOString().startsWith(second))
    throw place.refused('is a timestamp that is not a time');
  if (/[1-9]/.test(fraction.slice(9))) throw place.refused('is a time finer than a nanosecond and would be rounded');
  const offset = sign === undefined ? 0 : (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -60 : 60);
  return timestampOf(date.getTime() / 1000 - offset, Number(fraction.slice(0, 9).padEnd(9, '0')), place);
}

/** A decoder would skip invalid characters and shift everything after them. */
export function bytesOfText(value: unknown, place: DocumentPlace): JsonValue {
  if (typeof value !== 'string' || Buffer.from(value, 'base64').toString('base64') !== value)
    throw place.refused('has bytes that are not base64');
  return { bytesValue: value };
}

export const vectorTypeField = '__type__';

/** A vector is a map of this shape; no other map may have such a field. */
export function isVector(fields: JsonFields): boolean {
  const { [vectorTypeField]: type, value } = fields;
  if (type === undefined || !('stringValue' in type) || type.stringValue !== '__vector__') return false;
  if (Object.keys(fields).length > 2 || (value === undefined) !== (Object.keys(fields).length === 1)) return false;
  if (value === undefined) return true;
  return 'arrayValue' in value && (value.arrayValue.values ?? []).every((each) => 'doubleValue' in each);
}

export function vectorValue(values: JsonValue[], place: DocumentPlace): JsonValue {
  const fields = { [vectorTypeField]: { stringValue: '__vector__' }, value: { arrayValue: { values } } };
  if (!isVector(fields)) throw place.refused('is a vector of what are no numbers');
  return { mapValue: { fields } };
}

export function geoPointValue(latitude: number, longitude: number, place: DocumentPlace): JsonValue {
  if (!(Math.abs(latitude) <= 90)) throw place.refused('is a geopoint whose latitude is not -90 to 90');
  if (!(Math.abs(longitude) <= 180)) throw place.refused('is a geopoint whose longitude is not -180 to 180');
  return { geoPointValue: { latitude, longitude } };
}

/** A reference to the document at these segments of a database. */
export function referenceValue(database: string, segments: readonly string[], place: DocumentPlace): JsonValue {
  if (segments.length === 0 || segments.length % 2 !== 0)
    throw place.refused('is a reference that leads to no document');
  for (const segment of segments) {
    const fault = nameFault(segment);
    if (fault !== undefined) throw place.refused(`is a reference of which a part ${fault}`);
  }
  return { referenceValue: `${database}/documents/${segments.join('/')}` };
}

export function requireSize(fields: JsonFields, place: DocumentPlace): void {
  const bytes = nameBytes(place.path) + fieldsBytes(fields) + 32;
  if (bytes > documentBytesMax)
    throw place.refused(`is larger than 1 MiB, which is all that Firestore takes: it has ${bytes} bytes`);
}

/** Sizes as Firestore counts them. Its manual does not say what a map takes beside its fields, so nothing is added. */
function valueBytes(value: JsonValue): number {
  if ('stringValue' in value) return textBytes(value.stringValue);
  if ('bytesValue' in value) return Buffer.byteLength(value.bytesValue, 'base64');
  if ('referenceValue' in value) return nameBytes(value.referenceValue.split('/').slice(5).join('/'));
  if ('arrayValue' in value) return (value.arrayValue.values ?? []).reduce((sum, one) => sum + valueBytes(one), 0);
  if ('mapValue' in value) return fieldsBytes(value.mapValue.fields ?? {});
  if ('geoPointValue' in value) return 16;
  return 'nullValue' in value || 'booleanValue' in value ? 1 : 8;
}

function fieldsBytes(fields: JsonFields): number {
  let sum = 0;
  for (const [name, value] of Object.entries(fields)) sum += textBytes(name) + valueBytes(value);
  return sum;
}

function nameBytes(path: string): number {
  return path.split('/').reduce((sum, id) => sum + (isNumericId(id) ? 8 : textBytes(id)), 16);
}

function textBytes(text: string): number {
  return Buffer.byteLength(text) + 1;
}
