import type { Transaction } from '../../platform/database/database.ts';
import type { Caller } from '../../platform/principal.ts';
import { requireMayDeleteBackups } from '../../platform/rights.ts';
import { deleteBackupsOfSchedule, retentionStore } from '../backups/index.ts';
import { type ProjectRow, projectStore } from '../projects/index.ts';
import type { SchedulesContext } from './context.ts';
import { presentSchedule, scheduleEtag } from './present-schedule.ts';
import { retentionCheckStore } from './retention/retention-check-store.ts';
import { scheduleChanged } from './schedule-events.ts';
import { type ScheduleSummary, scheduleStore } from './schedule-store.ts';

/**
 * Deletes a schedule. Its backups stay until they expire; with `deleteBackups` they are deleted at once, all or none.
 * Returns how many were deleted.
 */
export async function deleteSchedule(
  context: SchedulesContext,
  caller: Caller,
  scheduleId: string,
  options: { deleteBackups: boolean; requireMatch: (etag: string) => void },
): Promise<number> {
  const { platform, audit } = context.backups;
  const organizationId = caller.organization.id;
  if (options.deleteBackups) requireMayDeleteBackups(caller);
  return platform.database.tenant(organizationId, async (transaction) => {
    const row = await scheduleStore.lock(transaction, organizationId, scheduleId);
    options.requireMatch(scheduleEtag(presentSchedule(row, platform.clock.now())));
    const backups = options.deleteBackups
      ? await deleteBackupsOfSchedule(context.backups, transaction, caller, row)
      : 0;
    const project = await projectStore.findKept(transaction, organizationId, row.projectId);
    await remove(context, transaction, row, project);
    await audit.noteCaller(transaction, caller, {
      action: 'schedule.deleted',
      resource: { type: 'schedule', id: scheduleId },
      details: { name: row.name, projectId: row.projectId, deleteBackups: options.deleteBackups, backups },
    });
    return backups;
  });
}

/** All schedules of a project that is being removed. */
export async function deleteSchedulesOf(
  context: SchedulesContext,
  transaction: Transaction,
  project: ProjectRow,
): Promise<void> {
  for (const row of await scheduleStore.ofProject(transaction, project.organizationId, project.id))
    await remove(context, transaction, row, project);
}

async function remove(
  context: SchedulesContext,
  transaction: Transaction,
  row: ScheduleSummary,
  project: ProjectRow | undefined,
): Promise<void> {
  const { outbox, clock } = context.backups.platform;
  const now = clock.now();
  await retentionStore.keepTerm(transaction, row);
  await scheduleStore.remove(transaction, row.organizationId, row.id);
  await retentionCheckStore.request(transaction, row.organizationId, row.projectId, now);
  const gone = { ...row, enabled: false, nextRunAt: null };
  if (project) await outbox.emit(transaction, scheduleChanged('schedule.deleted', { row: gone, project, now }));
}
