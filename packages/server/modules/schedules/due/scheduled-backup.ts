import type { WaitingBackup } from '../../backups/index.ts';
import type { ProjectRow } from '../../projects/index.ts';
import type { ScheduleRow } from '../schedule-store.ts';

interface Run {
  id: string;
  /** Counts the runs that started a backup, from 1. */
  number: number;
  trigger: 'scheduled' | 'manual' | 'api';
  destinationId: string;
  /** The last full backup failed or was cancelled. */
  owesFull: boolean;
  now: Date;
}

/** The backup that a run of the schedule starts. */
export function scheduledBackup(row: ScheduleRow, project: ProjectRow, run: Run): WaitingBackup {
  return {
    id: run.id,
    organizationId: row.organizationId,
    projectId: row.projectId,
    scheduleId: row.id,
    type: typeOfRun(row, run),
    status: 'pending',
    trigger: run.trigger,
    collections: row.collections,
    excludeCollections: row.excludeCollections,
    includeSubcollections: row.includeSubcollections,
    includeAuthUsers: project.includeAuthUsers,
    storageDestinationId: run.destinationId,
    phase: 'Waiting',
    createdAt: run.now,
    updatedAt: run.now,
  };
}

/** The first run is full, then every n-th after it, and one after a full backup that failed. */
export function typeOfRun(
  { type, fullEvery }: Pick<ScheduleRow, 'type' | 'fullEvery'>,
  { number, owesFull }: Pick<Run, 'number' | 'owesFull'>,
): 'full' | 'incremental' {
  if (type === 'full') return 'full';
  return fullEvery !== null && (owesFull || (number - 1) % fullEvery === 0) ? 'full' : 'incremental';
}
