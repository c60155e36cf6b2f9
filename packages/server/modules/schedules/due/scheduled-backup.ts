import type { WaitingBackup } from '../../backups/index.ts';
import type { ProjectRow } from '../../projects/index.ts';
import type { ScheduleRow } from '../schedule-store.ts';

/** The backup that a run of the schedule starts; `number` counts the runs that started one, from 1. */
export function scheduledBackup(
  row: ScheduleRow,
  project: ProjectRow,
  run: { id: string; number: number; trigger: 'scheduled' | 'manual' | 'api'; destinationId: string; now: Date },
): WaitingBackup {
  return {
    id: run.id,
    organizationId: row.organizationId,
    projectId: row.projectId,
    scheduleId: row.id,
    type: typeOfRun(row, run.number),
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

/** The first run is full, and then every n-th after it. */
function typeOfRun({ type, fullEvery }: Pick<ScheduleRow, 'type' | 'fullEvery'>, number: number) {
  if (type === 'full') return 'full';
  return fullEvery !== null && (number - 1) % fullEvery === 0 ? 'full' : 'incremental';
}
