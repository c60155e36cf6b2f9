import type { Database, Transaction } from '../../platform/database/database.ts';
import { dayMs, hourMs, later, secondMs } from '../../platform/durations.ts';
import type { Platform } from '../../platform/platform.ts';
import { admitBackups, type BackupRow } from '../backups/index.ts';
import type { Module } from '../module.ts';
import { requireBelowLimit } from '../organizations/index.ts';
import type { ProjectRow } from '../projects/index.ts';
import type { SchedulesContext } from './context.ts';
import { claimDue } from './due/claim-due.ts';
import { correctFarDueTimes } from './due/correct-far-due-times.ts';
import { reportLateStarts } from './due/report-late-starts.ts';
import { applyRetention } from './retention/apply-retention.ts';
import { retentionCheckStore } from './retention/retention-check-store.ts';
import { scheduleHandlers } from './routes.ts';
import { runStore } from './run-store.ts';
import { scheduleStore } from './schedule-store.ts';
import { schedulesLimit } from './schedules-limit.ts';

export { afterBackup } from './after-backup.ts';
export type { SchedulesContext } from './context.ts';
export { parseCron } from './cron/cron-expression.ts';
export { lastDueTimes } from './cron/due-times.ts';
export { nextRun } from './cron/next-run.ts';
export { deleteSchedulesOf } from './delete-schedule.ts';
export { claimDueOfProject, dueOfProject } from './due/claim-due.ts';
export { typeOfRun } from './due/scheduled-backup.ts';
export { recordAnomaly } from './retention/anomalies.ts';
export { retentionCheckStore } from './retention/retention-check-store.ts';
export { type MeasuredSchedule, type ScheduleSummary, scheduleStore } from './schedule-store.ts';

/** Schedules claimed in one transaction. */
const claimedAtOnce = 250;
const runsKeptDays = 90;
const runsPerStatement = 5000;

export function createSchedulesModule(context: SchedulesContext): Module {
  return {
    handlers: scheduleHandlers(context),
    tasks: [
      { name: 'schedules', everyMs: secondMs, everywhere: true, run: (signal) => startDue(context, signal) },
      {
        name: 'runs that have not begun',
        everyMs: 20 * secondMs,
        run: async () => void (await reportLateStarts(context)),
      },
      { name: 'due times far away', everyMs: hourMs, run: (signal) => correctFarDueTimes(context, signal) },
      {
        name: 'retention',
        everyMs: 5 * secondMs,
        removesByAge: true,
        run: async (signal) => void (await applyRetention(context, signal)),
      },
      { name: 'schedule runs', everyMs: hourMs, removesByAge: true, run: (signal) => removeOldRuns(context, signal) },
    ],
  };
}

/** Starts everything that is due, in batches. When nothing is due, this costs one index lookup. */
async function startDue(context: SchedulesContext, signal: AbortSignal): Promise<void> {
  let taken = 0;
  for (let count = claimedAtOnce; count === claimedAtOnce && !signal.aborted; taken += count)
    count = await claimDue(context, claimedAtOnce);
  if (taken > 0) await admitBackups(context.backups.platform);
}

async function removeOldRuns(context: SchedulesContext, signal: AbortSignal): Promise<void> {
  const { database, clock } = context.backups.platform;
  const before = later(clock.now(), -runsKeptDays * dayMs);
  for (let removed = runsPerStatement; removed === runsPerStatement && !signal.aborted; )
    removed = await database.system((transaction) => runStore.removeBefore(transaction, before, runsPerStatement));
}

/** Whether a backup is full only because a schedule of increments takes a full backup now and then. */
export async function isPeriodicFull(
  database: Database,
  { organizationId, scheduleId }: Pick<BackupRow, 'organizationId' | 'scheduleId'>,
): Promise<boolean> {
  if (scheduleId === null) return false;
  const schedule = await database.tenant(organizationId, (transaction) =>
    scheduleStore.find(transaction, organizationId, scheduleId),
  );
  return schedule?.type === 'incremental';
}

/**
 * Moves schedules with their project, disabled: the other organization decides what they may do there. Returns their
 * ids.
 */
export async function moveSchedules(
  { config, clock }: Pick<Platform, 'config' | 'clock'>,
  transaction: Transaction,
  project: ProjectRow,
  toOrganizationId: string,
): Promise<string[]> {
  const { organizationId, id } = project;
  const coming = (await scheduleStore.ofProject(transaction, organizationId, id)).length;
  const whose = 'The other organization';
  if (coming > 0) await requireBelowLimit(transaction, toOrganizationId, schedulesLimit(config), { coming, whose });
  const moved = await scheduleStore.move(transaction, organizationId, id, toOrganizationId, clock.now());
  await retentionCheckStore.move(transaction, project.id, toOrganizationId);
  return moved;
}
