import { invalid } from '../transport/status.ts';
import { encodeDouble, encodeInteger, nullValue } from '../values/encode.ts';
import { type FieldPath, isNamePath, parseFieldPath } from '../values/field-path.ts';
import { type NumberValue, rank } from '../values/value.ts';
import { type DocumentView, valueAt } from './document-view.ts';
import type { FieldReferenceMessage } from './messages.ts';

export interface AggregationMessage {
  operator?: 'count' | 'sum' | 'avg';
  count?: { upTo: { value: unknown } | null };
  sum?: { field: FieldReferenceMessage | null };
  avg?: { field: FieldReferenceMessage | null };
  alias: string;
}

/** Takes documents one at a time and knows the result at the end. */
export interface Aggregation {
  readonly alias: string;
  readonly path: FieldPath | null;
  add(view: DocumentView): void;
  /** Adds this many documents, whatever they contain; absent if the content matters. */
  addUnseen?(documents: number): void;
  result(): Uint8Array;
}

const aggregationsMax = 5;
const aliasBytesMax = 1500;
const int64Min = -(2n ** 63n);
const int64Max = 2n ** 63n - 1n;

export function planAggregations(messages: readonly AggregationMessage[], documentsRoot: string): Aggregation[] {
  if (messages.length === 0) throw invalid('An aggregation query needs at least one aggregation.');
  if (messages.length > aggregationsMax) throw invalid(`The maximum number of aggregations is ${aggregationsMax}.`);
  const aggregations = messages.map((message, index) =>
    planAggregation(message, message.alias === '' ? `field_${index + 1}` : message.alias, documentsRoot),
  );
  if (new Set(aggregations.map(({ alias }) => alias)).size !== aggregations.length) {
    throw invalid('Two aggregations have the same alias.');
  }
  return aggregations;
}

function planAggregation(message: AggregationMessage, alias: string, documentsRoot: string): Aggregation {
  if (Buffer.byteLength(alias) > aliasBytesMax) throw invalid('The alias of an aggregation is too long.');
  switch (message.operator) {
    case 'count':
      return new Count(alias, message.count!.upTo === null ? null : Number(message.count!.upTo.value));
    case 'sum':
      return new Sum(alias, fieldOf(message.sum!.field), documentsRoot, false);
    case 'avg':
      return new Sum(alias, fieldOf(message.avg!.field), documentsRoot, true);
    default:
      throw invalid('An aggregation names no operator.');
  }
}

function fieldOf(reference: FieldReferenceMessage | null): FieldPath {
  const path = parseFieldPath(reference?.fieldPath ?? '');
  if (isNamePath(path)) throw invalid('Aggregations are not supported for the field __name__.');
  return path;
}

class Count implements Aggregation {
  readonly alias: string;
  readonly path = null;
  readonly #upTo: number | null;
  #count = 0;

  constructor(alias: string, upTo: number | null) {
    if (upTo !== null && !(upTo > 0)) throw invalid('up_to must be greater than zero.');
    this.alias = alias;
    this.#upTo = upTo;
  }

  add(): void {
    this.addUnseen(1);
  }

  addUnseen(documents: number): void {
    this.#count = Math.min(this.#count + documents, this.#upTo ?? Number.POSITIVE_INFINITY);
  }

  result(): Uint8Array {
    return encodeInteger(this.#count);
  }
}

/** A sum, or the average from it. Integers add up exactly and overflow into a double. */
class Sum implements Aggregation {
  readonly alias: string;
  readonly path: FieldPath;
  readonly #documentsRoot: string;
  readonly #average: boolean;
  #integers = 0n;
  #doubles = 0;
  #hasDoubles = false;
  #count = 0;

  constructor(alias: string, path: FieldPath, documentsRoot: string, average: boolean) {
    this.alias = alias;
    this.path = path;
    this.#documentsRoot = documentsRoot;
    this.#average = average;
  }

  add(view: DocumentView): void {
    const value = valueAt(view, this.path, this.#documentsRoot);
    if (value?.rank !== rank.number) return;
    this.#count += 1;
    this.#addNumber(value);
  }

  #addNumber(value: NumberValue): void {
    if (value.isInteger) {
      this.#integers += value.exact ?? BigInt(value.double);
    } else {
      this.#hasDoubles = true;
      this.#doubles += value.double;
    }
  }

  result(): Uint8Array {
    const sum = this.#doubles + Number(this.#integers);
    if (this.#average) return this.#count === 0 ? nullValue : encodeDouble(sum / this.#count);
    const fits = this.#integers >= int64Min && this.#integers <= int64Max;
    return this.#hasDoubles || !fits ? encodeDouble(sum) : encodeInteger(this.#integers);
  }
}
