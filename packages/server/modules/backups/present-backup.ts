import type { DataOf, Operations } from '@holdfast/contract';
import { toWholeMillisecond } from '@holdfast/engine';
import type { BackupRow, ShownBackup } from './backup-store.ts';
import type { StoredVerification } from './tables.ts';
import { presentWarning } from './warnings.ts';

export type Backup = DataOf<Operations['getBackup']>;

export function presentBackup(row: ShownBackup): Backup {
  const duration = durationMs(row);
  return {
    id: row.id,
    projectId: row.projectId,
    type: row.type,
    status: row.status,
    trigger: row.trigger,
    scheduleId: row.scheduleId,
    importedFrom: row.imported?.source ?? null,
    parentId: row.parentId,
    collections: row.collections,
    excludeCollections: row.excludeCollections,
    includeSubcollections: row.includeSubcollections,
    includeAuthUsers: row.includeAuthUsers,
    scope: {
      collections: row.collections,
      excludeCollections: row.excludeCollections,
      includeSubcollections: row.includeSubcollections,
      documents: row.documentPaths && { count: row.documentPaths.length, paths: row.documentPaths.slice(0, 1000) },
    },
    snapshotTime: row.snapshots.length > 1 ? null : toTimestamp(row.snapshotTime),
    snapshots: row.snapshots,
    progress: presentProgress(row),
    documentCount: row.documentCount,
    changeCount: row.changeCount,
    size: row.size,
    sizeFormatted: row.size === null ? null : formatBytes(row.size),
    compressedSize: row.compressedSize,
    sha256: row.sha256,
    readsUsed: row.readsUsed,
    duration,
    durationFormatted: duration === null ? null : formatDuration(duration),
    storageDestination: row.destination,
    copies: row.copies.map((copy) => ({
      storageDestinationId: copy.storageDestinationId,
      status: copy.status,
      error: copy.error as Backup['error'],
    })),
    legalHold: row.legalHold,
    verifiedAt: row.verifiedAt?.toISOString() ?? null,
    verification: row.verification && presentVerification(row.verification),
    anomaly: row.anomaly,
    warnings: row.warnings.map(presentWarning),
    error: row.error as Backup['error'],
    createdAt: row.createdAt.toISOString(),
    startedAt: row.startedAt?.toISOString() ?? null,
    completedAt: row.completedAt?.toISOString() ?? null,
    expiresAt: row.expiresAt?.toISOString() ?? null,
  };
}

/** Older faults are plain texts; at that time only damage was kept. */
function presentVerification(stored: StoredVerification): NonNullable<Backup['verification']> {
  const errors = stored.errors.map((error) =>
    typeof error === 'string' ? { code: 'INTEGRITY_ERROR' as const, message: error, object: null } : error,
  );
  return { ...stored, errors };
}

export function presentProgress(row: BackupRow): Backup['progress'] {
  return {
    percent: row.percent,
    phase: row.phase,
    documents: row.documentsDone,
    documentsTotal: row.documentsExpected,
    bytes: row.bytesDone,
    etaSeconds: etaSeconds(row),
    waitingFor: row.status === 'pending' ? 'Its turn.' : row.waitingFor,
  };
}

/** Estimated from the progress so far; null while there is too little of it. */
export function etaSeconds(
  row: Pick<BackupRow, 'status' | 'waitingFor' | 'startedAt' | 'percent' | 'updatedAt'>,
): number | null {
  if (row.status !== 'running' || row.waitingFor !== null || !row.startedAt || row.percent < 2 || row.percent >= 100)
    return null;
  const elapsedMs = row.updatedAt.getTime() - row.startedAt.getTime();
  return Math.min(31_536_000, Math.max(0, Math.round(((elapsedMs / row.percent) * (100 - row.percent)) / 1000)));
}

/** With milliseconds where that is exact, otherwise with all digits: a read time must not be shown as another time. */
function toTimestamp(instant: string | null): string | null {
  return instant && (isWhole(instant) ? new Date(instant).toISOString() : `${instant.slice(0, 26)}Z`);
}

function isWhole(instant: string): boolean {
  return toWholeMillisecond(instant) === instant;
}

export function durationMs(row: Pick<BackupRow, 'startedAt' | 'completedAt'>): number | null {
  return row.startedAt && row.completedAt ? Math.max(0, row.completedAt.getTime() - row.startedAt.getTime()) : null;
}

const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];

export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024;
  return `${unit === 0 ? value : value.toFixed(value < 10 ? 2 : 1)} ${units[unit]}`;
}

export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${milliseconds}ms`;
  const seconds = Math.round(milliseconds / 1000);
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), seconds % 60];
  return [h ? `${h}h` : '', m ? `${m}m` : '', s || seconds === 0 ? `${s}s` : '']
    .filter((part) => part !== '')
    .join(' ');
}
