import { documentEntry } from '../values/fields.ts';
import { readTimestamp, rfc3339 } from '../values/timestamp.ts';
import { decodeValue, mapEntries, textOf, type Value } from '../values/value.ts';
import { WireReader } from '../values/wire.ts';

const nameTag = 0x0a;
const createTimeTag = 0x1a;
const updateTimeTag = 0x22;

/**
 * An encoded Document in REST's form. Written by hand, because an object would put keys that look like numbers first.
 */
export function documentJson(bytes: Uint8Array, start = 0, end = bytes.length): string {
  const parts: string[] = [];
  const fields: string[] = [];
  for (const entry of mapEntries(bytes, start, end, documentEntry)) {
    const value = decodeValue(bytes, entry.valueStart, entry.valueEnd);
    fields.push(`${JSON.stringify(textOf(bytes, entry.keyStart, entry.keyEnd))}:${valueJson(value)}`);
  }
  const reader = new WireReader(bytes, start, end);
  while (reader.more) {
    const tag = reader.uint32();
    if (tag === nameTag) parts.push(`"name":${JSON.stringify(textOf(bytes, reader.delimited(), reader.position))}`);
    else if (tag === createTimeTag)
      parts.push(`"createTime":${timestampJson(bytes, reader.delimited(), reader.position)}`);
    else if (tag === updateTimeTag)
      parts.push(`"updateTime":${timestampJson(bytes, reader.delimited(), reader.position)}`);
    else reader.skip(tag & 7);
  }
  if (fields.length > 0) parts.push(`"fields":{${fields.join(',')}}`);
  return `{${parts.join(',')}}`;
}

/** An encoded Timestamp, in quotes. */
export function timestampJson(bytes: Uint8Array, start: number, end: number): string {
  const { seconds, nanos } = readTimestamp(bytes, start, end);
  return `"${rfc3339(seconds, nanos)}"`;
}

function valueJson(value: Value): string {
  switch (value.rank) {
    case 0:
      return '{"nullValue":null}';
    case 1:
      return `{"booleanValue":${value.boolean}}`;
    case 2:
      return value.isInteger
        ? `{"integerValue":"${value.exact ?? value.double}"}`
        : `{"doubleValue":${doubleJson(value.double)}}`;
    case 3:
      return `{"timestampValue":"${rfc3339(value.seconds, value.nanos)}"}`;
    case 4:
      return `{"stringValue":${JSON.stringify(textOf(value.bytes))}}`;
    case 5:
      return `{"bytesValue":"${Buffer.from(value.bytes).toString('base64')}"}`;
    case 6:
      return `{"referenceValue":${JSON.stringify(value.name)}}`;
    case 7:
      return `{"geoPointValue":{"latitude":${doubleJson(value.latitude)},"longitude":${doubleJson(value.longitude)}}}`;
    case 8:
      return arrayJson(value.elements);
    case 9:
      return `{"mapValue":{"fields":{"__type__":{"stringValue":"__vector__"},"value":${arrayJson(value.elements)}}}}`;
    default:
      return mapJson(value.entries);
  }
}

function arrayJson(elements: readonly Value[]): string {
  return `{"arrayValue":{${elements.length === 0 ? '' : `"values":[${elements.map(valueJson).join(',')}]`}}}`;
}

function mapJson(entries: ReadonlyMap<string, Value>): string {
  const fields = [...entries].map(([key, value]) => `${JSON.stringify(key)}:${valueJson(value)}`);
  return `{"mapValue":{${fields.length === 0 ? '' : `"fields":{${fields.join(',')}}`}}}`;
}

/** JSON cannot express three of the numbers, and JavaScript writes negative zero without its sign. */
function doubleJson(double: number): string {
  if (!Number.isFinite(double)) return `"${double}"`;
  return Object.is(double, -0) ? '-0' : String(double);
}
