import { invalid } from '../transport/status.ts';
import { isNamePath } from '../values/field-path.ts';
import { afterSeparator, compareKeys, keyFromPath, separator } from '../values/key.ts';
import type { Value } from '../values/value.ts';
import type { Condition, FieldCondition } from './filter.ts';
import { fieldOperator } from './messages.ts';
import type { CursorPosition, Scope } from './scope.ts';

/** Keys in [from, to); a null `to` is unbounded. */
export interface NameRange {
  readonly from: string;
  readonly to: string | null;
}

const everything: NameRange = { from: '', to: null };

export function intersect(left: NameRange, right: NameRange): NameRange {
  const tos = [left.to, right.to].filter((to) => to !== null).sort(compareKeys);
  return { from: compareKeys(left.from, right.from) > 0 ? left.from : right.from, to: tos[0] ?? null };
}

export function rangeOfScope(scope: Scope): NameRange {
  const { parentKey, collectionKey, allDescendants } = scope;
  const prefix =
    collectionKey !== null && !allDescendants
      ? parentKey === ''
        ? collectionKey
        : parentKey + separator + collectionKey
      : parentKey;
  if (prefix === '') return everything;
  return { from: prefix + separator, to: prefix + afterSeparator };
}

/**
 * Converts comparisons of __name__ that every match must satisfy into a range; the remaining conditions must still be
 * tested.
 */
export function rangeOfFilters(
  conditions: readonly Condition[],
  documentsRoot: string,
): { range: NameRange; rest: Condition[] } {
  let range = everything;
  const rest: Condition[] = [];
  for (const condition of conditions) {
    const bounds = condition.kind === 'field' ? rangeOfComparison(condition, documentsRoot) : null;
    if (bounds === null) rest.push(condition);
    else range = intersect(range, bounds);
  }
  return { range, rest };
}

function rangeOfComparison(condition: FieldCondition, documentsRoot: string): NameRange | null {
  if (!isNamePath(condition.path) || condition.operand?.rank !== 6) return null;
  const key = keyOfReference(condition.operand.name, documentsRoot);
  switch (condition.operator) {
    case fieldOperator.LESS_THAN:
      return { from: '', to: key };
    case fieldOperator.LESS_THAN_OR_EQUAL:
      return { from: '', to: key + separator };
    case fieldOperator.GREATER_THAN:
      return { from: key + separator, to: null };
    case fieldOperator.GREATER_THAN_OR_EQUAL:
      return { from: key, to: null };
    case fieldOperator.EQUAL:
      return { from: key, to: key + separator };
    default:
      return null;
  }
}

/** The range between two cursors when names are the first order. */
export function rangeOfCursors(
  start: CursorPosition | null,
  end: CursorPosition | null,
  descending: boolean,
  documentsRoot: string,
): NameRange {
  const first = boundKey(start, descending, documentsRoot);
  const last = boundKey(end, descending, documentsRoot);
  return descending ? { from: last ?? '', to: first } : { from: first ?? '', to: last };
}

/**
 * Where a cursor cuts the ascending list of names. `before` means before the named document in the query's order, which
 * is after it in the list when the order is descending.
 */
function boundKey(cursor: CursorPosition | null, descending: boolean, documentsRoot: string): string | null {
  const value: Value | undefined = cursor?.values[0];
  if (cursor === null || value?.rank !== 6) return null;
  const key = keyOfReference(value.name, documentsRoot);
  return cursor.before !== descending ? key : key + separator;
}

function keyOfReference(name: string, documentsRoot: string): string {
  if (!name.startsWith(`${documentsRoot}/`)) throw invalid(`"${name}" is a document of another database.`);
  return keyFromPath(name.slice(documentsRoot.length + 1));
}
