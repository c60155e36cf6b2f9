import type { Transaction } from './database/database.ts';
import type { IdPrefix } from './ids.ts';
import type { Platform } from './platform.ts';
import type { Caller } from './principal.ts';

/** What an earlier try of the same call has made: its process died or failed before it answered. */
export async function findEarlierResult<T>(
  { database, ids }: Pick<Platform, 'database' | 'ids'>,
  { organization, origin }: Pick<Caller, 'organization' | 'origin'>,
  prefix: IdPrefix,
  find: (transaction: Transaction, organizationId: string, id: string) => Promise<T | undefined>,
): Promise<T | undefined> {
  if (origin.newId === undefined) return undefined;
  const id = ids.next(prefix, origin.newId);
  return database.tenant(organization.id, (transaction) => find(transaction, organization.id, id));
}
