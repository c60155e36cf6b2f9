import { type Module, worker } from '../module.ts';
import type { BackupsContext } from './context.ts';
import { runFinish } from './finish-backup.job.ts';
import { finishBackupJob, planBackupJob, removeObjectsJob, runRangeJob, verifyBackupJob } from './jobs.ts';
import { runPlan } from './plan-backup.job.ts';
import { removeObjects } from './remove-objects.ts';
import { backupHandlers } from './routes.ts';
import { runRangeWork } from './run-range.job.ts';
import { runVerification } from './verify-backup.job.ts';
import { watchBackups } from './watch.ts';

export { admitBackups } from './admission.ts';
export { createBackupKeys, rewrapBackups } from './backup-keys.ts';
export { type BackupRow, backupStore } from './backup-store.ts';
export type { BackupKeys, BackupsContext, OrganizationFacts } from './context.ts';
export { EngineRoom } from './engine-room.ts';
export { backupJobs } from './jobs.ts';
export {
  bytesPerDocument,
  organizationTotals,
  projectStatistics,
  runningJobs,
  storageUsage,
  usersOfDestination,
} from './statistics.ts';
export { storageTasks } from './storage-tasks.ts';

const watchEveryMs = 5000;

export function createBackupsModule(context: BackupsContext): Module {
  const atOnce = context.platform.config.WORKER_CONCURRENCY;
  return {
    handlers: backupHandlers(context),
    workers: [
      worker(planBackupJob, 2, (job) => runPlan(context, job)),
      worker(runRangeJob, atOnce, (job) => runRangeWork(context, job)),
      worker(finishBackupJob, 2, (job) => runFinish(context, job)),
      worker(removeObjectsJob, 2, (job) => removeObjects(context, job)),
      worker(verifyBackupJob, 1, (job) => runVerification(context, job)),
    ],
    tasks: [{ name: 'watch backups', everyMs: watchEveryMs, run: () => watchBackups(context) }],
  };
}
