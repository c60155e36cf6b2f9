import type { Transaction } from '../../platform/database/database.ts';
import { hourMs, minuteMs, secondMs } from '../../platform/durations.ts';
import type { JobDefinition, JobHandler } from '../../platform/queue.ts';
import { postponable } from '../jobs/index.ts';
import { type Module, worker } from '../module.ts';
import { CaptureLeases } from './capture/leases.ts';
import type { PitrContext } from './context.ts';
import { coverageOfLog } from './coverage.ts';
import { purgeLogsJob, reconcileJob, removeLogJob } from './jobs.ts';
import { renewManifests } from './log-manifest.ts';
import { pitrStore } from './pitr-store.ts';
import { type noPitr, presentSummary } from './present-pitr.ts';
import { pitrHandlers } from './routes.ts';
import { purgeLogs } from './storage/purge-logs.ts';
import { ensureBases } from './upkeep/ensure-bases.ts';
import { runReconciliation } from './upkeep/reconcile.job.ts';
import { removeLog } from './upkeep/remove-log.job.ts';
import { removeOldLog } from './upkeep/remove-old-log.ts';
import { startUpkeep } from './upkeep/start-upkeep.ts';

export type { PitrContext } from './context.ts';
export { endPitrOf } from './disable-pitr.ts';
export { pitrJobs } from './jobs.ts';
export { rewrapLogs } from './keys.ts';
export { measuredLogs, type ReachedLog } from './measured-logs.ts';
export { basesNeeded, requireNotOnlyBase } from './past/bases-needed.ts';
export { basesRead } from './past/bases-read.ts';
export { capturedDatabase, capturedMark, capturedSince, capturedState } from './past/captured-state.ts';
export { momentsOf } from './past/moments.ts';
export { pitrStore } from './pitr-store.ts';
export { withLogs } from './storage/log-tasks.ts';
export { purgeLogsHook } from './storage/purge-logs.ts';
export { storageContents } from './storage/storage-contents.ts';

/** Point-in-time recovery: capture under leases, the log in the customer's storage, and every view of the past on top. */
export function createPitrModule(context: PitrContext): Module {
  const leases = new CaptureLeases(context);
  const aside = <Data extends object>(job: JobDefinition<Data>, places: number, handler: JobHandler<Data>) =>
    worker(job, places, postponable(context.backups.platform.log, handler));
  return {
    handlers: pitrHandlers(context, () => leases.checkNow()),
    workers: [
      aside(removeLogJob, 2, (job) => removeLog(context, job)),
      aside(purgeLogsJob, 2, (job) => purgeLogs(context, job)),
      aside(reconcileJob, 2, (job) => runReconciliation(context, job)),
    ],
    tasks: [
      { name: 'pitr upkeep', everyMs: 20 * secondMs, run: (signal) => startUpkeep(context, signal) },
      { name: 'pitr bases', everyMs: minuteMs, run: (signal) => ensureBases(context, signal) },
      { name: 'pitr manifests', everyMs: 5 * minuteMs, run: (signal) => renewManifests(context, signal) },
      {
        name: 'pitr retention',
        everyMs: hourMs,
        removesByAge: true,
        run: (signal) => removeOldLog(context, signal),
      },
    ],
    run: async () => {
      leases.start();
      return () => leases.close();
    },
  };
}

/** What projects show about point-in-time recovery. */
export async function pitrOfProjects(
  transaction: Transaction,
  organizationId: string,
  projectIds: readonly string[],
  now: Date,
): Promise<Map<string, typeof noPitr>> {
  const shown = new Map<string, typeof noPitr>();
  for (const projectId of await pitrStore.many(transaction, organizationId, projectIds)) {
    const row = await pitrStore.find(transaction, organizationId, projectId);
    if (row) shown.set(projectId, presentSummary(row, await coverageOfLog(transaction, row), now));
  }
  return shown;
}
