import { documentsScope, type Scope } from '@holdfast/engine';
import type { BackupRow } from './backup-store.ts';

/** What the record of a backup asks for, as the engine takes it. */
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

export function isSameScope(left: Scope, right: Scope): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

/** The part of a scope that lies in one collection and below it; undefined when they have nothing in common. */
export function narrowScope(scope: Scope, collection: string | undefined): Scope | undefined {
  if (collection === undefined) return scope;
  const { excludeCollections } = scope;
  const isBelow = (path: string, above: string) => path === above || path.startsWith(`${above}/`);
  if (excludeCollections.some((excluded) => isBelow(collection, excluded))) return undefined;
  const { includeSubcollections } = scope;
  const whole = { collections: [collection], includeSubcollections, excludeCollections };
  if (scope.collections === 'all') return includeSubcollections || !collection.includes('/') ? whole : undefined;
  if (scope.includeSubcollections && scope.collections.some((listed) => isBelow(collection, listed))) return whole;
  const collections = scope.collections.filter((listed) => isBelow(listed, collection));
  return collections.length > 0 ? { ...scope, collections } : undefined;
}
