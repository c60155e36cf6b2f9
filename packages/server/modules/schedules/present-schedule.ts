import { createHash } from 'node:crypto';
import type { ItemOf, Operations } from '@holdfast/contract';
import { parseCron } from './cron/cron-expression.ts';
import { nextRun } from './cron/next-run.ts';
import type { RunRow } from './run-store.ts';
import type { ScheduleRow } from './schedule-store.ts';

export type ScheduleView = ItemOf<Operations['listSchedules']>;
export type RunView = ItemOf<Operations['listScheduleRuns']>;

export function presentSchedule(row: ScheduleRow, now: Date): ScheduleView {
  return {
    id: row.id,
    name: row.name,
    projectId: row.projectId,
    cron: row.cron,
    cronExpression: row.cron,
    timezone: row.timezone,
    enabled: row.enabled,
    type: row.type,
    fullEvery: row.fullEvery,
    collections: row.collections,
    excludeCollections: row.excludeCollections,
    includeSubcollections: row.includeSubcollections,
    storageDestinationId: row.storageDestinationIds[0] ?? null,
    storageDestinationIds: row.storageDestinationIds,
    retention: row.retentionDays,
    retentionPolicy: row.retentionPolicy as ScheduleView['retentionPolicy'],
    catchUp: row.catchUp,
    missedAfterMinutes: row.missedAfterMinutes,
    drillEvery: row.drillEvery,
    verifyEvery: row.verifyEvery,
    lastRun: row.lastRun && {
      dueAt: row.lastRun.dueAt,
      status: row.lastRun.status,
      backupId: row.lastRun.backupId,
    },
    nextRunAt: nextRunShown(row, now)?.toISOString() ?? null,
    createdBy: row.createdById === null ? null : { id: row.createdById, email: row.createdByEmail },
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

/** If no scheduler has claimed the due time yet, the next one is shown. */
export function nextRunShown(row: Pick<ScheduleRow, 'nextRunAt' | 'cron' | 'timezone'>, now: Date): Date | null {
  if (row.nextRunAt === null || row.nextRunAt > now) return row.nextRunAt;
  return nextRun(parseCron(row.cron), row.timezone, now) ?? null;
}

/** Changes whenever anything that is shown changes. */
export function scheduleEtag(view: ScheduleView): string {
  return `"${createHash('sha256').update(JSON.stringify(view)).digest('base64url').slice(0, 27)}"`;
}

export function presentRun(row: RunRow): RunView {
  return {
    id: row.id,
    dueAt: row.dueAt.toISOString(),
    startedAt: row.startedAt?.toISOString() ?? null,
    status: row.status,
    reason: row.reason,
    backupId: row.backupId,
  };
}
