import type { DataOf, ItemOf, Operations } from '@holdfast/contract';
import { etaSeconds } from '../backups/index.ts';
import type { DrillRow } from './drills/drill-store.ts';
import { isProven } from './drills/proof.ts';
import type { RestoreRow } from './restore-store.ts';

export type Restore = DataOf<Operations['getRestore']>;
export type Drill = ItemOf<Operations['listDrills']>;

const displayStatus = {
  pending: 'In Progress',
  running: 'In Progress',
  completed: 'Success',
  failed: 'Failed',
  cancelled: 'Failed',
} as const;

export function presentRestore(row: RestoreRow): Restore {
  return {
    id: row.id,
    restoreJobId: row.id,
    backupId: row.backupId,
    pointInTime: row.pointInTime && presentInstant(row.pointInTime),
    projectId: row.projectId,
    targetProjectId: row.targetProjectId,
    status: row.status,
    displayStatus: displayStatus[row.status],
    phase: row.phase,
    progress: presentRestoreProgress(row),
    mergeMode: row.mergeMode,
    dryRun: row.dryRun,
    collections: row.collections,
    documentIds: row.documentPaths,
    includeAuthUsers: row.includeAuthUsers,
    includeSubcollections: row.includeSubcollections,
    rewriteReferences: row.rewriteReferences,
    deleteExtra: row.deleteExtra,
    items:
      row.items?.map((item) => ({
        ...item,
        pointInTime: item.pointInTime && presentInstant(item.pointInTime),
      })) ?? null,
    startedBy: row.startedBy,
    stoppedBy: row.stoppedBy,
    safetyBackupId: row.safetyBackupId,
    undoOf: row.undoOf,
    undoneBy: row.undoneBy,
    conflicts: row.conflicts,
    conflictSample: row.conflictSample,
    documentsRestored: row.documentsRestored,
    documentsDeleted: row.documentsDeleted,
    collectionsRestored: row.collectionsRestored,
    preview: row.preview && { irreversible: 0, ...row.preview },
    irreversibleReasons: row.irreversibleReasons,
    errors: { count: row.errorCount, sample: row.errorSample },
    error: row.error as Restore['error'],
    duration: durationSeconds(row),
    createdAt: row.createdAt.toISOString(),
    startedAt: row.startedAt?.toISOString() ?? null,
    completedAt: row.completedAt?.toISOString() ?? null,
  };
}

export function presentRestoreProgress(row: RestoreRow): Restore['progress'] {
  return {
    percent: row.percent,
    phase: row.phase,
    documents: row.documentsRestored + row.documentsSkipped + row.documentsDeleted,
    documentsTotal: documentsTotal(row),
    bytes: row.bytesDone,
    // How many documents will be deleted is not known before, so the rest of that stage cannot be estimated.
    etaSeconds: row.checkpoint.stage === 'deletes' && row.undoOf === null ? null : etaSeconds(row),
    waitingFor: row.status === 'pending' ? 'Its turn.' : row.waitingFor,
  };
}

/** How many extra documents will be deleted is known only when they are found; each adds to the total. */
function documentsTotal({ documentsExpected, documentsDeleted, undoOf }: RestoreRow): number | null {
  return documentsExpected === null || undoOf !== null ? documentsExpected : documentsExpected + documentsDeleted;
}

export function durationSeconds(row: Pick<RestoreRow, 'startedAt' | 'completedAt'>): number | null {
  return row.startedAt && row.completedAt
    ? Math.max(0, row.completedAt.getTime() - row.startedAt.getTime()) / 1000
    : null;
}

export function presentDrill(row: DrillRow): Drill {
  const { report } = row;
  return {
    id: row.id,
    backupId: row.backupId,
    projectId: row.projectId,
    targetProjectId: row.targetProjectId,
    status: row.status,
    passed: report && isProven(report),
    progress: {
      percent: row.percent,
      phase: row.status === 'completed' ? 'Completed' : 'Restoring',
      documents: row.documentsDone,
      documentsTotal: null,
      bytes: row.bytesDone,
      etaSeconds: null,
      waitingFor: row.status === 'pending' ? 'Its turn.' : null,
    },
    report,
    signedReport: row.signedReport,
    error: row.error as Drill['error'],
    createdAt: row.createdAt.toISOString(),
    completedAt: row.completedAt?.toISOString() ?? null,
  };
}

/** As it was requested, with all digits when somebody named a commit. */
function presentInstant(instant: string): string {
  return instant.endsWith('000000Z') ? new Date(instant).toISOString() : instant;
}
