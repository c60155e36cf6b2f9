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
const namedPathsMax = 2000;
const collectionsMax = 10_000;

export interface Measured {
  documents: number;
  collections: number;
  /** Where it can be cut into ranges; none when it is too small for that. */
  borders: readonly string[];
  /** All paths, when they are few. */
  paths: string[] | undefined;
}

/** How much there is to write, from the names alone. COLLECTION_NOT_FOUND and DOCUMENT_NOT_FOUND for what is not there. */
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
  // An empty collection that the backup covers may well be asked for, to be emptied.
  if (missing.size > 0 && (scope.documents || !row.deleteExtra))
    throw notThere([...missing.keys()], row.documentPaths !== null || row.items !== null);
  return {
    documents,
    collections: collections.size,
    borders: cuts.paths,
    paths: documents <= namedPathsMax ? paths : undefined,
  };
}

/** What the caller named. A backup may well hold nothing of what it covers: nobody asked for that by its name. */
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

/** Nothing is written before everything that will be read has been read once and found whole. */
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
