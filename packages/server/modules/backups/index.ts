import { type Module, worker } from '../module.ts';
import type { ProjectRow } from '../projects/index.ts';
import type { BackupsContext } from './context.ts';
import { runFinish } from './finish-backup.job.ts';
import { runImport } from './import-backup.job.ts';
import {
  finishBackupJob,
  importBackupJob,
  mergeBackupJob,
  planBackupJob,
  removeObjectsJob,
  rewrapManifestJob,
  runRangeJob,
  verifyBackupJob,
} from './jobs.ts';
import { runMerge } from './merge-backup.job.ts';
import { type OpenedChain, openChainOf } from './open-chain.ts';
import { runPlan } from './plan-backup.job.ts';
import { purgeObjects, purgeObjectsJob } from './purge-objects.ts';
import { removeObjects } from './remove-objects.ts';
import { rewrapManifest } from './rewrap-manifest.job.ts';
import { backupHandlers } from './routes.ts';
import { runRangeWork } from './run-range.job.ts';
import { type Overwritten, startSafetyBackup } from './safety-backup.ts';
import { runVerification } from './verify-backup.job.ts';
import { removeLeftovers, watchBackups } from './watch.ts';

export { admitBackups } from './admission.ts';
export { tellError } from './backup-events.ts';
export { createBackupKeys, rewrapBackups } from './backup-keys.ts';
export { type BackupRow, backupStore } from './backup-store.ts';
export type { BackupKeys, BackupsContext, OrganizationFacts } from './context.ts';
export { mayPass } from './end-backup.ts';
export { EngineRoom } from './engine-room.ts';
export { backupJobs } from './jobs.ts';
export { followJob } from './live-events.ts';
export { deleteBackupsOf, moveBackups } from './move-backups.ts';
export { purgeObjectsHook, purgeObjectsJob } from './purge-objects.ts';
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
const leftoversEveryMs = 3_600_000;

export interface BackupsModule extends Module {
  openChainOf(organizationId: string, backupId: string, signal: AbortSignal): Promise<OpenedChain>;
  /** Saves what a restore is about to overwrite; returns the id of the backup to wait for. */
  startSafetyBackup(organizationId: string, target: ProjectRow, restore: Overwritten): Promise<string>;
}

export function createBackupsModule(context: BackupsContext): BackupsModule {
  const atOnce = context.platform.config.WORKER_CONCURRENCY;
  return {
    handlers: backupHandlers(context),
    openChainOf: (organizationId, backupId, signal) => openChainOf(context, organizationId, backupId, signal),
    startSafetyBackup: (organizationId, target, restore) => startSafetyBackup(context, organizationId, target, restore),
    workers: [
      worker(planBackupJob, 2, (job) => runPlan(context, job)),
      worker(runRangeJob, atOnce, (job) => runRangeWork(context, job)),
      worker(finishBackupJob, 2, (job) => runFinish(context, job)),
      worker(removeObjectsJob, 2, (job) => removeObjects(context, job)),
      worker(purgeObjectsJob, 1, (job) => purgeObjects(context, job)),
      worker(verifyBackupJob, 1, (job) => runVerification(context, job)),
      worker(mergeBackupJob, 1, (job) => runMerge(context, job)),
      worker(importBackupJob, 1, (job) => runImport(context, job)),
      worker(rewrapManifestJob, 2, (job) => rewrapManifest(context, job)),
    ],
    tasks: [
      { name: 'watch backups', everyMs: watchEveryMs, run: () => watchBackups(context) },
      { name: 'remove leftovers', everyMs: leftoversEveryMs, run: () => removeLeftovers(context) },
    ],
  };
}
