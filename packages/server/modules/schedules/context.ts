import type { DataOf, Operations } from '@holdfast/contract';
import type { Transaction } from '../../platform/database/database.ts';
import type { BackupsContext } from '../backups/index.ts';
import type { ProjectRow } from '../projects/index.ts';

export interface SchedulesContext {
  /** Backups are made, merged, verified and removed with the means of their own module. */
  backups: BackupsContext;
  organizations: {
    /** Those that are not deleted; the transaction may span organizations. */
    activeOf(
      transaction: Transaction,
      ids: readonly string[],
    ): Promise<ReadonlyMap<string, { id: string; name: string; timezone: string; defaultStorageId: string | null }>>;
  };
  /** Starts a trial restore in the transaction that wants it. */
  startDrill(transaction: Transaction, organizationId: string, backupId: string): Promise<void>;
  /** Of a project's backups those that a restore or a drill reads now. */
  backupsRead(transaction: Transaction, organizationId: string, projectId: string): Promise<ReadonlySet<string>>;
  /** When each restore into a project that ended since then did so, by the safety backup that was made for it. */
  safetyBackupsSince(
    transaction: Transaction,
    organizationId: string,
    projectId: string,
    since: Date,
  ): Promise<ReadonlyMap<string, Date>>;
  /** Of a project's backups those that captured time is reached from, one for each stretch of it. */
  basesNeeded(transaction: Transaction, organizationId: string, projectId: string): Promise<ReadonlySet<string>>;
  /** Somebody has looked at an anomaly. */
  onUnfrozen(transaction: Transaction, project: ProjectRow): Promise<void>;
  /** A schedule that was on is off: nothing is expected of it any more. */
  onSwitchedOff(transaction: Transaction, schedule: { organizationId: string; id: string }): Promise<void>;
  /** As the modules they belong to show them. */
  presentBackup(organizationId: string, backupId: string): Promise<DataOf<Operations['getBackup']>>;
  presentProject(row: ProjectRow): Promise<DataOf<Operations['getProject']>>;
}
