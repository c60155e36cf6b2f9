import type { DataOf, Operations } from '@holdfast/contract';
import type { ProjectRow } from './project-store.ts';

/** Shown for a project that has not set it; a large database gets more. */
export const backupTimeoutMinutesDefault = 30;

export type ProjectView = DataOf<Operations['getProject']>;

/** What the backups module knows of a project; all zero until there is a backup. */
export interface ProjectStatistics {
  backupCount: number;
  storageUsed: number;
  documentCount: number | null;
  lastBackupAt: string | null;
  newestSnapshotTime: string | null;
  lastBackupStatus: ProjectView['statistics']['lastBackupStatus'];
}

export const noStatistics: ProjectStatistics = {
  backupCount: 0,
  storageUsed: 0,
  documentCount: null,
  lastBackupAt: null,
  newestSnapshotTime: null,
  lastBackupStatus: null,
};

export function presentConnection(row: ProjectRow): ProjectView['connection'] {
  return {
    type: row.connectionType,
    status: row.connectionStatus,
    email: row.connectionEmail,
    ...(row.connectionHost ? { host: row.connectionHost } : {}),
    lastCheckedAt: row.connectionCheckedAt?.toISOString() ?? null,
    error: row.connectionError as ProjectView['connection']['error'],
  };
}

const noPitr: ProjectView['pitr'] = {
  enabled: false,
  status: 'stopped',
  coveredFrom: null,
  coveredTo: null,
  gaps: [],
};

export function presentProject(
  row: ProjectRow,
  statistics: ProjectStatistics = noStatistics,
  pitr: ProjectView['pitr'] = noPitr,
): ProjectView {
  return {
    id: row.id,
    name: row.name,
    sourceProjectId: row.sourceProjectId,
    databaseId: row.databaseId,
    connection: presentConnection(row),
    pitr,
    settings: {
      backupTimeoutMinutes: row.backupTimeoutMinutes ?? backupTimeoutMinutesDefault,
      readRateLimit: row.readRateLimit,
      writeRampUp: row.writeRampUp,
      includeAuthUsers: row.includeAuthUsers,
      maxReadsPerBackup: row.maxReadsPerBackup,
    },
    statistics,
    retentionFrozen: row.retentionFrozen,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

/** A project as it appears in the events of others. */
export function presentProjectSummary(row: ProjectRow): { id: string; name: string; sourceProjectId: string } {
  return { id: row.id, name: row.name, sourceProjectId: row.sourceProjectId };
}
