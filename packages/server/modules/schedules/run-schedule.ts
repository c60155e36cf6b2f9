import type { Caller } from '../../platform/principal.ts';
import { admitBackups, backupStore, destinationsOf, scheduleBackupsStore } from '../backups/index.ts';
import { projectStore } from '../projects/index.ts';
import type { SchedulesContext } from './context.ts';
import { scheduledBackup } from './due/scheduled-backup.ts';
import { runStore } from './run-store.ts';
import { scheduleTriggered } from './schedule-events.ts';
import { scheduleStore } from './schedule-store.ts';

const noneSet = 'is set neither in the schedule nor, as the default, in the organization; set it in one of them';

/** Runs a schedule by hand, independent of its due times. Returns the id of its backup. */
export async function runSchedule(context: SchedulesContext, caller: Caller, scheduleId: string): Promise<string> {
  const { platform, audit } = context.backups;
  const organizationId = caller.organization.id;
  const backupId = platform.ids.next('bkp', caller.origin.newId);
  await platform.database.tenant(organizationId, async (transaction) => {
    const row = await scheduleStore.lock(transaction, organizationId, scheduleId);
    if (caller.origin.newId && (await backupStore.findAny(transaction, organizationId, backupId))) return;
    const project = await projectStore.get(transaction, organizationId, row.projectId);
    const named = { storageDestinationIds: row.storageDestinationIds };
    const destinationIds = await destinationsOf(context.backups, transaction, organizationId, named, noneSet);
    const now = platform.clock.now();
    const number = row.runCount + 1;
    const run = {
      id: platform.ids.next('run'),
      organizationId,
      scheduleId,
      dueAt: now,
      byHand: true,
      startedAt: now,
      status: 'triggered' as const,
      backupId,
      number,
      createdAt: now,
    };
    const trigger = caller.principal.kind === 'key' ? ('api' as const) : ('manual' as const);
    const owesFull = (await scheduleBackupsStore.owingFull(transaction, [row])).has(row.id);
    const asked = { id: backupId, number, trigger, destinationId: destinationIds[0] as string, owesFull, now };
    await backupStore.insertAll(transaction, [{ row: scheduledBackup(row, project, asked), destinationIds }]);
    // The insert holds the project, so it can no longer be disconnected; before that, it could.
    await projectStore.get(transaction, organizationId, project.id);
    await runStore.insertAll(transaction, [run]);
    const updated = await scheduleStore.update(transaction, organizationId, scheduleId, {
      runCount: number,
      lastRun: { runId: run.id, dueAt: now.toISOString(), status: 'triggered', backupId },
    });
    const facts = { row: updated, project, now };
    await platform.outbox.emit(transaction, scheduleTriggered(facts, { backupId, trigger }));
    await audit.noteCaller(transaction, caller, {
      action: 'backup.created',
      resource: { type: 'backup', id: backupId },
      details: { projectId: project.id, scheduleId, storageDestinationIds: destinationIds },
    });
  });
  await admitBackups(platform);
  return backupId;
}
