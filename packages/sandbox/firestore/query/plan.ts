import type { Database } from '../store/database.ts';
import { invalid } from '../transport/status.ts';
import { type FieldPath, formatFieldPath, isNamePath, nameField, parseFieldPath } from '../values/field-path.ts';
import { segmentKey } from '../values/key.ts';
import { checkCollectionId, type ResourceName } from '../values/name.ts';
import { compareText } from '../values/order.ts';
import { decodeValue, rank } from '../values/value.ts';
import { type Condition, compileFilter, conjuncts, fieldConditions, type Matcher, matcherOf } from './filter.ts';
import { type CursorMessage, fieldOperator, type StructuredQueryMessage, sortDirection } from './messages.ts';
import { intersect, type NameRange, rangeOfCursors, rangeOfFilters, rangeOfScope } from './name-range.ts';
import { type NearestPlan, planNearest } from './nearest.ts';
import type { CursorPosition, Scope } from './scope.ts';

const disjunctionsMax = 30;

export interface Order {
  readonly path: FieldPath;
  readonly descending: boolean;
}

/** A query ready to run: everything checked, defaults filled in. */
export interface QueryPlan {
  readonly database: Database;
  readonly scope: Scope;
  readonly range: NameRange;
  readonly matches: Matcher | null;
  readonly orders: readonly Order[];
  /** True when results come in name order, so that they can be streamed straight from the store. */
  readonly nameOrdered: boolean;
  readonly start: CursorPosition | null;
  readonly end: CursorPosition | null;
  readonly offset: number;
  readonly limit: number | null;
  /** Fields to return; null is all, an empty list the name alone. */
  readonly mask: readonly FieldPath[] | null;
  readonly nearest: NearestPlan | null;
  readonly indexDescription: string;
}

export function planQuery(database: Database, parent: ResourceName, query: StructuredQueryMessage): QueryPlan {
  const scope = planScope(parent, query);
  const root = database.documentsRoot;
  const condition = query.where === null ? null : compileFilter(query.where, root);
  checkConditions(condition);
  const orders = planOrders(query, condition);
  checkKindless(scope, condition, orders);
  const start = planCursor(query.startAt, orders, 'start_at');
  const end = planCursor(query.endAt, orders, 'end_at');
  const nameOrdered = isNamePath(orders[0]!.path);
  const { range: filtered, rest } = rangeOfFilters(conjuncts(condition), root);
  const ranges = [rangeOfScope(scope), filtered];
  if (nameOrdered) ranges.push(rangeOfCursors(start, end, orders[0]!.descending, root));
  if (query.offset < 0) throw invalid('offset must not be negative.');
  if (query.limit !== null && query.limit.value < 0) throw invalid('limit must not be negative.');
  return {
    database,
    scope,
    range: ranges.reduce(intersect),
    matches: matcherOf(rest, root),
    orders,
    nameOrdered,
    start: nameOrdered ? null : start,
    end: nameOrdered ? null : end,
    offset: query.offset,
    limit: query.limit?.value ?? null,
    mask: planMask(query),
    nearest: query.findNearest === null ? null : planNearest(query.findNearest),
    indexDescription: describeIndex(scope, condition, orders),
  };
}

function planScope(parent: ResourceName, query: StructuredQueryMessage): Scope {
  if (query.from.length > 1) throw invalid('A query may select from one collection only.');
  const { collectionId, allDescendants } = query.from[0] ?? { collectionId: '', allDescendants: false };
  if (collectionId !== '') checkCollectionId(collectionId);
  return {
    parentKey: parent.key,
    collectionKey: collectionId === '' ? null : segmentKey(collectionId),
    allDescendants,
  };
}

function checkConditions(condition: Condition | null): void {
  if (condition === null) return;
  const arrays = conjuncts(condition).filter(
    (part) => part.kind === 'field' && part.operator === fieldOperator.ARRAY_CONTAINS,
  );
  if (arrays.length > 1) throw invalid('A maximum of 1 ARRAY_CONTAINS filter is allowed per disjunction.');
  if (disjunctions(condition) > disjunctionsMax) {
    throw invalid(`The query has more than ${disjunctionsMax} disjunctions in its disjunctive normal form.`);
  }
}

/** The number of disjunctions after expanding to disjunctive normal form, which production limits. */
function disjunctions(condition: Condition): number {
  if (condition.kind === 'field') {
    const expands = condition.operator === fieldOperator.IN || condition.operator === fieldOperator.ARRAY_CONTAINS_ANY;
    return expands && condition.operand?.rank === rank.array ? condition.operand.elements.length : 1;
  }
  const counts = condition.conditions.map(disjunctions);
  return condition.kind === 'or'
    ? counts.reduce((sum, count) => sum + count, 0)
    : counts.reduce((product, count) => product * count, 1);
}

/** Without a collection the only index is the names. */
function checkKindless(scope: Scope, condition: Condition | null, orders: readonly Order[]): void {
  if (scope.collectionKey !== null) return;
  const fields = condition === null ? [] : fieldConditions(condition);
  if (fields.some((part) => !isNamePath(part.path))) throw invalid('kind is required for non-__key__ filters');
  if (orders.some((order) => !isNamePath(order.path) || order.descending)) {
    throw invalid('kind is required for all orders except __key__ ascending');
  }
}

/** The explicit orders, then the inequality fields that are not among them by name, then the document's name. */
function planOrders(query: StructuredQueryMessage, condition: Condition | null): Order[] {
  const orders: Order[] = query.orderBy.map((order) => ({
    path: parseFieldPath(order.field?.fieldPath ?? ''),
    descending: order.direction === sortDirection.DESCENDING,
  }));
  const named = new Set(orders.map((order) => formatFieldPath(order.path)));
  if (named.size !== orders.length) throw invalid('order_by names a field twice.');
  const descending = orders.at(-1)?.descending ?? false;
  for (const path of inequalityPaths(condition)) {
    if (!named.has(formatFieldPath(path))) orders.push({ path, descending });
  }
  if (!orders.some((order) => isNamePath(order.path))) orders.push({ path: [nameField], descending });
  return orders;
}

function inequalityPaths(condition: Condition | null): FieldPath[] {
  if (condition === null) return [];
  const paths = new Map<string, FieldPath>();
  for (const part of fieldConditions(condition)) {
    if (part.isInequality && !isNamePath(part.path)) paths.set(formatFieldPath(part.path), part.path);
  }
  return [...paths.entries()].sort(([left], [right]) => compareText(left, right)).map(([, path]) => path);
}

function planCursor(cursor: CursorMessage | null, orders: readonly Order[], what: string): CursorPosition | null {
  if (cursor === null) return null;
  if (cursor.values.length > orders.length) throw invalid(`${what} has more values than the query has orders.`);
  const values = cursor.values.map((bytes) => decodeValue(bytes));
  values.forEach((value, index) => {
    if (isNamePath(orders[index]!.path) && value.rank !== rank.reference) {
      throw invalid(`${what} must give a reference for __name__.`);
    }
  });
  return { values, before: cursor.before };
}

function planMask(query: StructuredQueryMessage): FieldPath[] | null {
  if (query.select === null || query.select.fields.length === 0) return null;
  const paths = query.select.fields.map((field) => parseFieldPath(field.fieldPath));
  return paths.filter((path) => !isNamePath(path));
}

function describeIndex(scope: Scope, condition: Condition | null, orders: readonly Order[]): string {
  const equalities = condition === null ? [] : fieldConditions(condition).filter((part) => !part.isInequality);
  const parts = [
    ...new Set(equalities.filter((part) => !isNamePath(part.path)).map((part) => `${formatFieldPath(part.path)} ASC`)),
    ...orders.map((order) => `${formatFieldPath(order.path)} ${order.descending ? 'DESC' : 'ASC'}`),
  ];
  return `${scope.allDescendants ? 'Collection group' : 'Collection'}: (${parts.join(', ')})`;
}
