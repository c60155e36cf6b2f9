import { type Module, worker } from '../module.ts';
import { admitRestores } from './admission.ts';
import type { RestoresContext } from './context.ts';
import { runDrill } from './drill.ts';
import { runDrillJob, runRestoreJob } from './jobs.ts';
import { restoreHandlers } from './routes.ts';
import { runRestore } from './run-restore.job.ts';
import { watchRestores } from './watch.ts';

export type { RestoresContext } from './context.ts';
export { restoreJobs } from './jobs.ts';
export { moveRestores } from './move-restores.ts';
export { restoreStore } from './restore-store.ts';

const watchEveryMs = 5000;

export function createRestoresModule(context: RestoresContext): Module {
  return {
    handlers: restoreHandlers(context),
    workers: [
      worker(runRestoreJob, context.platform.config.WORKER_CONCURRENCY, (job) => runRestore(context, job)),
      worker(runDrillJob, 1, (job) => runDrill(context, job)),
    ],
    tasks: [
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
