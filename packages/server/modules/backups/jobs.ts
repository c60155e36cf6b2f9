import { z } from 'zod';
import { defineJob, type JobSettings } from '../../platform/queue.ts';

const ofBackup = z.object({ organizationId: z.string(), backupId: z.string() });
/** Workers die and their jobs move on; that alone must never use up the tries of a job. Real faults are counted by the jobs themselves. */
const retryLimit = 1000;
/** The queue's most; a range that takes longer goes on from its checkpoint. */
const timeoutSeconds = 24 * 3600;
const common = { schema: ofBackup, retryLimit, retryDelaySeconds: 1, timeoutSeconds, exclusive: true };

/** Fixes the snapshot time and the ranges. */
export const planBackupJob = defineJob({ ...common, name: 'backup-plan' });
/** Reads one range and stores its segments. */
export const runRangeJob = defineJob({ ...common, name: 'backup-range', schema: ofBackup.extend({ range: z.int() }) });
/** Writes the manifest once every range is complete. */
export const finishBackupJob = defineJob({ ...common, name: 'backup-finish' });
/** Removes what a backup left in its destinations: after a failure, a cancellation or a deletion. */
export const removeObjectsJob = defineJob({ ...common, name: 'backup-remove', retryLimit: 100, retryDelaySeconds: 10 });
export const verifyBackupJob = defineJob({ ...common, name: 'backup-verify' });
/** Merges a chain into a full backup without reading the source. */
export const mergeBackupJob = defineJob({ ...common, name: 'backup-merge' });
export const importBackupJob = defineJob({ ...common, name: 'backup-import' });
/** Writes the newly wrapped key into the manifests of a backup's copies. */
export const rewrapManifestJob = defineJob({
  ...common,
  name: 'backup-rewrap',
  retryLimit: 100,
  retryDelaySeconds: 10,
});

export const backupJobs: readonly JobSettings[] = [
  planBackupJob,
  runRangeJob,
  finishBackupJob,
  removeObjectsJob,
  verifyBackupJob,
  mergeBackupJob,
  importBackupJob,
  rewrapManifestJob,
];
