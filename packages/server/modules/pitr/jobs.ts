import { z } from 'zod';
import { hourSeconds } from '../../platform/durations.ts';
import { defineJob } from '../../platform/queue.ts';
import { purgeLogsJob } from './storage/purge-logs.ts';

const ofProject = z.strictObject({ organizationId: z.string(), projectId: z.string() });

/** Removes the objects of a log that nobody wants any more. */
export const removeLogJob = defineJob({
  name: 'pitr-log-remove',
  schema: z.strictObject({ organizationId: z.string(), storageDestinationId: z.string(), logId: z.string() }),
  retryLimit: 1000,
  retryDelaySeconds: 10,
  timeoutSeconds: 6 * hourSeconds,
  exclusive: true,
  perOrganizationMax: 1,
});

/** Compares base and log with the database at one instant. */
export const reconcileJob = defineJob({
  name: 'pitr-reconcile',
  schema: ofProject,
  retryLimit: 3,
  retryDelaySeconds: 30,
  timeoutSeconds: 12 * hourSeconds,
  exclusive: true,
  perOrganizationMax: 1,
});

export const pitrJobs = [removeLogJob, reconcileJob, purgeLogsJob];
