import { documentsScope, type Scope, scopeContains } from '@holdfast/engine';
import type { BackupRow } from './backup-store.ts';

/** The scope of a backup's record, as the engine takes it. */
export function scopeOf(
  row: Pick<BackupRow, 'collections' | 'excludeCollections' | 'includeSubcollections'> & {
    documentPaths?: string[] | null;
  },
): Scope {
  if (row.documentPaths) return documentsScope(row.documentPaths);
  const isAll = row.collections.length === 1 && row.collections[0] === '*';
  return {
    collections: isAll ? 'all' : row.collections,
    includeSubcollections: row.includeSubcollections,
    excludeCollections: row.excludeCollections,
  };
}

/** The columns for a scope. Single documents are kept by their paths; their collections are named for readers. */
export function scopeColumns({ collections, excludeCollections, includeSubcollections, documents }: Scope) {
  const parents = new Set(documents?.map((path) => path.slice(0, path.lastIndexOf('/'))));
  return {
    collections: documents ? [...parents].slice(0, 1000) : collections === 'all' ? ['*'] : [...collections],
    excludeCollections: [...excludeCollections],
    includeSubcollections,
    documentPaths: documents ? [...documents] : null,
  };
}

export function isSameScope(left: Scope, right: Scope): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

/** The part of a scope inside one collection and below it; undefined when they have nothing in common. */
export function narrowScope(scope: Scope, collection: string | undefined): Scope | undefined {
  if (collection === undefined) return scope;
  const { includeSubcollections, excludeCollections } = scope;
  const whole = { collections: [collection], includeSubcollections, excludeCollections };
  if (excludeCollections.length > 0 && !scopeContains(whole, `${collection}/x`)) return undefined;
  if (scope.documents !== undefined) {
    const documents = scope.documents.filter((path) => scopeContains(whole, path));
    return documents.length > 0 ? documentsScope(documents) : undefined;
  }
  if (scope.collections === 'all') return includeSubcollections || !collection.includes('/') ? whole : undefined;
  const collections = scope.collections.flatMap((listed) => common(listed, collection, includeSubcollections));
  return collections.length > 0 ? { ...whole, collections: [...new Set(collections)] } : undefined;
}

// What two collections and those below them share. Either may be a pattern: `users/*/orders` is the orders of every user.
function common(listed: string, asked: string, includeSubcollections: boolean): string[] {
  const [left, right] = [listed.split('/'), asked.split('/')];
  if (right.length > left.length && !includeSubcollections) return [];
  const [longer, shorter] = left.length > right.length ? [left, right] : [right, left];
  const shared = longer.map((segment, index) => {
    const other = shorter[index] ?? segment;
    const isPlace = index % 2 === 1;
    if (segment === other || (isPlace && other === '*')) return segment;
    return isPlace && segment === '*' ? other : undefined;
  });
  return shared.includes(undefined) ? [] : [shared.join('/')];
}
