import { invalid } from '../transport/status.ts';
import {
  elementsOf,
  encodeArray,
  encodeDouble,
  encodeInteger,
  encodeTimestampValue,
  nullValue,
  splitElements,
} from '../values/encode.ts';
import { parseFieldPath } from '../values/field-path.ts';
import { type FieldMap, getField, setField } from '../values/fields.ts';
import { compareValues, valuesEqual } from '../values/order.ts';
import type { Micros } from '../values/timestamp.ts';
import { decodeValue, type NumberValue, rank, type Value } from '../values/value.ts';

const int64Min = -(2n ** 63n);
const int64Max = 2n ** 63n - 1n;
const requestTime = 1;

export interface FieldTransformMessage {
  fieldPath: string;
  transformType?: string;
  setToServerValue?: number;
  increment?: Uint8Array;
  maximum?: Uint8Array;
  minimum?: Uint8Array;
  appendMissingElements?: Uint8Array;
  removeAllFromArray?: Uint8Array;
}

/** Applies one transform to the fields and returns the result the caller gets to see. */
export function applyTransform(fields: FieldMap, transform: FieldTransformMessage, time: Micros): Uint8Array {
  const path = parseFieldPath(transform.fieldPath);
  const current = getField(fields, path);
  const { stored, result } = transformed(transform, current, time);
  setField(fields, path, stored);
  return result;
}

function transformed(
  transform: FieldTransformMessage,
  current: Uint8Array | null,
  time: Micros,
): { stored: Uint8Array; result: Uint8Array } {
  switch (transform.transformType) {
    case 'setToServerValue':
      if (transform.setToServerValue !== requestTime) throw invalid('Unknown server value.');
      return same(encodeTimestampValue(time));
    case 'increment':
      return same(increment(current, transform.increment!));
    case 'maximum':
      return same(extreme(current, transform.maximum!, 1));
    case 'minimum':
      return same(extreme(current, transform.minimum!, -1));
    case 'appendMissingElements':
      return { stored: union(current, transform.appendMissingElements!), result: nullValue };
    case 'removeAllFromArray':
      return { stored: without(current, transform.removeAllFromArray!), result: nullValue };
    default:
      throw invalid(`The transform of ${transform.fieldPath} names no operation.`);
  }
}

function same(value: Uint8Array): { stored: Uint8Array; result: Uint8Array } {
  return { stored: value, result: value };
}

function numberOperand(bytes: Uint8Array): NumberValue {
  const value = decodeValue(bytes);
  if (value.rank !== rank.number) throw invalid('The operand of a numeric transform must be a number.');
  return value;
}

function numberOf(bytes: Uint8Array | null): NumberValue | null {
  const value = bytes === null ? null : decodeValue(bytes);
  return value?.rank === rank.number ? value : null;
}

/** Integers saturate at the ends of int64; an integer and a double make a double. */
function increment(current: Uint8Array | null, operand: Uint8Array): Uint8Array {
  const by = numberOperand(operand);
  const from = numberOf(current);
  if (from === null) return operand;
  if (!from.isInteger || !by.isInteger) return encodeDouble(from.double + by.double);
  const sum = (from.exact ?? BigInt(from.double)) + (by.exact ?? BigInt(by.double));
  if (sum > int64Max) return encodeInteger(int64Max);
  if (sum < int64Min) return encodeInteger(int64Min);
  return encodeInteger(sum);
}

/** The larger (sign 1) or smaller (sign -1) of two numbers; of equal ones the stored one stays, and NaN wins. */
function extreme(current: Uint8Array | null, operand: Uint8Array, sign: 1 | -1): Uint8Array {
  const given = numberOperand(operand);
  const stored = numberOf(current);
  if (current === null || stored === null || Number.isNaN(given.double)) return operand;
  if (Number.isNaN(stored.double)) return current;
  return compareValues(given, stored) * sign > 0 ? operand : current;
}

function union(current: Uint8Array | null, added: Uint8Array): Uint8Array {
  const elements = elementsOf(current) ?? [];
  const known: Value[] = elements.map((element) => decodeValue(element));
  for (const element of splitElements(added)) {
    const value = decodeValue(element);
    if (known.some((other) => valuesEqual(other, value))) continue;
    known.push(value);
    elements.push(element);
  }
  return encodeArray(elements);
}

function without(current: Uint8Array | null, removed: Uint8Array): Uint8Array {
  const gone = splitElements(removed).map((element) => decodeValue(element));
  const elements = elementsOf(current) ?? [];
  return encodeArray(
    elements.filter((element) => {
      const value = decodeValue(element);
      return !gone.some((other) => valuesEqual(other, value));
    }),
  );
}
