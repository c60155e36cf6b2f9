import { unreadCodes } from '@holdfast/contract';
import type { Transaction } from '../../../platform/database/database.ts';
import { and, eq, sql } from '../../../platform/database/orm.ts';
import type { AdmissionTable } from '../../jobs/index.ts';
import { isActiveOrganizationSql } from '../../organizations/index.ts';
import { backups, type StoredVerification } from '../tables.ts';

const isVerifying = `w.verification->>'status' = 'running' and w.status = 'completed' and w.deleted_at is null`;

/** Whether an error code means that the backup could not be read at all, which proves nothing about it. */
function isUnread(code: string): boolean {
  return unreadCodes.includes(code);
}

/** Whether a verification found something wrong with what it read. */
export function foundDamage({ status, errors }: StoredVerification): boolean {
  return status === 'failed' && errors.some((one) => typeof one !== 'object' || !isUnread(one.code));
}

/** For a row `b`: the verification failed only because the backup could not be read. */
export const isUnreadSql = `b.verification->>'status' = 'failed' and jsonb_array_length(b.verification->'errors') > 0
  and not exists (select 1 from jsonb_array_elements(b.verification->'errors') e
                   where coalesce(e->>'code', '') not in (${unreadCodes.map((code) => `'${code}'`).join(', ')}))`;

/** For a row `b`: the last verification found damage. A backup that could not be read is not damaged. */
export const isDamagedSql = `(b.verification->>'status' is not distinct from 'failed' and not (${isUnreadSql}))`;

/** A verification is part of the record of its backup. */
export const verificationAdmission: AdmissionTable = {
  table: 'backups',
  isWaiting: `${isVerifying} and w.verification_admitted_at is null`,
  isOpen: `${isVerifying} and w.verification_admitted_at is not null`,
  admittedAt: 'verification_admitted_at',
  isOfActiveOrganization: isActiveOrganizationSql('w.organization_id'),
};

/** Counts a transient failure of the verification and returns how many there were. */
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

/** Verifies backups again that could not be read: all of them, or those in one destination. */
export async function verifyUnread(
  { client }: Transaction,
  organizationId: string,
  now: Date,
  destinationId: string | null = null,
): Promise<void> {
  await client.query(
    `with unread as (
       select b.id from backups b
        where b.organization_id = $1 and b.status = 'completed' and b.deleted_at is null and ${isUnreadSql}
          and ($3::text is null or exists (select 1 from backup_copies c
                where c.organization_id = $1 and c.backup_id = b.id and c.storage_destination_id = $3))
        order by b.id desc for no key update
     )
     update backups set verification = '{"status": "running", "segments": 0, "documents": 0, "errors": []}',
            verification_admitted_at = null, verification_failures = 0, updated_at = $2
       from unread where backups.id = unread.id`,
    [organizationId, now, destinationId],
  );
}
