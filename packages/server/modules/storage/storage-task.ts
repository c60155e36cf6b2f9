import { z } from 'zod';
import { defineJob, type JobSettings } from '../../platform/queue.ts';

/** A rescan, sweep or migration; each can be repeated without harm, so a dead worker's is simply done again. */
export const storageTaskJob = defineJob({
  name: 'storage-task',
  schema: z.object({ organizationId: z.string(), taskId: z.string() }),
  retryLimit: 5,
  retryDelaySeconds: 5,
  timeoutSeconds: 24 * 3600,
});

/** A look at one destination. */
export const checkStorageJob = defineJob({
  name: 'storage-check',
  schema: z.object({ organizationId: z.string(), storageDestinationId: z.string() }),
  retryLimit: 1,
  retryDelaySeconds: 5,
  timeoutSeconds: 300,
  exclusive: true,
});

export const storageJobs: readonly JobSettings[] = [storageTaskJob, checkStorageJob];
