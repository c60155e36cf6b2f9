import type { Transaction } from '../../../platform/database/database.ts';
import { retentionStore } from '../../backups/index.ts';
import type { ScheduleRow } from '../schedule-store.ts';
import { retentionCheckStore } from './retention-check-store.ts';

/** Retention looks at the project as soon as it can. */
export async function checkRetention(
  transaction: Transaction,
  organizationId: string,
  projectId: string,
  now: Date,
): Promise<void> {
  await retentionCheckStore.demand(transaction, organizationId, projectId, now);
}

/** The schedule's backups show the term it now has. */
export async function setTerms(transaction: Transaction, row: ScheduleRow): Promise<void> {
  await retentionStore.setTerms(transaction, row.organizationId, row.id, row.retentionDays);
}
