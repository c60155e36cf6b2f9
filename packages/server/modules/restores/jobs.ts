import { z } from 'zod';
import { daySeconds } from '../../platform/durations.ts';
import { defineJob, type JobSettings } from '../../platform/queue.ts';

/** A job whose worker dies is tried again; that alone must never use up its attempts. */
const common = { retryLimit: 1000, retryDelaySeconds: 1, timeoutSeconds: daySeconds, exclusive: true };
/** The admission of the record that the job belongs to. The job does nothing once the record was admitted again. */
const admission = z.number().optional();

export const runRestoreJob = defineJob({
  ...common,
  name: 'restore-run',
  schema: z.object({ organizationId: z.string(), restoreId: z.string(), admission }),
});
/** Writes one range of a restore, for the claim under which the ranges were made or taken over. */
export const runRestoreRangeJob = defineJob({
  ...common,
  name: 'restore-range',
  schema: z.object({ organizationId: z.string(), restoreId: z.string(), epoch: z.number() }),
});
export const runDrillJob = defineJob({
  ...common,
  name: 'drill-run',
  schema: z.object({ organizationId: z.string(), drillId: z.string(), admission }),
});

export const restoreJobs: readonly JobSettings[] = [runRestoreJob, runRestoreRangeJob, runDrillJob];
