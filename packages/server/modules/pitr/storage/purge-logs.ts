import { isEngineError, logPrefix } from '@holdfast/engine';
import { z } from 'zod';
import { daySeconds } from '../../../platform/durations.ts';
import { defineJob, type Queue, type RunningJob } from '../../../platform/queue.ts';
import type { PurgeHook } from '../../organizations/index.ts';
import { isWithoutCredentials, type StoreOpener, storageStore } from '../../storage/index.ts';
import type { PitrContext } from '../context.ts';
import { pitrStore } from '../pitr-store.ts';
import { removeLogObjects } from '../upkeep/remove-log.job.ts';

/** Removes the logs of an organization that no longer exists. The job carries all it needs, because no row is left to ask. */
export const purgeLogsJob = defineJob({
  name: 'organization-logs-remove',
  schema: z.object({
    purgedOrganizationId: z.string(),
    destination: z.custom<Parameters<StoreOpener['open']>[0]>((value) => typeof value === 'object' && value !== null),
    logIds: z.array(z.string()),
  }),
  retryLimit: 1000,
  retryDelaySeconds: 10,
  timeoutSeconds: daySeconds,
  perOrganizationMax: 1,
});

/** Enqueued in the transaction that removes the rows. */
export function purgeLogsHook(queue: Queue): PurgeHook {
  return async (transaction, organizationId) => {
    const logs = await pitrStore.ofOrganization(transaction, organizationId);
    const all = new Map([...logs, ...logs.flatMap(({ joined }) => joined)].map((one) => [one.logId, one]));
    for (const { logId } of all.values()) {
      const owner = await pitrStore.findByLog(transaction, logId);
      if (owner && owner.organizationId !== organizationId) all.delete(logId);
    }
    const byDestination = Map.groupBy(all.values(), ({ storageDestinationId }) => storageDestinationId);
    for (const destination of await storageStore.openable(transaction, organizationId, [...byDestination.keys()])) {
      const logIds = byDestination.get(destination.id)!.map(({ logId }) => logId);
      const data = { purgedOrganizationId: organizationId, destination, logIds };
      await queue.enqueue(transaction, purgeLogsJob, data, { organizationId });
    }
  };
}

/** A locked object stays until its lock ends; without its key nobody can read it. */
export async function purgeLogs(
  context: PitrContext,
  job: RunningJob<z.infer<typeof purgeLogsJob.schema>>,
): Promise<void> {
  const { destination, logIds, purgedOrganizationId: organizationId } = job.data;
  const { log } = context.backups.platform;
  if (isWithoutCredentials(destination)) {
    log.warn({ organizationId, logIds }, 'logs of a purged organization stay where it had no credentials');
    return;
  }
  const store = await context.backups.stores.open(destination);
  try {
    for (const logId of logIds)
      await removeLogObjects(store, logId, job).catch((error: unknown) => {
        if (!isEngineError(error, 'STORAGE_PERMISSION_DENIED')) throw error;
        log.warn({ organizationId, prefix: logPrefix(logId) }, 'a bucket kept a log of a purged organization');
      });
  } finally {
    await store.close();
  }
}
