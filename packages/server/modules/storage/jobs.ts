import { z } from 'zod';
import { daySeconds } from '../../platform/durations.ts';
import { defineJob, type JobSettings } from '../../platform/queue.ts';

/** A rescan, sweep, purge or migration; each can be repeated without harm, so a dead worker's is simply done again. */
export const storageTaskJob = defineJob({
  name: 'storage-task-run',
  schema: z.object({ organizationId: z.string(), taskId: z.string(), admission: z.number().optional() }),
  retryLimit: 1000,
  retryDelaySeconds: 5,
  timeoutSeconds: daySeconds,
  exclusive: true,
});

/** A look at one destination. One that does not answer leaves its place to others a few times before its silence is told. */
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
