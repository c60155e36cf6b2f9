import type { Transaction } from '../../../platform/database/database.ts';
import { and, eq, sql } from '../../../platform/database/orm.ts';
import type { TurnTable } from '../../jobs/index.ts';
import { isActiveOrganizationSql } from '../../organizations/index.ts';
import { backups } from '../tables.ts';

const isVerifying = `w.verification->>'status' = 'running' and w.status = 'completed' and w.deleted_at is null`;

/** Of a row `b`: its verification failed for want of a key alone, which says nothing about what the key sealed. */
export const isKeylessSql = `b.verification->>'status' = 'failed' and jsonb_array_length(b.verification->'errors') > 0
  and not exists (select 1 from jsonb_array_elements(b.verification->'errors') e
                   where e->>'code' is distinct from 'DECRYPTION_ERROR')`;

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

/** Those that failed for want of a key alone are verified again, each in its turn. */
export async function verifyKeyless({ client }: Transaction, organizationId: string, now: Date): Promise<void> {
  await client.query(
    `update backups b set verification = '{"status": "running", "segments": 0, "documents": 0, "errors": []}',
            verification_admitted_at = null, verification_failures = 0, updated_at = $2
      where b.organization_id = $1 and b.status = 'completed' and b.deleted_at is null and ${isKeylessSql}`,
    [organizationId, now],
  );
}
