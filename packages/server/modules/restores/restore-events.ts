import type { OutboxEvent } from '../../platform/outbox.ts';
import { tenthsBetween } from '../../platform/tenths.ts';
import { errorInEvent } from '../backups/index.ts';
import { type ProjectRow, presentProjectSummary } from '../projects/index.ts';
import { durationSeconds } from './present-restore.ts';
import type { RestoreRow } from './restore-store.ts';

export interface RestoreFacts {
  row: RestoreRow;
  project: ProjectRow;
  target: ProjectRow;
  organization: { id: string; name: string };
}

type RestoreEventName = 'restore.started' | 'restore.progress' | 'restore.completed' | 'restore.failed';

export function restoreEvent(type: RestoreEventName, facts: RestoreFacts, percent = facts.row.percent): OutboxEvent {
  return {
    organizationId: facts.row.organizationId,
    type,
    payload: {
      data: standardData(facts, percent),
      ...(type === 'restore.progress' ? {} : { simple: simpleData(facts) }),
      filter: { projectId: facts.row.targetProjectId, sourceProjectId: facts.row.projectId },
    },
  };
}

/** One event per tenth that was reached since the last one. */
export function progressEvents(facts: RestoreFacts, sent: number, reached: number): OutboxEvent[] {
  return tenthsBetween(sent, reached).map((tenth) => restoreEvent('restore.progress', facts, tenth));
}

function standardData({ row, project, target, organization }: RestoreFacts, percent: number): Record<string, unknown> {
  const seconds = durationSeconds(row);
  return {
    restore: {
      id: row.id,
      ...(row.backupId === null ? {} : { backupId: row.backupId }),
      status: row.status,
      phase: row.phase,
      percent,
      mergeMode: row.mergeMode,
      documentsRestored: row.documentsRestored,
      collectionsRestored: row.collectionsRestored,
      ...(seconds === null ? {} : { duration: Math.round(seconds * 1000) }),
      createdAt: row.createdAt.toISOString(),
      ...(row.completedAt ? { completedAt: row.completedAt.toISOString() } : {}),
      ...(row.error ? { error: errorInEvent(row.error) } : {}),
    },
    project: presentProjectSummary(project),
    targetProject: presentProjectSummary(target),
    organization,
  };
}

function simpleData({ row, project, target }: RestoreFacts): Record<string, unknown> {
  const isOver = row.completedAt !== null;
  return {
    restoreJobId: row.id,
    backupId: row.backupId,
    projectId: row.projectId,
    projectName: project.name,
    targetProjectId: row.targetProjectId,
    targetProjectName: target.name,
    status: row.status,
    documentsRestored: isOver ? row.documentsRestored : null,
    collectionsRestored: isOver ? row.collectionsRestored : null,
    mergeMode: row.mergeMode,
    duration: durationSeconds(row),
    createdAt: row.createdAt.toISOString(),
    completedAt: row.completedAt?.toISOString() ?? null,
  };
}
