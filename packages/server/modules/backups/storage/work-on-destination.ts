import type { Transaction } from '../../../platform/database/database.ts';
import type { BackupsContext } from '../context.ts';
import { backupsIn } from '../summaries/statistics-store.ts';

/** Backups being made in a destination, and whatever reads those that lie there. */
export async function workOnDestination(
  context: Pick<BackupsContext, 'readers'>,
  transaction: Transaction,
  organizationId: string,
  destinationId: string,
): Promise<{ type: string; id: string }[]> {
  const work: { type: string; id: string }[] = [];
  for (const { id, status } of await backupsIn(transaction, organizationId, destinationId))
    if (status === 'completed') work.push(...(await context.readers(transaction, organizationId, id)));
    else work.push({ type: 'backup', id });
  return work;
}
