import type { Scope } from './document-source.ts';

// A collection may be a pattern as in a manifest: `users/*/orders` means the orders of every user. Only document ids
// can be `*`.
export function isCollectionPattern(collection: string): boolean {
  return collection.split('/').some((segment, index) => index % 2 === 1 && segment === '*');
}

export function hasPatterns({ collections, excludeCollections }: Scope): boolean {
  const named = collections === 'all' ? [] : collections;
  return named.some(isCollectionPattern) || excludeCollections.some(isCollectionPattern);
}

/** The nearest collection above a pattern: it has no `*` and holds everything the pattern can match. */
export function collectionAbovePattern(collection: string): string {
  const segments = collection.split('/');
  const open = segments.findIndex((segment, index) => index % 2 === 1 && segment === '*');
  return open < 0 ? collection : segments.slice(0, open).join('/');
}

export function scopeContains(scope: Scope, path: string): boolean {
  if (scope.documents !== undefined) return setOf(scope.documents).has(path);
  for (const excluded of scope.excludeCollections) if (idAt(excluded, path) >= 0) return false;
  if (scope.collections === 'all') return scope.includeSubcollections || path.indexOf('/', path.indexOf('/') + 1) < 0;
  return scope.collections.some((collection) => {
    const start = idAt(collection, path);
    return start >= 0 && (scope.includeSubcollections || path.indexOf('/', start) < 0);
  });
}

/**
 * The position at which the id of the collection's own document begins in a path; -1 when the path is not in the
 * collection.
 */
function idAt(collection: string, path: string): number {
  if (!collection.includes('*')) return path.startsWith(`${collection}/`) ? collection.length + 1 : -1;
  let position = 0;
  for (const [index, segment] of collection.split('/').entries()) {
    const end = path.indexOf('/', position);
    if (end < 0) return -1;
    const isOpen = index % 2 === 1 && segment === '*';
    if (!isOpen && path.slice(position, end) !== segment) return -1;
    position = end + 1;
  }
  return position;
}

const sets = new WeakMap<readonly string[], ReadonlySet<string>>();

function setOf(documents: readonly string[]): ReadonlySet<string> {
  const known = sets.get(documents) ?? new Set(documents);
  sets.set(documents, known);
  return known;
}
