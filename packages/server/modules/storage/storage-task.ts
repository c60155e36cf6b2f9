import { z } from 'zod';
import { defineJob } from '../../platform/queue.ts';

/** A rescan, sweep or migration; each can be repeated without harm, so a dead worker's is simply done again. */
export const storageTaskJob = defineJob({
  name: 'storage-task',
  schema: z.object({ organizationId: z.string(), taskId: z.string() }),
  retryLimit: 5,
  retryDelaySeconds: 5,
  timeoutSeconds: 24 * 3600,
});
