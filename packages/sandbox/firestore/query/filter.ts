import { invalid } from '../transport/status.ts';
import { type FieldPath, formatFieldPath, isNamePath, parseFieldPath } from '../values/field-path.ts';
import { compareValues, isNaNValue, valuesEqual } from '../values/order.ts';
import { decodeValue, rank, type Value } from '../values/value.ts';
import { type DocumentView, valueAt } from './document-view.ts';
import { composite, type FieldReferenceMessage, type FilterMessage, fieldOperator, unary } from './messages.ts';

const disjunctionsMax = 30;
const notInMax = 10;

export type Matcher = (view: DocumentView) => boolean;

/** A filter on one field: a test of its value, which is null when the field is missing. */
export interface FieldCondition {
  readonly kind: 'field';
  readonly path: FieldPath;
  readonly operator: number;
  readonly operand: Value | null;
  readonly isInequality: boolean;
  test(value: Value | null): boolean;
}

export type Condition = FieldCondition | { readonly kind: 'and' | 'or'; readonly conditions: readonly Condition[] };

export function compileFilter(message: FilterMessage, documentsRoot: string): Condition {
  switch (message.filterType) {
    case 'compositeFilter':
      return compileComposite(message.compositeFilter!, documentsRoot);
    case 'fieldFilter':
      return compileField(message.fieldFilter!, documentsRoot);
    case 'unaryFilter':
      return compileUnary(message.unaryFilter!);
    default:
      throw invalid('A filter names no type.');
  }
}

function compileComposite(message: { op: number; filters: FilterMessage[] }, documentsRoot: string): Condition {
  if (message.op !== composite.AND && message.op !== composite.OR)
    throw invalid('A composite filter names no operator.');
  if (message.filters.length === 0) throw invalid('A composite filter needs at least one filter.');
  const conditions = message.filters.map((filter) => compileFilter(filter, documentsRoot));
  return { kind: message.op === composite.AND ? 'and' : 'or', conditions };
}

function compileField(
  message: { field: FieldReferenceMessage | null; op: number; value: Uint8Array | null },
  documentsRoot: string,
): FieldCondition {
  const path = parseFieldPath(message.field?.fieldPath ?? '');
  if (message.value === null || message.value.length === 0) throw invalid('A field filter needs a value.');
  const operand = decodeValue(message.value);
  if (isNamePath(path)) checkNameOperand(operand, message.op, documentsRoot);
  return {
    kind: 'field',
    path,
    operator: message.op,
    operand,
    isInequality: isInequality(message.op),
    test: fieldTest(message.op, operand, path),
  };
}

/** A filter on __name__ compares with documents of the same database. */
function checkNameOperand(operand: Value, operator: number, documentsRoot: string): void {
  const many = operator === fieldOperator.IN || operator === fieldOperator.NOT_IN;
  const names = many && operand.rank === rank.array ? operand.elements : [operand];
  for (const name of names) {
    if (name.rank !== rank.reference) throw invalid('__key__ filter value must be a Key');
    if (!name.name.startsWith(`${documentsRoot}/`)) {
      throw invalid(`A filter on __name__ holds a document of another database: "${name.name}".`);
    }
    if (name.name.slice(documentsRoot.length + 1).split('/').length % 2 !== 0) {
      throw invalid(`A filter on __name__ holds a name that is no document: "${name.name}".`);
    }
  }
}

function isInequality(operator: number): boolean {
  return (
    operator <= fieldOperator.GREATER_THAN_OR_EQUAL ||
    operator === fieldOperator.NOT_EQUAL ||
    operator === fieldOperator.NOT_IN
  );
}

function fieldTest(operator: number, operand: Value, path: FieldPath): (value: Value | null) => boolean {
  // A range holds values of the operand's type only; NaN sorts among numbers but lies in no range.
  const sameType = (value: Value | null): value is Value =>
    value !== null && value.rank === operand.rank && !isNaNValue(value) && !isNaNValue(operand);
  switch (operator) {
    case fieldOperator.LESS_THAN:
      return (value) => sameType(value) && compareValues(value, operand) < 0;
    case fieldOperator.LESS_THAN_OR_EQUAL:
      return (value) => sameType(value) && compareValues(value, operand) <= 0;
    case fieldOperator.GREATER_THAN:
      return (value) => sameType(value) && compareValues(value, operand) > 0;
    case fieldOperator.GREATER_THAN_OR_EQUAL:
      return (value) => sameType(value) && compareValues(value, operand) >= 0;
    case fieldOperator.EQUAL:
      return (value) => value !== null && valuesEqual(value, operand);
    case fieldOperator.NOT_EQUAL:
      return (value) => value !== null && value.rank !== rank.null && !valuesEqual(value, operand);
    default:
      return listTest(operator, operand, path);
  }
}

function listTest(operator: number, operand: Value, path: FieldPath): (value: Value | null) => boolean {
  if (operator === fieldOperator.ARRAY_CONTAINS) {
    return (value) => value?.rank === rank.array && value.elements.some((element) => valuesEqual(element, operand));
  }
  const field = formatFieldPath(path);
  if (operand.rank !== rank.array) throw invalid(`The filter on ${field} needs an array as its value.`);
  const { elements } = operand;
  if (elements.length === 0) throw invalid(`The filter on ${field} needs a non-empty array.`);
  const max = operator === fieldOperator.NOT_IN ? notInMax : disjunctionsMax;
  if (elements.length > max) throw invalid(`The filter on ${field} supports up to ${max} elements in its value.`);
  // Null and NaN in a list are ignored: they neither include nor exclude documents.
  const comparable = elements.filter((element) => element.rank !== rank.null && !isNaNValue(element));
  const within = (value: Value): boolean => comparable.some((element) => valuesEqual(element, value));
  switch (operator) {
    case fieldOperator.IN:
      return (value) => value !== null && within(value);
    case fieldOperator.NOT_IN: {
      const hasNull = elements.some((element) => element.rank === rank.null);
      return (value) => !hasNull && value !== null && value.rank !== rank.null && !within(value);
    }
    case fieldOperator.ARRAY_CONTAINS_ANY:
      return (value) => value?.rank === rank.array && value.elements.some(within);
    default:
      throw invalid(`The filter on ${field} names no operator.`);
  }
}

function compileUnary(message: { field?: FieldReferenceMessage | null; op: number }): FieldCondition {
  const path = parseFieldPath(message.field?.fieldPath ?? '');
  const isNot = message.op === unary.IS_NOT_NAN || message.op === unary.IS_NOT_NULL;
  return {
    kind: 'field',
    path,
    operator: isNot ? fieldOperator.NOT_EQUAL : fieldOperator.EQUAL,
    operand: null,
    isInequality: isNot,
    test: unaryTest(message.op),
  };
}

function unaryTest(operator: number): (value: Value | null) => boolean {
  switch (operator) {
    case unary.IS_NAN:
      return (value) => value !== null && isNaNValue(value);
    case unary.IS_NULL:
      return (value) => value?.rank === rank.null;
    case unary.IS_NOT_NAN:
      return (value) => value !== null && value.rank !== rank.null && !isNaNValue(value);
    case unary.IS_NOT_NULL:
      return (value) => value !== null && value.rank !== rank.null;
    default:
      throw invalid('A unary filter names no operator.');
  }
}

/** The conditions that every match must meet: the filter itself, or the parts of a conjunction. */
export function conjuncts(condition: Condition | null): readonly Condition[] {
  if (condition === null) return [];
  if (condition.kind !== 'and') return [condition];
  return condition.conditions.flatMap(conjuncts);
}

export function fieldConditions(condition: Condition): FieldCondition[] {
  return condition.kind === 'field' ? [condition] : condition.conditions.flatMap(fieldConditions);
}

export function matcherOf(conditions: readonly Condition[], documentsRoot: string): Matcher | null {
  if (conditions.length === 0) return null;
  const matchers = conditions.map((condition) => matcher(condition, documentsRoot));
  return matchers.length === 1 ? matchers[0]! : (view) => matchers.every((match) => match(view));
}

function matcher(condition: Condition, documentsRoot: string): Matcher {
  if (condition.kind === 'field') return (view) => condition.test(valueAt(view, condition.path, documentsRoot));
  const matchers = condition.conditions.map((inner) => matcher(inner, documentsRoot));
  if (condition.kind === 'and') return (view) => matchers.every((match) => match(view));
  return (view) => matchers.some((match) => match(view));
}
