import { compareKeys, segmentKey } from './key.ts';
import { type NumberValue, rank, type Value } from './value.ts';

/** Firestore's total order of values: by type first, then within the type. */
export function compareValues(left: Value, right: Value): number {
  if (left.rank !== right.rank) return left.rank - right.rank;
  switch (left.rank) {
    case 0:
      return 0;
    case 1:
      return Number(left.boolean) - Number((right as typeof left).boolean);
    case 2:
      return compareNumbers(left, right as typeof left);
    case 3:
      return left.seconds - (right as typeof left).seconds || left.nanos - (right as typeof left).nanos;
    case 4:
    case 5:
      return Buffer.compare(left.bytes, (right as typeof left).bytes);
    case 6:
      return compareNames(left.name, (right as typeof left).name);
    case 7:
      return (
        compareDoubles(left.latitude, (right as typeof left).latitude) ||
        compareDoubles(left.longitude, (right as typeof left).longitude)
      );
    case 8:
      return compareElements(left.elements, (right as typeof left).elements);
    case 9:
      return (
        left.elements.length - (right as typeof left).elements.length ||
        compareElements(left.elements, (right as typeof left).elements)
      );
    case 10:
      return compareMaps(left.entries, (right as typeof left).entries);
  }
}

export function valuesEqual(left: Value, right: Value): boolean {
  return compareValues(left, right) === 0;
}

export function isNaNValue(value: Value): boolean {
  return value.rank === rank.number && Number.isNaN(value.double);
}

/** NaN comes before every number; integers and doubles compare by their exact values. */
function compareNumbers(left: NumberValue, right: NumberValue): number {
  if (left.exact === null && right.exact === null) return compareDoubles(left.double, right.double);
  if (Number.isNaN(left.double)) return -1;
  if (Number.isNaN(right.double)) return 1;
  // Mixed bigint and number comparison is exact in JavaScript.
  const a = left.exact ?? left.double;
  const b = right.exact ?? right.double;
  return a < b ? -1 : a > b ? 1 : 0;
}

function compareDoubles(left: number, right: number): number {
  if (left < right) return -1;
  if (left > right) return 1;
  if (left === right) return 0;
  return Number(Number.isNaN(right)) - Number(Number.isNaN(left));
}

function compareElements(left: readonly Value[], right: readonly Value[]): number {
  const shared = Math.min(left.length, right.length);
  for (let index = 0; index < shared; index++) {
    const order = compareValues(left[index]!, right[index]!);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

/** References compare segment by segment, the project and database included. */
function compareNames(left: string, right: string): number {
  return compareKeys(nameKey(left), nameKey(right));
}

function nameKey(name: string): string {
  return name.split('/').map(segmentKey).join('\u0000');
}

/** Maps compare entry by entry in key order: the key, then the value; the one that ends first is smaller. */
function compareMaps(left: ReadonlyMap<string, Value>, right: ReadonlyMap<string, Value>): number {
  const leftKeys = sortedKeys(left);
  const rightKeys = sortedKeys(right);
  const shared = Math.min(leftKeys.length, rightKeys.length);
  for (let index = 0; index < shared; index++) {
    const order =
      compareText(leftKeys[index]!, rightKeys[index]!) ||
      compareValues(left.get(leftKeys[index]!)!, right.get(rightKeys[index]!)!);
    if (order !== 0) return order;
  }
  return leftKeys.length - rightKeys.length;
}

function sortedKeys(entries: ReadonlyMap<string, Value>): string[] {
  return [...entries.keys()].sort(compareText);
}

export function compareText(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}
