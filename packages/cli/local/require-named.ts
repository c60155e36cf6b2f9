import { type DocumentSource, everything, type Instant, type Scope, type View, wholeDatabase } from '@holdfast/engine';
import { CommandFailure } from '../command-failure.ts';
import { exitCode } from '../exit-codes.ts';

const namedMax = 5;

export function notThere(code: string, sentence: string, names: readonly string[]): CommandFailure {
  const more = names.length > namedMax ? ` and ${names.length - namedMax} more` : '';
  return new CommandFailure(code, `${sentence} ${names.slice(0, namedMax).join(', ')}${more}.`, {
    exit: exitCode.notFound,
    remedy: '`browse` shows the names; capital letters count.',
  });
}

/** Throws, before anything is done, when the backup has nothing in a named collection, or not the named document. */
export async function requireInBackup(view: View, scope: Scope, signal: AbortSignal): Promise<void> {
  if (scope.documents !== undefined) {
    const missing = new Set(scope.documents);
    for await (const page of view.entries({ scope }, { signal })) for (const { path } of page) missing.delete(path);
    if (missing.size > 0) throw notThere('DOCUMENT_NOT_FOUND', 'The backup does not hold', [...missing]);
  } else if (scope.collections !== 'all') {
    const missing = await emptyInView(view, scope, scope.collections, signal);
    if (missing.length > 0) throw notThere('COLLECTION_NOT_FOUND', 'The backup holds nothing in', missing);
  }
}

/** The given collections in which the backup has nothing. */
export async function emptyInView(
  view: View,
  scope: Scope,
  collections: readonly string[],
  signal: AbortSignal,
): Promise<string[]> {
  const empty: string[] = [];
  for (const collection of collections)
    if (await isEmpty(view, { ...scope, collections: [collection] }, signal)) empty.push(collection);
  return empty;
}

async function isEmpty(view: View, scope: Scope, signal: AbortSignal): Promise<boolean> {
  for await (const page of view.entries({ scope }, { signal })) if (page.length > 0) return false;
  return true;
}

type Counted = Pick<DocumentSource, 'count'>;
interface Read {
  readonly readTime: Instant;
  readonly signal: AbortSignal;
}

/** The given collections in which the database has nothing. */
export async function emptyInSource(
  source: Counted,
  scope: Scope,
  collections: readonly string[],
  read: Read,
): Promise<string[]> {
  const empty: string[] = [];
  for (const collection of collections)
    if ((await source.count(everything, { ...read, scope: { ...scope, collections: [collection] } })) === 0)
      empty.push(collection);
  return empty;
}

/** The named collections without documents; throws when none of them has any. */
export async function emptyInDatabase(source: Counted, scope: Scope, read: Read): Promise<string[]> {
  if (scope.collections === 'all') return [];
  const empty = await emptyInSource(source, scope, scope.collections, read);
  if (empty.length < scope.collections.length) return empty;
  throw notThere('COLLECTION_NOT_FOUND', 'There are no documents in', empty);
}

/** Throws when an excluded collection is empty on both sides: under a mistyped name nothing would be left alone. */
export async function requireExcluded(
  view: View,
  source: Counted & Pick<DocumentSource, 'snapshotTime'>,
  collections: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const unheld = await emptyInView(view, wholeDatabase, collections, signal);
  if (unheld.length === 0) return;
  const empty = await emptyInSource(source, wholeDatabase, unheld, { readTime: await source.snapshotTime(), signal });
  if (empty.length > 0)
    throw notThere('COLLECTION_NOT_FOUND', 'Neither the backup nor the database holds anything in', empty);
}
