import { z } from 'zod';
import { hourSeconds } from '../../platform/durations.ts';
import { defineJob } from '../../platform/queue.ts';
import { purgeJobSettings } from '../backups/index.ts';
import type { StoreOpener } from '../storage/index.ts';

const ofProject = z.strictObject({ organizationId: z.string(), projectId: z.string() });

/** Removes the objects of a deleted log. */
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

/**
 * Removes the logs of an organization that no longer exists. No row is left to ask, so the job carries all it needs.
 */
export const purgeLogsJob = defineJob({
  name: 'organization-logs-remove',
  schema: z.object({
    purgedOrganizationId: z.string(),
    destination: z.custom<Parameters<StoreOpener['open']>[0]>((value) => typeof value === 'object' && value !== null),
    logIds: z.array(z.string()),
    /** How many attempts there were before. */
    kept: z.number().default(0),
  }),
  ...purgeJobSettings,
});
export type PurgeLogs = z.infer<typeof purgeLogsJob.schema>;

export const pitrJobs = [removeLogJob, reconcileJob, purgeLogsJob];
