import type { DocumentEntry, Version } from '../store/document.ts';
import { type FieldPath, isNamePath } from '../values/field-path.ts';
import { findField } from '../values/fields.ts';
import { pathFromKey } from '../values/key.ts';
import { decodeValue, type Value } from '../values/value.ts';

/** A document at one time, as filters and orders see it. */
export interface DocumentView {
  readonly entry: DocumentEntry;
  readonly version: Version;
}

/** The value at a path, or null when the document has no such field. */
export function valueAt(view: DocumentView, path: FieldPath, documentsRoot: string): Value | null {
  if (isNamePath(path)) return { rank: 6, name: `${documentsRoot}/${pathFromKey(view.entry.key)}` };
  const { slab, offset, length } = view.version;
  const found = findField(slab, path, offset, offset + length);
  return found === null ? null : decodeValue(found.bytes, found.start, found.end);
}
