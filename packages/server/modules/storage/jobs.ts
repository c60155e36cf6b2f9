import { z } from 'zod';
import { daySeconds } from '../../platform/durations.ts';
import { defineJob, type JobSettings } from '../../platform/queue.ts';

/**
 * A rescan, sweep, purge or migration. Each can be repeated without harm, so the task of a dead worker is simply done
 * again.
 */
export const storageTaskJob = defineJob({
  name: 'storage-task-run',
  schema: z.object({ organizationId: z.string(), taskId: z.string(), admission: z.number().optional() }),
  retryLimit: 1000,
  retryDelaySeconds: 5,
  timeoutSeconds: daySeconds,
  exclusive: true,
});

/**
 * A check of one destination. One that does not answer is postponed a few times, to let others go first, before it is
 * reported.
 */
export const checkStorageJob = defineJob({
  name: 'storage-check',
  schema: z.object({ organizationId: z.string(), storageDestinationId: z.string() }),
  retryLimit: 3,
  retryDelaySeconds: 5,
  timeoutSeconds: 300,
  exclusive: true,
  perOrganizationMax: 2,
});

export const storageJobs: readonly JobSettings[] = [storageTaskJob, checkStorageJob];
