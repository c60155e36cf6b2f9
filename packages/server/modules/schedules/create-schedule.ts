import type { BodyOf, Operations } from '@holdfast/contract';
import { type Caller, callerId } from '../../platform/principal.ts';
import { requireBelowLimit } from '../organizations/index.ts';
import { projectStore } from '../projects/index.ts';
import { firstRun, fullEveryDefault, requireDestinations, requireExclusions } from './check-settings.ts';
import type { SchedulesContext } from './context.ts';
import { scheduleChanged } from './schedule-events.ts';
import { type ScheduleRow, scheduleStore } from './schedule-store.ts';
import { schedulesLimit } from './schedules-limit.ts';

type Request = BodyOf<Operations['createSchedule']>;

export async function createSchedule(
  context: SchedulesContext,
  caller: Caller,
  request: Request,
): Promise<ScheduleRow> {
  const { platform, audit } = context.backups;
  const organizationId = caller.organization.id;
  const { principal } = caller;
  const id = platform.ids.next('sch', caller.origin.newId);
  return platform.database.tenant(organizationId, async (transaction) => {
    const made = caller.origin.newId && (await scheduleStore.find(transaction, organizationId, id));
    if (made) return made;
    await requireBelowLimit(transaction, organizationId, schedulesLimit(platform.config));
    const project = await projectStore.lock(transaction, organizationId, request.projectId);
    const organization = (await context.organizations.activeOf(transaction, [organizationId])).get(organizationId);
    const timezone = request.timezone ?? organization?.timezone ?? 'UTC';
    const now = platform.clock.now();
    requireExclusions(request);
    const named = request.storageDestinationIds ?? [request.storageDestinationId ?? []].flat();
    const row = await scheduleStore.insert(transaction, {
      id,
      organizationId,
      projectId: project.id,
      name: request.name,
      cron: request.cron,
      timezone,
      enabled: request.enabled,
      type: request.type,
      fullEvery: request.fullEvery ?? (request.type === 'full' ? null : fullEveryDefault),
      collections: request.collections,
      excludeCollections: request.excludeCollections,
      includeSubcollections: request.includeSubcollections,
      storageDestinationIds: await requireDestinations(transaction, organizationId, named),
      retentionDays: request.retention ?? null,
      retentionPolicy: request.retentionPolicy ?? null,
      catchUp: request.catchUp,
      missedAfterMinutes: request.missedAfterMinutes,
      drillEvery: request.drillEvery ?? null,
      verifyEvery: request.verifyEvery ?? null,
      nextRunAt: firstRun({ enabled: request.enabled, cron: request.cron, timezone }, now),
      createdById: callerId(principal),
      createdByEmail: principal.kind === 'anonymous' ? null : principal.email,
      createdAt: now,
      updatedAt: now,
    });
    await platform.outbox.emit(transaction, scheduleChanged('schedule.created', { row, project, now }));
    await audit.noteCaller(transaction, caller, {
      action: 'schedule.created',
      resource: { type: 'schedule', id: row.id },
      details: { name: row.name, projectId: project.id, cron: row.cron },
    });
    return row;
  });
}
