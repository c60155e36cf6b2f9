import type { ReadOptions, Scope } from '../../../ports/index.ts';
import type { FirestoreClient } from '../client.ts';
import { listCollectionIds } from './collections.ts';

/** `all` without subcollections means the root collections. No query expresses that, so they are named. */
export async function withRootsNamed<Request extends ReadOptions & { readonly scope: Scope }>(
  client: FirestoreClient,
  request: Request,
): Promise<Request> {
  const { scope } = request;
  if (scope.collections !== 'all' || scope.includeSubcollections || scope.documents) return request;
  const collections: string[] = [];
  for await (const id of listCollectionIds(client, '', request)) collections.push(id);
  return { ...request, scope: { ...scope, collections } };
}
