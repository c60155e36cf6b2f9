import { encodeDocument, type Version, versionBytes } from '../store/document.ts';
import { encodeDouble } from '../values/encode.ts';
import { type FieldPath, parseFieldPath } from '../values/field-path.ts';
import { documentEntry, encodeFields, parseFields, projectFields, setField, splitDocument } from '../values/fields.ts';
import { encodeTimestamp, type Micros } from '../values/timestamp.ts';
import { WireWriter } from '../values/wire.ts';

export interface MaskMessage {
  fieldPaths: string[];
}

/** The paths of a DocumentMask; null when there is none and whole documents are wanted. */
export function maskPaths(mask: MaskMessage | null | undefined): FieldPath[] | null {
  return mask === null || mask === undefined ? null : mask.fieldPaths.map(parseFieldPath);
}

/** The Document to send: the stored bytes, or what a mask leaves of them. */
export function renderDocument(version: Version, mask: readonly FieldPath[] | null): Buffer {
  const stored = versionBytes(version);
  if (mask === null) return stored;
  const { name, fields } = splitDocument(stored);
  return encodeDocument(Buffer.from(name), projectFields(fields, mask), version.createTime, version.updateTime);
}

/** A document with the distance of a vector search added as a field. */
export function renderNeighbour(
  version: Version,
  mask: readonly FieldPath[] | null,
  field: FieldPath,
  distance: number,
): Buffer {
  const { name, fields } = splitDocument(renderDocument(version, mask));
  const map = parseFields(fields, documentEntry);
  setField(map, field, encodeDouble(distance));
  return encodeDocument(Buffer.from(name), encodeFields(map, documentEntry), version.createTime, version.updateTime);
}

/** An encoded timestamp field, to follow a document in a response. */
export function timestampField(field: number, time: Micros): Buffer {
  return new WireWriter(24).delimited(field, encodeTimestamp(time)).finish();
}
