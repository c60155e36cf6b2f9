import { decodeDocument, type JsonFields, type JsonValue, stringifyLossless } from './document-json.ts';

/** Text in which equal values are equal: map keys sorted, references as `reference` tells them. */
export function canonicalValue(value: JsonValue, reference: (name: string) => string = (name) => name): string {
  if ('referenceValue' in value) return `ref:${reference(value.referenceValue)}`;
  if ('arrayValue' in value)
    return `[${(value.arrayValue.values ?? []).map((element) => canonicalValue(element, reference)).join()}]`;
  if (!('mapValue' in value)) return stringifyLossless(value);
  const entries = Object.entries(value.mapValue.fields ?? {}).sort(([left], [right]) => (left < right ? -1 : 1));
  return `{${entries.map(([key, nested]) => `${JSON.stringify(key)}:${canonicalValue(nested, reference)}`).join()}}`;
}

/** Whether two documents have the same fields, in whatever order the database keeps them. */
export function haveSameFields(left: Uint8Array, right: Uint8Array): boolean {
  const [one, other] = [decodeDocument(left).fields, decodeDocument(right).fields];
  return canonicalValue({ mapValue: { fields: one } }) === canonicalValue({ mapValue: { fields: other } });
}

/** Whether merging `part` into `whole` would change nothing. */
export function containsFields(whole: Uint8Array, part: Uint8Array): boolean {
  return contains(decodeDocument(whole).fields, decodeDocument(part).fields);
}

function contains(whole: JsonFields, part: JsonFields): boolean {
  return Object.entries(part).every(([key, value]) => {
    const found = whole[key];
    if (found === undefined) return false;
    if ('mapValue' in value && 'mapValue' in found)
      return contains(found.mapValue.fields ?? {}, value.mapValue.fields ?? {});
    return canonicalValue(found) === canonicalValue(value);
  });
}
