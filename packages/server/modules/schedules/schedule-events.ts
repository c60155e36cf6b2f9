import type { OutboxEvent } from '../../platform/outbox.ts';
import { type ProjectRow, presentProjectSummary } from '../projects/index.ts';
import { nextRunShown } from './present-schedule.ts';
import type { ScheduleSummary } from './schedule-store.ts';

export interface ScheduleFacts {
  row: ScheduleSummary;
  project: ProjectRow;
  now: Date;
}

/** A change of the schedule itself, in both formats. */
export function scheduleChanged(
  type: 'schedule.created' | 'schedule.updated' | 'schedule.deleted',
  facts: ScheduleFacts,
): OutboxEvent {
  const { row, project } = facts;
  return {
    organizationId: row.organizationId,
    type,
    payload: {
      data: standardData(facts),
      simple: {
        scheduleId: row.id,
        name: row.name,
        projectId: row.projectId,
        projectName: project.name,
        cronExpression: row.cron,
        timezone: row.timezone,
        enabled: row.enabled,
        nextRunAt: nextRunShown(row, facts.now)?.toISOString() ?? null,
        createdBy: { id: row.createdById, email: row.createdByEmail },
      },
      filter: { projectId: row.projectId },
    },
  };
}

type RunTrigger = 'scheduled' | 'manual' | 'api';

export function scheduleTriggered(
  facts: ScheduleFacts,
  { backupId, trigger }: { backupId: string; trigger: RunTrigger },
): OutboxEvent {
  return runEvent('schedule.triggered', facts, trigger, { backupId });
}

export function scheduleFailed(facts: ScheduleFacts, reason: string, expectedAt: Date): OutboxEvent {
  return runEvent('schedule.failed', facts, 'scheduled', { reason, expectedAt: expectedAt.toISOString() });
}

function runEvent(type: string, facts: ScheduleFacts, trigger: RunTrigger, more: Record<string, unknown>): OutboxEvent {
  return {
    organizationId: facts.row.organizationId,
    type,
    payload: {
      data: { ...standardData(facts), ...more },
      metadata: { trigger, scheduleId: facts.row.id },
      filter: { projectId: facts.row.projectId, trigger },
    },
  };
}

function standardData({ row, project, now }: ScheduleFacts): Record<string, unknown> {
  return {
    schedule: {
      id: row.id,
      name: row.name,
      projectId: row.projectId,
      cronExpression: row.cron,
      timezone: row.timezone,
      enabled: row.enabled,
      nextRunAt: nextRunShown(row, now)?.toISOString() ?? null,
    },
    project: presentProjectSummary(project),
  };
}
