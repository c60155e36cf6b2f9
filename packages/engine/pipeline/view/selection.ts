import type { Scope } from '../../ports/document-source.ts';
import { comparePaths, everything, type PathRange, rangeContains, rangesMeet } from '../../ports/path-order.ts';

/** Which part of a view is wanted. All given conditions hold at once. */
export interface Selection {
  readonly scope?: Scope;
  readonly range?: PathRange;
  /** A prefix of the document id, the last segment of the path. */
  readonly idPrefix?: string;
  /** Only what comes behind this path: how a page or a restore goes on. */
  readonly after?: string;
}

export const wholeView: Selection = {};

export function selects(selection: Selection, path: string): boolean {
  const { scope, range, idPrefix, after } = selection;
  if (after !== undefined && comparePaths(path, after) <= 0) return false;
  if (range !== undefined && !rangeContains(range, path)) return false;
  if (idPrefix !== undefined && !path.startsWith(idPrefix, path.lastIndexOf('/') + 1)) return false;
  return scope === undefined || scopeContains(scope, path);
}

/** True when every path is selected, so that whole segments pass unread. */
export function selectsEverything({ scope, range, idPrefix, after }: Selection): boolean {
  const isWholeScope =
    scope === undefined ||
    (scope.documents === undefined && scope.collections === 'all' && scope.excludeCollections.length === 0);
  return isWholeScope && range?.start == null && range?.end == null && idPrefix === undefined && after === undefined;
}

export function scopeContains(scope: Scope, path: string): boolean {
  if (scope.documents !== undefined) return setOf(scope.documents).has(path);
  for (const excluded of scope.excludeCollections) if (path.startsWith(`${excluded}/`)) return false;
  if (scope.collections === 'all') return true;
  return scope.collections.some((collection) => {
    if (!path.startsWith(`${collection}/`)) return false;
    return scope.includeSubcollections || path.indexOf('/', collection.length + 1) < 0;
  });
}

/** True when a segment from `firstPath` to `lastPath` can hold something that is selected. */
export function mayHold(selection: Selection, firstPath: string, lastPath: string): boolean {
  if (selection.after !== undefined && comparePaths(lastPath, selection.after) <= 0) return false;
  return coarseRanges(selection).some(
    ({ start, end }) =>
      (start === null || comparePaths(lastPath, start) >= 0) && (end === null || comparePaths(firstPath, end) < 0),
  );
}

/** Everything of a collection, its subcollections too, lies in one stretch of the order. */
export function collectionRange(collection: string): PathRange {
  return { start: `${collection}/`, end: `${collection}\0` };
}

function coarseRanges({ scope, range, idPrefix }: Selection): readonly PathRange[] {
  if (scope?.documents !== undefined) {
    const ranges = scope.documents.map((path) => ({ start: path, end: `${path}/` }));
    return range === undefined ? ranges : ranges.filter((stretch) => rangesMeet(stretch, range));
  }
  if (scope === undefined || scope.collections === 'all') return [range ?? everything];
  const ranges = scope.collections.map((collection) => idRange(collection, scope, idPrefix));
  return range === undefined ? ranges : ranges.filter((stretch) => rangesMeet(stretch, range));
}

/** Without subcollections an id prefix narrows the stretch; numeric ids sort apart and are left to the fine check. */
function idRange(collection: string, scope: Scope, idPrefix: string | undefined): PathRange {
  const whole = collectionRange(collection);
  if (
    idPrefix === undefined ||
    idPrefix === '' ||
    scope.includeSubcollections ||
    '__id'.startsWith(idPrefix.slice(0, 4))
  )
    return whole;
  return { start: `${collection}/${idPrefix}`, end: whole.end };
}

const sets = new WeakMap<readonly string[], ReadonlySet<string>>();

function setOf(documents: readonly string[]): ReadonlySet<string> {
  const known = sets.get(documents) ?? new Set(documents);
  sets.set(documents, known);
  return known;
}
