import type { Transaction } from '../../platform/database/database.ts';
import { hourMs, secondMs } from '../../platform/durations.ts';
import { type Module, worker } from '../module.ts';
import { CaptureLeases } from './capture/leases.ts';
import type { PitrContext } from './context.ts';
import { coverageOfLog } from './coverage.ts';
import { reconcileJob, removeLogJob } from './jobs.ts';
import { pitrStore } from './pitr-store.ts';
import { type noPitr, presentSummary } from './present-pitr.ts';
import { pitrHandlers } from './routes.ts';
import { runReconciliation } from './upkeep/reconcile.job.ts';
import { removeLog } from './upkeep/remove-log.job.ts';
import { removeOldLog, startUpkeep } from './upkeep/upkeep.ts';

export type { PitrContext } from './context.ts';
export { endPitrOf } from './disable-pitr.ts';
export { pitrJobs } from './jobs.ts';
export { rewrapLogs } from './keys.ts';
export { capturedState } from './past/captured-state.ts';
export { momentsOf } from './past/moments.ts';
export { pitrStore } from './pitr-store.ts';

/** Point-in-time recovery: capture under leases, the log in the customer's storage, and every view of the past on top. */
export function createPitrModule(context: PitrContext): Module {
  return {
    handlers: pitrHandlers(context),
    workers: [
      worker(removeLogJob, 2, (job) => removeLog(context, job)),
      worker(reconcileJob, 2, (job) => runReconciliation(context, job)),
    ],
    tasks: [
      { name: 'pitr upkeep', everyMs: 20 * secondMs, run: () => startUpkeep(context) },
      { name: 'pitr retention', everyMs: hourMs, run: (signal) => removeOldLog(context, signal) },
    ],
    run: async () => {
      const leases = new CaptureLeases(context);
      leases.start();
      return () => leases.close();
    },
  };
}

/** What projects show of it. */
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
