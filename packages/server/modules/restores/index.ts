import { hourMs, secondMs } from '../../platform/durations.ts';
import { requeueLostWork } from '../jobs/index.ts';
import { type Module, worker } from '../module.ts';
import type { RestoresContext } from './context.ts';
import { admitDrills, drillKind } from './drills/admission.ts';
import { runDrill } from './drills/run-drill.job.ts';
import { runDrillJob, runRestoreJob, runRestoreRangeJob } from './jobs.ts';
import { expireJournals } from './journal/expire-journals.ts';
import { runRestoreRange } from './ranges/run-restore-range.job.ts';
import { restoreHandlers } from './routes.ts';
import { admitRestores, restoreKind } from './run/admission.ts';
import { runRestore } from './run/run-restore.job.ts';

export type { Moments } from './context.ts';
export { drillKind } from './drills/admission.ts';
export { drillStore } from './drills/drill-store.ts';
export { requestDrill } from './drills/start-drill.ts';
export { restoreJobs } from './jobs.ts';
export { rewrapJournals } from './journal/restore-journal.ts';
export { backupsRead, momentsRead, moveRestores, openWorkOf, readersOf, safetyBackupsSince } from './open-work.ts';
export { presentDrill } from './present-restore.ts';
export { restoreKind } from './run/admission.ts';

const expireEveryMs = hourMs;
const requeueEveryMs = 5 * secondMs;
const drillsAtOnce = 2;

export function createRestoresModule(context: RestoresContext): Module {
  const { platform } = context;
  return {
    handlers: restoreHandlers(context),
    workers: [
      worker(runRestoreJob, platform.config.WORKER_CONCURRENCY, (job) => runRestore(context, job)),
      // One at a time: a process that took several ranges would keep them from the other processes.
      worker(runRestoreRangeJob, 1, (job) => runRestoreRange(context, job)),
      worker(runDrillJob, drillsAtOnce, (job) => runDrill(context, job)),
    ],
    tasks: [
      { name: 'expire journals', everyMs: expireEveryMs, removesByAge: true, run: () => expireJournals(context) },
      {
        name: 'requeue lost restores',
        everyMs: requeueEveryMs,
        run: async () => {
          await admitRestores(platform);
          await admitDrills(platform);
          await requeueLostWork(platform, restoreKind(platform.queue));
          await requeueLostWork(platform, drillKind(platform.queue));
        },
      },
    ],
  };
}
