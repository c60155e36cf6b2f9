import { z } from 'zod';
import { daySeconds } from '../../platform/durations.ts';
import { defineJob, type JobSettings } from '../../platform/queue.ts';

/** Workers die and their jobs move on; that alone must never use up the tries of a job. */
const common = { retryLimit: 1000, retryDelaySeconds: 1, timeoutSeconds: daySeconds, exclusive: true };
/** The run of the record that the job belongs to; it does nothing once its record was let in anew. */
const admission = z.number().optional();

export const runRestoreJob = defineJob({
  ...common,
  name: 'restore-run',
  schema: z.object({ organizationId: z.string(), restoreId: z.string(), admission }),
});
/** One range of a restore that has some, for the claim under which it was cut or taken up again. */
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
