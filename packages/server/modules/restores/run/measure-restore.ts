import {
  type BackupReader,
  EngineError,
  proveSelected,
  type Scope,
  scopeContains,
  type View,
  verifyChain,
  viewOfChain,
} from '@holdfast/engine';
import { Problem } from '../../../platform/problem.ts';
import { CutPaths } from '../ranges/cut-paths.ts';
import type { RestoreRow } from '../restore-store.ts';

/** Up to this many documents are named one by one in the safety backup; more are saved by their collections. */
export const namedPathsMax = 2000;
const collectionsMax = 10_000;

export interface Measured {
  documents: number;
  collections: number;
  /** The borders of its ranges; none when it is too small for ranges. */
  borders: readonly string[];
  /** All paths, if they are few. */
  paths: string[] | undefined;
}

/**
 * How much there is to write, from document names alone. Throws COLLECTION_NOT_FOUND or DOCUMENT_NOT_FOUND for what
 * does not exist.
 */
export async function measureRestore(
  view: View,
  scope: Scope,
  row: Pick<RestoreRow, 'deleteExtra' | 'collections' | 'documentPaths' | 'items'>,
  { signal, documentsPerRange }: { signal: AbortSignal; documentsPerRange: number },
): Promise<Measured> {
  const collections = new Set<string>();
  const cuts = new CutPaths(documentsPerRange);
  const missing = new Map(askedByName(scope, row));
  const paths: string[] = [];
  let documents = 0;
  for await (const page of view.entries({ scope }, { signal }))
    for (const { path } of page) {
      documents += 1;
      cuts.pass(path);
      if (paths.length <= namedPathsMax) paths.push(path);
      if (collections.size < collectionsMax) collections.add(path.slice(0, path.lastIndexOf('/')));
      for (const [name, holds] of missing) if (holds(path)) missing.delete(name);
    }
  // With `deleteExtra`, an empty collection that the backup covers may be named in order to empty it.
  if (missing.size > 0 && (scope.documents || !row.deleteExtra))
    throw notThere([...missing.keys()], row.documentPaths !== null || row.items !== null);
  return {
    documents,
    collections: collections.size,
    borders: cuts.paths,
    paths: documents <= namedPathsMax ? paths : undefined,
  };
}

/** What the caller named, with a test for each name. Collections that only the backup's scope names may be empty. */
function askedByName(
  scope: Scope,
  { collections, documentPaths, items }: Pick<RestoreRow, 'collections' | 'documentPaths' | 'items'>,
): [string, (path: string) => boolean][] {
  if (documentPaths || items) return (scope.documents ?? []).map((path) => [path, (found) => found === path]);
  return (collections ?? []).map((collection) => [collection, (path) => isIn(scope, collection, path)]);
}

function isIn(scope: Scope, collection: string, path: string): boolean {
  if (scope.documents) return path.startsWith(`${collection}/`);
  return scopeContains({ ...scope, collections: [collection] }, path);
}

function notThere(missing: readonly string[], areDocuments: boolean): Problem {
  const named = `${missing.slice(0, 5).join(', ')}${missing.length > 5 ? ` and ${missing.length - 5} more` : ''}`;
  return areDocuments
    ? new Problem('DOCUMENT_NOT_FOUND', `The backup does not hold ${named}.`)
    : new Problem('COLLECTION_NOT_FOUND', `The backup holds nothing in ${named}.`);
}

/** Reads everything that will be restored and throws if it is damaged, before anything is written. */
export async function requireIntact(
  readers: readonly BackupReader[],
  scope: Scope,
  signal: AbortSignal,
): Promise<void> {
  if (scope.documents) return proveSelected(readers, { scope }, { signal });
  if (readers.length === 0) return;
  const verified = await verifyChain(readers, viewOfChain(readers), { signal });
  if (verified.isIntact) return;
  throw new EngineError(
    'INTEGRITY_ERROR',
    `The backup is damaged; nothing was written. ${verified.errors[0]?.message ?? ''}`,
    { details: { errors: verified.errorCount } },
  );
}
