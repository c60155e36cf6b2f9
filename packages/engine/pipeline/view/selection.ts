import type { Scope } from '../../ports/document-source.ts';
import { comparePaths, everything, type PathRange, rangeContains, rangesMeet } from '../../ports/path-order.ts';
import { collectionAbovePattern, isCollectionPattern, scopeContains } from '../../ports/scope.ts';

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
    (scope.documents === undefined &&
      scope.collections === 'all' &&
      scope.includeSubcollections &&
      scope.excludeCollections.length === 0);
  return isWholeScope && range?.start == null && range?.end == null && idPrefix === undefined && after === undefined;
}

/** True when a segment from `firstPath` to `lastPath` can hold something that is selected. */
export function mayHold(selection: Selection, firstPath: string, lastPath: string): boolean {
  if (selection.after !== undefined && comparePaths(lastPath, selection.after) <= 0) return false;
  return coarseRanges(selection).some(
    ({ start, end }) =>
      (start === null || comparePaths(lastPath, start) >= 0) && (end === null || comparePaths(firstPath, end) < 0),
  );
}

/**
 * Everything of a collection, its subcollections too, lies in one stretch of the order. It begins with the collection itself,
 * which is before all that is in it; with a slash behind it, it would stand behind the numeric ids.
 */
function collectionRange(collection: string): PathRange {
  return { start: collection, end: `${collection}\0` };
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
  const whole = collectionRange(collectionAbovePattern(collection));
  if (
    isCollectionPattern(collection) ||
    idPrefix === undefined ||
    idPrefix === '' ||
    scope.includeSubcollections ||
    '__id'.startsWith(idPrefix.slice(0, 4))
  )
    return whole;
  return { start: `${collection}/${idPrefix}`, end: whole.end };
}
