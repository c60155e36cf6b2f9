import { decodeDocument, type JsonFields, type JsonValue, stringifyLossless } from './document-json.ts';

/** A text that is equal for equal values: map keys are sorted, and references are translated by `reference`. */
export function canonicalValue(value: JsonValue, reference: (name: string) => string = (name) => name): string {
  if ('referenceValue' in value) return `ref:${JSON.stringify(reference(value.referenceValue))}`;
  if ('arrayValue' in value)
    return `[${(value.arrayValue.values ?? []).map((element) => canonicalValue(element, reference)).join()}]`;
  if (!('mapValue' in value)) return stringifyLossless(value);
  const entries = Object.entries(value.mapValue.fields ?? {}).sort(([left], [right]) => (left < right ? -1 : 1));
  return `{${entries.map(([key, nested]) => `${JSON.stringify(key)}:${canonicalValue(nested, reference)}`).join()}}`;
}

/** A text of a document's fields that is equal for equal documents. */
export function canonicalFields(document: Uint8Array): string {
  return canonicalValue({ mapValue: { fields: decodeDocument(document).fields } });
}

/** Whether two documents have the same fields, in whatever order the database keeps them. */
export function haveSameFields(left: Uint8Array, right: Uint8Array): boolean {
  return isSameMap(decodeDocument(left).fields, decodeDocument(right).fields);
}

/** Maps are merged deeply, everything else is replaced. A vector is stored as a map but is not one. */
export function mergeFields(there: JsonFields, coming: JsonFields): JsonFields {
  const merged = Object.fromEntries(
    Object.entries(coming).map(([key, value]) => {
      const old = there[key];
      const areMaps =
        old !== undefined && 'mapValue' in old && 'mapValue' in value && !isVector(old) && !isVector(value);
      if (!areMaps) return [key, value];
      return [key, { mapValue: { fields: mergeFields(old.mapValue.fields ?? {}, value.mapValue.fields ?? {}) } }];
    }),
  );
  return { ...there, ...merged };
}

function isVector(value: JsonValue): boolean {
  return 'mapValue' in value && value.mapValue.fields?.__type__ !== undefined;
}

/** Whether a document equals `former` with `part` merged into it; `former` is absent when there was no document. */
export function isMergeOf(found: Uint8Array, former: Uint8Array | undefined, part: Uint8Array): boolean {
  const merged = mergeFields(former ? decodeDocument(former).fields : {}, decodeDocument(part).fields);
  return isSameMap(decodeDocument(found).fields, merged);
}

function isSameMap(left: JsonFields, right: JsonFields): boolean {
  return canonicalValue({ mapValue: { fields: left } }) === canonicalValue({ mapValue: { fields: right } });
}
