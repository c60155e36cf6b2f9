import { backupStore, scheduleBackupsStore } from '../../backups/index.ts';
import { projectStore } from '../../projects/index.ts';
import type { SchedulesContext } from '../context.ts';
import { runStore } from '../run-store.ts';
import { scheduleFailed } from '../schedule-events.ts';
import { scheduleStore } from '../schedule-store.ts';

const runsPerTick = 100;
const anotherRuns = 'another backup of the project is still running';

/** Reports runs whose backup still waits although it should have begun: workers are down or overloaded. */
export async function reportLateStarts(context: SchedulesContext): Promise<number> {
  const { database, clock, outbox } = context.backups.platform;
  return database.system(async (transaction) => {
    const now = clock.now();
    const late = await runStore.lockNotBegun(transaction, now, runsPerTick);
    for (const run of late) {
      const { organizationId } = run;
      const backup = await backupStore.find(transaction, organizationId, run.backupId ?? '');
      if (backup?.status !== 'pending') {
        await runStore.update(transaction, organizationId, run.id, { beginsBefore: null });
        continue;
      }
      const row = await scheduleStore.get(transaction, organizationId, run.scheduleId);
      const project = await projectStore.findKept(transaction, organizationId, row.projectId);
      const why = (await scheduleBackupsStore.waitsForAnother(transaction, backup)) ? anotherRuns : 'no worker is free';
      const reason = `Its backup has been waiting for ${row.missedAfterMinutes} minutes and has not begun: ${why}.`;
      await runStore.update(transaction, organizationId, run.id, { status: 'missed', reason, beginsBefore: null });
      await scheduleStore.updateLastRun(transaction, organizationId, row.id, {
        runId: run.id,
        dueAt: run.dueAt.toISOString(),
        status: 'missed',
        backupId: run.backupId,
      });
      if (project) await outbox.emit(transaction, scheduleFailed({ row, project, now }, reason, run.dueAt));
    }
    return late.length;
  });
}
