import type { Transaction } from '../../platform/database/database.ts';
import { and, desc, eq, isNull } from '../../platform/database/orm.ts';
import type { BackupRow } from './backup-store.ts';
import { backups } from './tables.ts';

const head = {
  id: backups.id,
  organizationId: backups.organizationId,
  projectId: backups.projectId,
  scheduleId: backups.scheduleId,
  status: backups.status,
  admittedAt: backups.admittedAt,
  storageDestinationId: backups.storageDestinationId,
  envelope: backups.envelope,
  legalHold: backups.legalHold,
  lockedUntil: backups.lockedUntil,
};

/** What is asked of a backup that is moved or removed. The names of what it covers may be long: without them tens of thousands fit. */
export type BackupHead = Pick<BackupRow, keyof typeof head>;

/** Backups of which there may be many at once. */
export const headStore = {
  /** All of a project, newest first. */
  async lockAll({ orm }: Transaction, organizationId: string, projectId: string): Promise<BackupHead[]> {
    return orm
      .select(head)
      .from(backups)
      .where(
        and(eq(backups.organizationId, organizationId), eq(backups.projectId, projectId), isNull(backups.deletedAt)),
      )
      .orderBy(desc(backups.id))
      .for('update');
  },
};
