import type { Transaction } from '../../platform/database/database.ts';
import { hourMs, secondMs } from '../../platform/durations.ts';
import type { JobDefinition, JobHandler } from '../../platform/queue.ts';
import { postponable } from '../jobs/index.ts';
import { type Module, worker } from '../module.ts';
import type { ProjectRow } from '../projects/index.ts';
import { type OpenChainOptions, type OpenedChain, openChainOf } from './contents/open-chain.ts';
import { runVerification } from './contents/verify-backup.job.ts';
import type { BackupsContext } from './context.ts';
import { runImport } from './import/import-backup.job.ts';
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
import { keyCopyJob, runKeyCopy } from './keys/key-copies.ts';
import { rewrapManifest } from './keys/rewrap-manifest.job.ts';
import { answerBackup, backupHandlers } from './routes.ts';
import { runFinish } from './run/finish-backup.job.ts';
import { runMerge } from './run/merge-backup.job.ts';
import { runPlan } from './run/plan-backup.job.ts';
import { removeLeftovers, requeueLostBackups } from './run/requeue-lost-work.ts';
import { runRangeWork } from './run/run-range.job.ts';
import { type Overwritten, startSafetyBackup, stopSafetyBackup } from './run/safety-backup.ts';
import { purgeObjects, purgeObjectsJob } from './storage/purge-objects.ts';
import { removeObjects } from './storage/remove-objects.ts';
import { UnknownBackups } from './storage/unknown-backups.ts';

export { type BackupInTime, type BackupRow, backupStore, type WaitingBackup } from './backup-store.ts';
export { removeRow, requireRemovable } from './change-backup.ts';
export { pageOfCollections, pageOfDocuments, searchFilters, withOpened } from './contents/content-pages.ts';
export { type DiffPosition, diffView, type OtherSide, openBackup, openLive } from './contents/diff-backup.ts';
export { exportView } from './contents/export-backup.ts';
export { anyLog, logIdOf } from './contents/manifest-columns.ts';
export { collectionsOf, presentCollections, presentDocument } from './contents/present-contents.ts';
export {
  admitVerifications,
  requestVerification,
  verificationKind,
  verifyAgain,
} from './contents/start-verification.ts';
export { verifyUnread } from './contents/verification-store.ts';
export type { BackupsContext, CapturedMark, CapturedState } from './context.ts';
export { destinationsOf } from './create-backup.ts';
export { type BackupInEvent, emitAnomaly, errorInEvent } from './events/backup-events.ts';
export { backupJobs } from './jobs.ts';
export { createBackupKeys, rewrapBackups, rewrapManifestsIn, ringOf, secretOf, tryUnwrap } from './keys/backup-keys.ts';
export {
  enqueueKeyCopy,
  type KeyCopiesReport,
  keyCopyJob,
  removeKeysFrom,
  renewKeyCopies,
  renewKeysEverywhere,
  storeKeysBeside,
} from './keys/key-copies.ts';
export { loadBackup } from './load-backup.ts';
export { deleteBackupsOf, deleteBackupsOfSchedule, moveBackups } from './move-backups.ts';
export { etaSeconds } from './present-backup.ts';
export { admitBackups, backupKind } from './run/admission.ts';
export { markWaitingForRecovery } from './run/backup-admission-store.ts';
export { EngineResources } from './run/engine-resources.ts';
export { scopeOf } from './scope.ts';
export { conditionOfBackup } from './storage/prove-copy.ts';
export {
  nextPurgeAfterLastAttempt,
  nextPurgeAt,
  purgeJobSettings,
  purgeObjectsHook,
  purgeObjectsJob,
} from './storage/purge-objects.ts';
export { storageTasks } from './storage/storage-tasks.ts';
export { baseStore, hasBaseSql, type WholeBackup } from './summaries/base-store.ts';
export { type MeasuredBackup, measuresStore } from './summaries/measures-store.ts';
export {
  type NewestBackups,
  newestBackups,
  readsBetween,
  readsByProject,
  suspiciousBackups,
} from './summaries/newest-store.ts';
export { type RetentionCandidate, retentionStore, type Verification } from './summaries/retention-store.ts';
export { scheduleBackupsStore } from './summaries/schedule-backups-store.ts';
export {
  backupsByProject,
  bytesPerDocument,
  heldBackup,
  organizationTotals,
  projectStatistics,
  runningJobs,
  storageUsage,
  usersOfDestination,
} from './summaries/statistics-store.ts';
export type { StoredAnomaly } from './tables.ts';
export { warning } from './warnings.ts';

const requeueEveryMs = 5 * secondMs;
const leftoversEveryMs = hourMs;
/** Verifications, merges and imports that one process works on at once. */
const readersAtOnce = 2;
/** Removals, key copies and re-wrapped manifests, each; one organization gets half of it. */
const sideWorkAtOnce = 4;

export interface BackupsModule extends Module {
  /** A backup as the calls answer with it. */
  answer: (organizationId: string, backupId: string) => ReturnType<typeof answerBackup>;
  openChainOf(
    organizationId: string,
    backupId: string,
    signal: AbortSignal,
    options?: OpenChainOptions,
  ): Promise<OpenedChain>;
  /** Starts the backup of what a restore will overwrite; returns its id. */
  startSafetyBackup(organizationId: string, target: ProjectRow, restore: Overwritten): Promise<string>;
  stopSafetyBackup(
    transaction: Transaction,
    restore: { organizationId: string; id: string; safetyBackupId: string | null },
  ): Promise<void>;
}

export function createBackupsModule(context: BackupsContext): BackupsModule {
  const { config, log } = context.platform;
  const atOnce = config.WORKER_CONCURRENCY;
  const unknown = new UnknownBackups(context);
  const aside = <Data extends object>(job: JobDefinition<Data>, places: number, handler: JobHandler<Data>) =>
    worker(job, places, postponable(log, handler));
  return {
    handlers: backupHandlers(context),
    answer: (organizationId, backupId) => answerBackup(context, organizationId, backupId),
    openChainOf: (organizationId, backupId, signal, options) =>
      openChainOf(context, organizationId, backupId, signal, options),
    startSafetyBackup: (organizationId, target, restore) => startSafetyBackup(context, organizationId, target, restore),
    stopSafetyBackup: (transaction, restore) => stopSafetyBackup(context, transaction, restore),
    workers: [
      worker(planBackupJob, 2, (job) => runPlan(context, job)),
      worker(runRangeJob, atOnce, (job) => runRangeWork(context, job)),
      worker(finishBackupJob, 2, (job) => runFinish(context, job)),
      aside(removeObjectsJob, sideWorkAtOnce, (job) => removeObjects(context, unknown, job)),
      aside(keyCopyJob, sideWorkAtOnce, (job) => runKeyCopy(context, job)),
      aside(purgeObjectsJob, 2, (job) => purgeObjects(context, job)),
      worker(verifyBackupJob, readersAtOnce, (job) => runVerification(context, job)),
      worker(mergeBackupJob, readersAtOnce, (job) => runMerge(context, job)),
      worker(importBackupJob, readersAtOnce, (job) => runImport(context, job)),
      aside(rewrapManifestJob, sideWorkAtOnce, (job) => rewrapManifest(context, job)),
    ],
    tasks: [
      { name: 'requeue lost backups', everyMs: requeueEveryMs, run: () => requeueLostBackups(context) },
      { name: 'remove leftovers', everyMs: leftoversEveryMs, run: () => removeLeftovers(context) },
    ],
  };
}
