import type { Transaction } from '../../../platform/database/database.ts';
import type { Outbox, OutboxEvent } from '../../../platform/outbox.ts';
import { tenthsBetween } from '../../../platform/tenths.ts';
import type { StoredError } from '../../job-error.ts';
import { type ProjectRow, presentProjectSummary } from '../../projects/index.ts';
import { type DestinationRow, presentStorageSummary } from '../../storage/index.ts';
import type { BackupRow } from '../backup-store.ts';
import { durationMs, formatBytes, formatDuration } from '../present-backup.ts';
import type { StoredAnomaly } from '../tables.ts';

export interface BackupInEvent {
  row: BackupRow;
  project: ProjectRow;
  destination: DestinationRow | undefined;
  organization: { id: string; name: string };
}

type BackupEventName = 'backup.started' | 'backup.progress' | 'backup.completed' | 'backup.failed';

/** An event for webhooks, emitted in the transaction that it describes. */
export function backupEvent(type: BackupEventName, facts: BackupInEvent, progress?: object): OutboxEvent {
  const { row } = facts;
  return {
    organizationId: row.organizationId,
    type,
    payload: {
      data: standardData(type, facts, progress),
      ...(type === 'backup.progress' ? {} : { simple: simpleData(type, facts) }),
      metadata: metadataOf(row),
      filter: { projectId: row.projectId, trigger: row.trigger },
    },
  };
}

/** One event per tenth that was reached since the last one. */
export function progressEvents(
  facts: BackupInEvent,
  { sent, reached }: { readonly sent: number; readonly reached: number },
  done: { readonly documents: number; readonly bytes: number },
): OutboxEvent[] {
  const { documents, bytes } = done;
  return tenthsBetween(sent, reached).map((percent) =>
    backupEvent('backup.progress', facts, { percent, documents, bytes }),
  );
}

/** Emits that something about a completed backup is suspicious. */
export async function emitAnomaly(
  outbox: Outbox,
  transaction: Transaction,
  facts: BackupInEvent,
  anomaly: StoredAnomaly,
): Promise<void> {
  const { row } = facts;
  await outbox.emit(transaction, {
    organizationId: row.organizationId,
    type: 'backup.anomaly',
    payload: {
      data: { ...standardData('backup.completed', facts, undefined), ...anomaly },
      metadata: metadataOf(row),
      filter: { projectId: row.projectId, trigger: row.trigger },
    },
  });
}

function metadataOf(row: BackupRow) {
  return { trigger: row.trigger, scheduleId: askingSchedule(row) };
}

/** The schedule that asked for the backup. Retention asks for a merge, also of a schedule's backups. */
function askingSchedule({ scheduleId, standsFor }: BackupRow): string | null {
  return standsFor === null ? scheduleId : null;
}

/** Fields that are not known yet are absent. */
function standardData(
  type: BackupEventName,
  { row, project, destination, organization }: BackupInEvent,
  progress: object | undefined,
): Record<string, unknown> {
  const about = { project: presentProjectSummary(project), organization };
  if (type === 'backup.failed')
    return { backup: { id: row.id, status: 'failed', error: errorInEvent(row.error) }, ...about };
  const duration = durationMs(row);
  return {
    backup: {
      id: row.id,
      projectId: row.projectId,
      type: row.type,
      status: row.status,
      ...(row.size === null ? {} : { size: row.size, sizeFormatted: formatBytes(row.size) }),
      ...(duration === null ? {} : { duration, durationFormatted: formatDuration(duration) }),
      ...(destination ? { storageDestination: presentStorageSummary(destination) } : {}),
      collections: row.collections,
      ...(row.documentCount === null ? {} : { documentCount: row.documentCount }),
      createdAt: row.createdAt.toISOString(),
      ...(row.completedAt ? { completedAt: row.completedAt.toISOString() } : {}),
    },
    ...about,
    ...(progress ? { progress } : {}),
  };
}

export function errorInEvent(error: StoredError | null): object {
  const { code, message, details, retryable, advice } = error ?? {
    code: 'INTERNAL_ERROR',
    message: '',
    details: {},
    retryable: false,
    advice: '',
  };
  return { code, message, details: { ...details, retryable, advice } };
}

/** Flat, durations in seconds, null for what is not known yet. */
function simpleData(type: BackupEventName, { row, project }: BackupInEvent): Record<string, unknown> {
  const head = {
    backupId: row.id,
    projectId: row.projectId,
    projectName: project.name,
    type: row.type,
    status: row.status,
  };
  const tail = { triggeredBy: row.trigger, scheduleId: askingSchedule(row), createdAt: row.createdAt.toISOString() };
  if (type === 'backup.failed')
    return { ...head, error: row.error?.message ?? '', ...tail, failedAt: row.completedAt?.toISOString() };
  const duration = durationMs(row);
  return {
    ...head,
    documentsCount: row.documentCount,
    collectionsCount: row.collectionCount,
    originalSize: row.size,
    compressedSize: row.compressedSize,
    duration: duration === null ? null : duration / 1000,
    ...tail,
    completedAt: row.completedAt?.toISOString() ?? null,
  };
}
