import type { Transaction } from '../../../platform/database/database.ts';
import type { AdmissionTable, JobRecord } from '../../jobs/index.ts';
import { isActiveOrganizationSql } from '../../organizations/index.ts';
import type { ImportRequest } from '../tables.ts';

/** The columns that admission and the search for lost work need. */
export interface BackupJobRecord extends JobRecord {
  projectId: string;
  type: string;
  imported: ImportRequest | null;
  isPlanned: boolean;
  deadlineAt: Date | null;
  waitingFor: string | null;
}

/** Shown as the reason why backups of a deleted organization wait. */
export const organizationDeleted = 'The organization was deleted; nothing runs before it is recovered.';

/** One backup at a time per project. */
export const backupAdmission: AdmissionTable = {
  table: 'backups',
  isWaiting: `w.status = 'pending' and w.admitted_at is null and w.deleted_at is null`,
  isOpen: `w.status in ('pending', 'running') and w.admitted_at is not null and w.deleted_at is null`,
  place: 'w.project_id',
  admittedAt: 'admitted_at',
  columns: `w.project_id as "projectId", w.type, w.imported, w.plan is not null as "isPlanned", w.deadline_at as "deadlineAt", w.waiting_for as "waitingFor"`,
  isOfActiveOrganization: isActiveOrganizationSql('w.organization_id'),
};

/** Ranges of an organization's running backups that are still being read. */
export async function countOpenRanges({ client }: Transaction, organizationId: string): Promise<number> {
  const { rows } = await client.query<{ open: string }>(
    `select count(*) as open from backup_ranges r join backups b on b.id = r.backup_id
      where r.organization_id = $1 and not r.is_complete and b.status = 'running'`,
    [organizationId],
  );
  return Number(rows[0]?.open ?? 0);
}

/** Running backups of a deleted organization say why they wait. */
export async function markWaitingForRecovery({ client }: Transaction, organizationId: string): Promise<void> {
  await client.query(
    `update backups set waiting_for = $2, version = version + 1 where organization_id = $1 and status = 'running'`,
    [organizationId, organizationDeleted],
  );
}

/**
 * Deleted backups whose objects could not be removed yet. Some of each organization in random order, so that every one
 * gets its turn.
 */
export async function deletedBackups(
  { client }: Transaction,
  deletedBefore: Date,
): Promise<{ id: string; organizationId: string }[]> {
  const { rows } = await client.query<{ id: string; organizationId: string }>(
    `select id, organization_id as "organizationId" from backups
      where deleted_at < $1 and ${isActiveOrganizationSql('backups.organization_id')}
      order by row_number() over (partition by organization_id order by random()) limit 1000`,
    [deletedBefore],
  );
  return rows;
}
