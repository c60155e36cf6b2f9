import { z } from 'zod';
import { daySeconds, hourSeconds } from '../../platform/durations.ts';
import { defineJob, type JobSettings, type RunningJob } from '../../platform/queue.ts';

const ofBackup = z.object({ organizationId: z.string(), backupId: z.string() });
/** Work that was admitted. It does nothing once its record was admitted again. */
const ofAdmission = ofBackup.extend({ admission: z.number().optional() });
/**
 * A job whose worker dies is tried again; that alone must never use up its attempts. The jobs count real errors
 * themselves.
 */
const retryLimit = 1000;
/** The queue's limit; a longer range continues from its checkpoint. */
const timeoutSeconds = daySeconds;
const common = { schema: ofBackup, retryLimit, retryDelaySeconds: 1, timeoutSeconds, exclusive: true };
/**
 * Work that nobody waits for: it needs no admission, uses at most half of the places, and is continued later when it
 * takes too long.
 */
const sideWork = { perOrganizationMax: 2, timeoutSeconds: 6 * hourSeconds };
const admitted = { ...common, schema: ofAdmission };

export type BackupJobData = z.infer<typeof ofAdmission>;

/** Fixes the snapshot time and the ranges. */
export const planBackupJob = defineJob({ ...admitted, name: 'backup-plan' });
/** Reads one range and stores its segments. */
export const runRangeJob = defineJob({ ...common, name: 'backup-range', schema: ofBackup.extend({ range: z.int() }) });
/** Writes the manifest once every range is complete. */
export const finishBackupJob = defineJob({ ...common, name: 'backup-finish' });
/** Removes what a backup left in its destinations: after a failure, a cancellation or a deletion. */
export const removeObjectsJob = defineJob({
  ...common,
  ...sideWork,
  name: 'backup-remove',
  schema: ofBackup.extend({
    /**
     * For a backup that was never completed: the destinations that kept something at the last attempt; absent at first.
     */
    left: z.array(z.string()).optional(),
    /**
     * It was cancelled while its manifest was written. The manifest is removed too, although it makes the backup whole.
     */
    isWithdrawn: z.boolean().optional(),
    /** How many attempts there were before. */
    looks: z.number().optional(),
  }),
  retryLimit: 100,
  retryDelaySeconds: 10,
});
export const verifyBackupJob = defineJob({ ...admitted, name: 'backup-verify' });
/** Merges a chain into a full backup without reading the source. */
export const mergeBackupJob = defineJob({ ...admitted, name: 'backup-merge' });
export const importBackupJob = defineJob({ ...admitted, name: 'backup-import' });
export type RemoveObjects = RunningJob<z.infer<typeof removeObjectsJob.schema>>;
const movedFrom = z.object({ organizationId: z.string(), storageDestinationIds: z.array(z.string()) });
/** The organization a backup came from, and the destinations it had there. */
export type MovedFrom = z.infer<typeof movedFrom>;
/** Writes the newly wrapped key into the manifests of a backup's copies. */
export const rewrapManifestJob = defineJob({
  ...common,
  ...sideWork,
  name: 'backup-rewrap',
  schema: ofBackup.extend({ movedFrom: movedFrom.optional() }),
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
