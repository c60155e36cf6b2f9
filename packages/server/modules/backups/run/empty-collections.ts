import { type DocumentSource, everything, type ScopedReadOptions } from '@holdfast/engine';
import { Problem } from '../../../platform/problem.ts';
import { warning } from '../warnings.ts';

/** More names than this are not counted one by one; a request may hold a thousand. */
const countedMax = 100;

/** A warning for each named collection without documents. COLLECTION_NOT_FOUND when all of them have none. */
export async function emptyCollections(
  source: Pick<DocumentSource, 'count'>,
  { scope, ...read }: ScopedReadOptions,
): Promise<string[]> {
  if (scope.collections === 'all' || scope.documents || scope.collections.length > countedMax) return [];
  const empty: string[] = [];
  for (const collection of scope.collections) {
    const documents = await source.count(everything, { ...read, scope: { ...scope, collections: [collection] } });
    if (documents === 0) empty.push(collection);
  }
  if (empty.length > 0 && empty.length === scope.collections.length)
    throw new Problem('COLLECTION_NOT_FOUND', `There are no documents in ${empty.slice(0, 5).join(', ')}.`);
  return empty.map((collection) => warning('COLLECTION_NOT_FOUND', `There are no documents in ${collection}.`));
}
