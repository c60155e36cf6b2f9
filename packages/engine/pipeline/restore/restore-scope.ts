import type { ManifestBody } from '../../format/manifest-body.ts';
import type { Scope } from '../../ports/document-source.ts';
import { documentsScope } from '../../ports/document-source.ts';
import { EngineError } from '../../ports/errors.ts';
import { scopeContains } from '../../ports/scope.ts';

/** What the caller wants to restore; an absent field means everything in the backup. */
export interface AskedScope {
  readonly collections?: readonly string[] | undefined;
  readonly documents?: readonly string[] | undefined;
  readonly includeSubcollections?: boolean | undefined;
  /** Make the target equal to the backup. Then nothing may be requested that the backup does not cover. */
  readonly deleteExtra: boolean;
}

/**
 * The scope of a restore, for its puts, deletes, preview and safety backup: what was requested, within what the backup
 * covers. VALIDATION_ERROR when more is requested than the backup covers. Documents below named documents are found by
 * `withDescendants`.
 */
export function restoreScope(backup: Scope, asked: AskedScope): Scope {
  if (backup.documents !== undefined && asked.deleteExtra)
    throw wider('options.deleteExtra', 'the backup holds single documents and knows nothing of the others');
  if (asked.documents !== undefined && asked.deleteExtra) throw nothingExtra();
  if (asked.includeSubcollections === true && !backup.includeSubcollections && backup.documents === undefined)
    throw wider('options.includeSubcollections', 'the backup was made without subcollections');
  if (asked.documents !== undefined) {
    requireNamed(asked.documents, asked.collections);
    return documentsScope(asked.documents);
  }
  const includeSubcollections = asked.includeSubcollections ?? backup.includeSubcollections;
  if (asked.collections === undefined)
    return backup.documents === undefined ? { ...backup, includeSubcollections } : backup;
  if (asked.deleteExtra) requireCovered(backup, asked.collections);
  if (backup.documents !== undefined) {
    const chosen = { collections: asked.collections, includeSubcollections: true, excludeCollections: [] };
    return documentsScope(backup.documents.filter((path) => scopeContains(chosen, path)));
  }
  return { collections: asked.collections, includeSubcollections, excludeCollections: backup.excludeCollections };
}

/**
 * The same when extra documents are deleted and the backup was imported from a file. A file does not say what it left
 * out. So only collections with documents in the file are made equal, one by one, and nothing beside or below them.
 */
export function withinFile(
  scope: Scope,
  {
    importedFrom,
    collections,
    collectionsTruncated,
  }: Pick<ManifestBody, 'importedFrom' | 'collections' | 'collectionsTruncated'>,
): Scope {
  if (importedFrom === undefined) return scope;
  if (collectionsTruncated)
    throw wider('options.deleteExtra', 'the backup was made of a file, with more collections than its manifest lists');
  const asked = scope.collections;
  const held = collections.flatMap(({ path }) =>
    asked === 'all' ? path : asked.flatMap((one) => sharedBy(path, one, scope.includeSubcollections)),
  );
  if (held.length === 0)
    throw wider(
      'collections',
      'the backup was made of a file that holds nothing of them, so nothing may be deleted there',
    );
  return { ...scope, collections: [...new Set(held)], includeSubcollections: false };
}

/** The part of a held collection that is requested; a `*` on either side is any document. */
function sharedBy(held: string, asked: string, withBelow: boolean): string[] {
  const [path, wanted] = [held.split('/'), asked.split('/')];
  if (withBelow ? wanted.length > path.length : wanted.length !== path.length) return [];
  const isShared = wanted.every(
    (name, index) => name === path[index] || (index % 2 === 1 && [name, path[index]].includes('*')),
  );
  return isShared ? [path.map((name, index) => (name === '*' ? (wanted[index] ?? name) : name)).join('/')] : [];
}

function requireCovered(backup: Scope, collections: readonly string[]): void {
  const outside = collections.find((collection) => !coversCollection(backup, collection));
  if (outside !== undefined)
    throw wider('collections', `the backup does not cover ${outside}, so nothing may be deleted there`);
}

/** Whether a backup of this scope contains everything of a collection. Both names may be patterns. */
function coversCollection(backup: Scope, collection: string): boolean {
  return backup.documents === undefined && scopeContains(backup, `${collection}/x`);
}

/**
 * Throws when a named document is outside the named collections: one of the two is a mistake, and nobody knows which.
 */
function requireNamed(documents: readonly string[], collections: readonly string[] | undefined): void {
  if (collections === undefined) return;
  const named = { collections, includeSubcollections: true, excludeCollections: [] };
  const outside = documents.find((path) => !scopeContains(named, path));
  if (outside === undefined) return;
  const reason = `${outside.slice(0, 200)} lies in none of the collections that are named`;
  throw new EngineError('VALIDATION_ERROR', `documentIds: ${reason}.`, { details: { field: 'documentIds', reason } });
}

/** With both options a caller expects deletions, and there would be none. */
function nothingExtra(): EngineError {
  const reason = 'single documents are restored: nothing else is deleted';
  return new EngineError('VALIDATION_ERROR', `options.deleteExtra: ${reason}.`, {
    details: { field: 'options.deleteExtra', reason },
  });
}

function wider(field: string, reason: string): EngineError {
  return new EngineError('VALIDATION_ERROR', `More is asked than the backup covers: ${reason}.`, {
    details: { field, reason },
  });
}
