import { z } from 'zod';
import { defineJob, type JobSettings } from '../../platform/queue.ts';

/** Workers die and their jobs move on; that alone must never use up the tries of a job. */
const common = { retryLimit: 1000, retryDelaySeconds: 1, timeoutSeconds: 24 * 3600, exclusive: true };

export const runRestoreJob = defineJob({
  ...common,
  name: 'restore-run',
  schema: z.object({ organizationId: z.string(), restoreId: z.string() }),
});
export const runDrillJob = defineJob({
  ...common,
  name: 'drill-run',
  schema: z.object({ organizationId: z.string(), drillId: z.string() }),
});

export const restoreJobs: readonly JobSettings[] = [runRestoreJob, runDrillJob];
