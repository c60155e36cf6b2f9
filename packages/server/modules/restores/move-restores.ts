import type { Transaction } from '../../platform/database/database.ts';
import type { ProjectRow } from '../projects/index.ts';
import { journalStore } from './journal/journal-store.ts';

/** The history of a project's backups goes where they go. Restores of other projects into it stay with those projects. */
export async function moveRestores(
  transaction: Transaction,
  { id, organizationId }: ProjectRow,
  toOrganizationId: string,
): Promise<void> {
  await journalStore.dropOf(transaction, organizationId, id);
  for (const table of ['restores', 'drills'])
    await transaction.client.query(
      `update ${table} set organization_id = $3 where organization_id = $1 and project_id = $2`,
      [organizationId, id, toOrganizationId],
    );
}
