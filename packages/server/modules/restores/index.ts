import { hourMs } from '../../platform/durations.ts';
import { type Module, worker } from '../module.ts';
import type { RestoresContext } from './context.ts';
import { runDrill } from './drills/run-drill.job.ts';
import { runDrillJob, runRestoreJob } from './jobs.ts';
import { expireJournals } from './journal/expire-journals.ts';
import { restoreHandlers } from './routes.ts';
import { admitRestores } from './run/admission.ts';
import { watchRestores } from './run/requeue-lost-work.ts';
import { runRestore } from './run/run-restore.job.ts';

export type { Moments, RestoresContext } from './context.ts';
export { drillLater } from './drills/run-drill.job.ts';
export { restoreJobs } from './jobs.ts';
export { rewrapJournals } from './journal/restore-journal.ts';
export { moveRestores } from './move-restores.ts';
export { noMoments } from './no-moments.ts';
export { restoreStore } from './restore-store.ts';

const expireEveryMs = hourMs;
const watchEveryMs = 5000;

export function createRestoresModule(context: RestoresContext): Module {
  return {
    handlers: restoreHandlers(context),
    workers: [
      worker(runRestoreJob, context.platform.config.WORKER_CONCURRENCY, (job) => runRestore(context, job)),
      worker(runDrillJob, 1, (job) => runDrill(context, job)),
    ],
    tasks: [
      { name: 'expire journals', everyMs: expireEveryMs, run: () => expireJournals(context) },
      {
        name: 'watch restores',
        everyMs: watchEveryMs,
        run: async () => {
          await admitRestores(context.platform);
          await watchRestores(context);
        },
      },
    ],
  };
}
