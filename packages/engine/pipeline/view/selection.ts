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
  /** Only these documents and all that lies below them; they ascend. */
  readonly trees?: readonly string[];
}

export const wholeView: Selection = {};

export function selects(selection: Selection, path: string): boolean {
  const { scope, range, idPrefix, after, trees } = selection;
  if (after !== undefined && comparePaths(path, after) <= 0) return false;
  if (trees !== undefined && !treesContaining(trees, path).next().value) return false;
  if (range !== undefined && !rangeContains(range, path)) return false;
  if (idPrefix !== undefined && !path.startsWith(idPrefix, path.lastIndexOf('/') + 1)) return false;
  return scope === undefined || scopeContains(scope, path);
}

/** True when every path is selected, so that whole segments pass unread. */
export function selectsEverything({ scope, range, idPrefix, after, trees }: Selection): boolean {
  const isWholeScope =
    scope === undefined ||
    (scope.documents === undefined &&
      scope.collections === 'all' &&
      scope.includeSubcollections &&
      scope.excludeCollections.length === 0);
  const isWholeRange = range?.start == null && range?.end == null && after === undefined;
  return isWholeScope && isWholeRange && idPrefix === undefined && trees === undefined;
}

/** True when a segment from `firstPath` to `lastPath` can hold something that is selected. */
export function mayHold(selection: Selection, firstPath: string, lastPath: string): boolean {
  const { after, trees, scope } = selection;
  if (after !== undefined && comparePaths(lastPath, after) <= 0) return false;
  if (trees !== undefined && !mayHoldOf(trees, firstPath, lastPath)) return false;
  if (scope?.documents !== undefined && !isAnyBetween(scope.documents, firstPath, lastPath)) return false;
  return coarseRanges(selection).some(
    ({ start, end }) =>
      (start === null || comparePaths(lastPath, start) >= 0) && (end === null || comparePaths(firstPath, end) < 0),
  );
}

/** The documents of a tree are neighbours: the tree begins between the two paths, or contains the first of them. */
function mayHoldOf(trees: readonly string[], firstPath: string, lastPath: string): boolean {
  return isAnyBetween(trees, firstPath, lastPath) || !treesContaining(trees, firstPath).next().done;
}

/** Binary search, because this is asked for every segment of a backup. */
function isAnyBetween(paths: readonly string[], firstPath: string, lastPath: string): boolean {
  const next = paths[lowerBound(paths, 0, firstPath)];
  return next !== undefined && comparePaths(next, lastPath) <= 0;
}

/** The trees, given in ascending order, that contain a path; the outermost first. */
export function* treesContaining(trees: readonly string[], path: string): Generator<string, undefined> {
  for (let end = path.indexOf('/'); end >= 0; ) {
    const below = path.indexOf('/', end + 1);
    const document = below < 0 ? path : path.slice(0, below);
    if (trees[lowerBound(trees, 0, document)] === document) yield document;
    end = below < 0 ? -1 : path.indexOf('/', below + 1);
  }
}

/** Index of the first path that is not below `bound`, at or behind `from`. */
export function lowerBound(paths: readonly string[], from: number, bound: string): number {
  let low = from;
  let high = paths.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (comparePaths(paths[middle]!, bound) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * A collection with all its subcollections is one stretch of the order. It begins at the collection's own path, which
 * sorts before everything in it. With a slash at the end it would sort after the numeric ids.
 */
function collectionRange(collection: string): PathRange {
  return { start: collection, end: `${collection}\0` };
}

function coarseRanges({ scope, range, idPrefix }: Selection): readonly PathRange[] {
  if (scope === undefined || scope.collections === 'all' || scope.documents !== undefined) return [range ?? everything];
  const ranges = scope.collections.map((collection) => idRange(collection, scope, idPrefix));
  return range === undefined ? ranges : ranges.filter((stretch) => rangesMeet(stretch, range));
}

/**
 * Without subcollections an id prefix narrows the stretch. Numeric ids sort differently and are left to the exact
 * check.
 */
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
