import protobuf from 'protobufjs';
import { invalid } from '../transport/status.ts';
import { parseRfc3339 } from '../values/timestamp.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** Encodes a message that came as JSON, by the rules of proto3's JSON form. */
export function encodeJson(type: protobuf.Type, json: unknown): Buffer {
  return type.encode(type.fromObject(readMessage(type, json))).finish() as Buffer;
}

/**
 * Converts JSON for the proto library, which does not know the JSON forms of times and wrappers, and drops null values.
 */
function readMessage(type: protobuf.Type, json: unknown): JsonObject {
  if (type.fullName === '.google.protobuf.Timestamp') return readTime(json);
  if (/^\.google\.protobuf\.\w+Value$/.test(type.fullName)) return { value: json };
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw invalidPayload(`${type.name} is no object`);
  const message: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(json)) {
    const field = type.fields[key]?.resolve();
    if (field === undefined) throw invalidPayload(`Unknown name "${key}": Cannot find field`);
    message[key] = readField(field, value);
  }
  return message;
}

function readField(field: protobuf.Field, value: unknown): unknown {
  if (value === null) return field.resolvedType?.fullName === '.google.protobuf.NullValue' ? 0 : undefined;
  if (field.map) {
    return Object.fromEntries(Object.entries(value as JsonObject).map(([key, each]) => [key, readOne(field, each)]));
  }
  if (!field.repeated) return readOne(field, value);
  if (!Array.isArray(value)) throw invalidPayload(`${field.name} is no array`);
  return value.map((each) => readOne(field, each));
}

function readOne({ resolvedType }: protobuf.Field, value: unknown): unknown {
  return resolvedType instanceof protobuf.Type ? readMessage(resolvedType, value) : value;
}

function readTime(json: unknown): JsonObject {
  const time = parseRfc3339(String(json));
  if (time === undefined) throw invalidPayload(`Illegal timestamp format: "${String(json)}"`);
  return time;
}

export function invalidPayload(reason: string): Error {
  return invalid(`Invalid JSON payload received. ${reason}.`);
}
