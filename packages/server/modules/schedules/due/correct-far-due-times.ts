import { hourMs, later } from '../../../platform/durations.ts';
import type { SchedulesContext } from '../context.ts';
import { parseCron } from '../cron/cron-expression.ts';
import { nextRun } from '../cron/next-run.ts';
import { runStore } from '../run-store.ts';
import { scheduleStore } from '../schedule-store.ts';

/** Most schedules are due within a day; only the others are checked. */
const farMs = 25 * hourMs;
const schedulesAtOnce = 200;

/**
 * A clock that jumped ahead and came back leaves due times far in the future, and nothing would run until then. They
 * are computed again from now. A due time that already has its run is not restored.
 */
export async function correctFarDueTimes(context: SchedulesContext, signal: AbortSignal): Promise<void> {
  for (let after: string | undefined = ''; after !== undefined && !signal.aborted; )
    after = await lookAtSome(context, after);
}

async function lookAtSome(context: SchedulesContext, after: string): Promise<string | undefined> {
  const { database, clock, log } = context.backups.platform;
  return database.system(async (transaction) => {
    const now = clock.now();
    const rows = await scheduleStore.lockDueAfter(transaction, later(now, farMs), after, schedulesAtOnce);
    for (const { id, organizationId, cron, timezone, nextRunAt } of rows) {
      const expected = nextRun(parseCron(cron), timezone, now);
      if (!expected || !nextRunAt || expected >= nextRunAt) continue;
      if (await runStore.isTaken(transaction, id, expected, now)) continue;
      await scheduleStore.update(transaction, organizationId, id, { nextRunAt: expected });
      log.warn(
        { scheduleId: id, was: nextRunAt.toISOString(), nextRunAt: expected.toISOString() },
        'a schedule was due far too late, as after a clock that jumped ahead; it is due on time again',
      );
    }
    return rows.length === schedulesAtOnce ? rows.at(-1)?.id : undefined;
  });
}
