import type { Transaction } from '../../../platform/database/database.ts';
import { and, eq, sql } from '../../../platform/database/orm.ts';
import type { TurnTable } from '../../jobs/index.ts';
import { isActiveOrganizationSql } from '../../organizations/index.ts';
import { backups } from '../tables.ts';

const isVerifying = `w.verification->>'status' = 'running' and w.status = 'completed' and w.deleted_at is null`;

/** A verification stands in the record of its backup. */
export const verificationTurns: TurnTable = {
  table: 'backups',
  isWaiting: `${isVerifying} and w.verification_admitted_at is null`,
  isOpen: `${isVerifying} and w.verification_admitted_at is not null`,
  admittedAt: 'verification_admitted_at',
  isOfActiveOrganization: isActiveOrganizationSql('w.organization_id'),
};

/** Once more the verification failed by something that may pass; how often by now. */
export async function countVerificationFailure(
  { orm }: Transaction,
  organizationId: string,
  id: string,
): Promise<number> {
  const [row] = await orm
    .update(backups)
    .set({ verificationFailures: sql`${backups.verificationFailures} + 1` })
    .where(and(eq(backups.organizationId, organizationId), eq(backups.id, id)))
    .returning({ failures: backups.verificationFailures });
  return row?.failures ?? Number.POSITIVE_INFINITY;
}
