import type { DataOf, Operations } from '@holdfast/contract';
import type { Transaction } from '../../platform/database/database.ts';
import type { BackupsContext } from '../backups/index.ts';
import type { ProjectRow } from '../projects/index.ts';

export interface SchedulesContext {
  /** Backups are made, merged, verified and removed by their own module. */
  backups: BackupsContext;
  organizations: {
    /** Those that are not deleted; the transaction may span organizations. */
    activeOf(
      transaction: Transaction,
      ids: readonly string[],
    ): Promise<ReadonlyMap<string, { id: string; name: string; timezone: string; defaultStorageId: string | null }>>;
  };
  /** Requests a drill in the caller's transaction. */
  startDrill(transaction: Transaction, organizationId: string, backupId: string): Promise<void>;
  /** The backups of a project that a restore or a drill reads now. */
  backupsRead(transaction: Transaction, organizationId: string, projectId: string): Promise<ReadonlySet<string>>;
  /** Safety backups of a project, each with the end of its restore, for restores that ended since then. */
  safetyBackupsSince(
    transaction: Transaction,
    organizationId: string,
    projectId: string,
    since: Date,
  ): Promise<ReadonlyMap<string, Date>>;
  /** The backups of a project that are needed to reach captured time. */
  basesNeeded(transaction: Transaction, organizationId: string, projectId: string): Promise<ReadonlySet<string>>;
  /** A person has reviewed an anomaly. */
  onUnfrozen(transaction: Transaction, project: ProjectRow): Promise<void>;
  /** A schedule was disabled: no run is expected any more. */
  onSwitchedOff(transaction: Transaction, schedule: { organizationId: string; id: string }): Promise<void>;
  /** Presented by the modules that own them. */
  presentBackup(organizationId: string, backupId: string): Promise<DataOf<Operations['getBackup']>>;
  presentProject(row: ProjectRow): Promise<DataOf<Operations['getProject']>>;
}
