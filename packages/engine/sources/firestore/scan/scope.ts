/** Turns "these collections, within this range" into queries that, run one after another, ascend by path. */

import {
  collectionAbovePattern,
  comparePaths,
  EngineError,
  isCollectionPattern,
  type PathRange,
  type Scope,
} from '../../../ports/index.ts';
import {
  documentBefore,
  intersect,
  isCollectionPath,
  parentOf,
  positionBehind,
  positionOf,
  subtract,
  subtreeOf,
} from '../names.ts';

/** One query. Bounds are document paths. */
export interface QueryPart {
  /** A single collection without its subcollections; null: everything below the root, of any collection. */
  readonly collection: string | null;
  readonly start: { readonly path: string; readonly inclusive: boolean } | null;
  readonly end: { readonly path: string; readonly inclusive: boolean } | null;
}

/**
 * Splits a scope into queries. `after`: only what comes after this document, including its descendants. For a scope
 * with patterns, which no query can express, the parts are larger than the scope, and the reader drops the rest.
 */
export function queryPartsOf(given: Scope, range: PathRange, after?: string): QueryPart[] {
  checkScope(given);
  const scope = withoutPatterns(given);
  const asked: PathRange = {
    start: range.start === null ? null : positionOf(range.start),
    end: range.end === null ? null : positionOf(range.end),
  };
  const bounded = after === undefined ? asked : intersect(asked, { start: positionBehind(after), end: null });
  if (bounded === undefined) return [];
  if (scope.collections === 'all') {
    if (!scope.includeSubcollections) throw new Error('the collections at the root are to be named');
    return descendants([bounded], scope.excludeCollections);
  }
  const collections = [...new Set(scope.collections)].sort(comparePaths);
  if (!scope.includeSubcollections) {
    const kept = collections.filter((path) => !scope.excludeCollections.some((hole) => isWithin(path, hole)));
    return singleCollections(kept, bounded);
  }
  const outermost = collections.filter((path) => !collections.some((other) => other !== path && isWithin(path, other)));
  const ranges = outermost.map((path) => intersect(subtreeOf(path), bounded)).filter((part) => part !== undefined);
  return descendants(ranges, scope.excludeCollections);
}

function checkScope(scope: Scope): void {
  const named = scope.collections === 'all' ? [] : scope.collections;
  for (const path of [...named, ...scope.excludeCollections]) {
    if (isCollectionPath(path)) continue;
    throw new EngineError('VALIDATION_ERROR', `"${path}" is not the path of a collection.`, { details: { path } });
  }
}

function withoutPatterns(scope: Scope): Scope {
  const excludeCollections = scope.excludeCollections.filter((path) => !isCollectionPattern(path));
  if (scope.collections === 'all' || !scope.collections.some(isCollectionPattern))
    return { ...scope, excludeCollections };
  const collections = scope.collections.map(collectionAbovePattern);
  return { collections, includeSubcollections: true, excludeCollections };
}

function isWithin(path: string, ancestor: string): boolean {
  return path === ancestor || path.startsWith(`${ancestor}/`);
}

function descendants(ranges: readonly PathRange[], excluded: readonly string[]): QueryPart[] {
  let parts = [...ranges];
  for (const path of excluded) parts = parts.flatMap((part) => subtract(part, subtreeOf(path)));
  return parts.map((part) => ({
    collection: null,
    start: part.start === null ? null : startAt(part.start),
    end: part.end === null ? null : { path: part.end, inclusive: false },
  }));
}

function startAt(position: string): QueryPart['start'] {
  const document = documentBefore(position);
  return document === undefined ? { path: position, inclusive: true } : { path: document, inclusive: false };
}

/** A named collection below a document of another named one interrupts the outer query, because paths must ascend. */
function singleCollections(collections: readonly string[], range: PathRange): QueryPart[] {
  const parts: QueryPart[] = [];
  const emit = (collection: string, within: PathRange): void => {
    const own = intersect(subtreeOf(collection), within);
    if (own === undefined) return;
    let rest: PathRange = own;
    for (const inner of collections) {
      if (inner === collection || nearestOuter(collections, inner) !== collection) continue;
      const hole = subtreeOf(inner);
      const before = intersect(rest, { start: null, end: hole.start });
      if (before !== undefined) parts.push(clamp(collection, before));
      emit(inner, within);
      const behind = intersect(rest, { start: hole.end, end: null });
      if (behind === undefined) return;
      rest = behind;
    }
    parts.push(clamp(collection, rest));
  };
  for (const collection of collections)
    if (nearestOuter(collections, collection) === undefined) emit(collection, range);
  return parts;
}

function nearestOuter(collections: readonly string[], path: string): string | undefined {
  for (let outer = parentOf(path); outer !== ''; outer = parentOf(outer)) if (collections.includes(outer)) return outer;
  return undefined;
}

/** A bound below one of the collection's documents becomes the position just after that document. */
function clamp(collection: string, range: PathRange): QueryPart {
  const { start, end } = subtreeOf(collection);
  const child = (path: string): string =>
    path
      .split('/')
      .slice(0, collection.split('/').length + 1)
      .join('/');
  const bound = (path: string | null, none: string, isStart: boolean): QueryPart['start'] => {
    if (path === null || path === none) return null;
    const document = child(path);
    return { path: document, inclusive: isStart === (document === path) };
  };
  return { collection, start: bound(range.start, start, true), end: bound(range.end, end, false) };
}

export { scopeContains as isInScope } from '../../../ports/index.ts';
