import { requireTimeAgrees } from '../../../platform/clock-agreement.ts';
import type { Transaction } from '../../../platform/database/database.ts';
import { minuteMs } from '../../../platform/durations.ts';
import type { PeriodicTask } from '../../../platform/periodic.ts';
import type { OrganizationsContext } from '../context.ts';
import { listExpired, lockForPurge, rememberPurged } from '../organization-store.ts';
import { removeEverything, removeWaitingJobs } from './purge-store.ts';

const purgedPerRunMax = 50;

/**
 * Removes everything of an organization, its keys included, in one system transaction. Copies of its backups that
 * survive elsewhere can then no longer be read. Its audit log is removed too, so the service's own log reports the
 * purge.
 */
export async function purgeOrganization(
  context: OrganizationsContext,
  transaction: Transaction,
  organizationId: string,
  reason: string,
): Promise<void> {
  if (!(await lockForPurge(transaction, organizationId))) return;
  await removeWaitingJobs(transaction, organizationId);
  for (const hook of context.later.purgeHooks) await hook(transaction, organizationId);
  const removed = await removeEverything(transaction, organizationId);
  await rememberPurged(transaction, organizationId, context.clock.now());
  transaction.onCommit(() =>
    context.log.info({ organizationId, reason, removed }, 'an organization was purged and its keys destroyed'),
  );
}

/**
 * Purges organizations after their recovery deadline, each in its own transaction; a failure does not stop the others.
 */
export function purgeTask(context: OrganizationsContext): PeriodicTask {
  return {
    name: 'purge organizations',
    everyMs: minuteMs,
    removesByAge: true,
    run: async (signal) => {
      const expired = await context.database.system((transaction) =>
        listExpired(transaction, context.clock.now(), purgedPerRunMax),
      );
      const failures: unknown[] = [];
      for (const organizationId of expired) {
        if (signal.aborted) break;
        await context.database
          .system((transaction) => purgeExpired(context, transaction, organizationId))
          .catch((error: unknown) => {
            failures.push(error);
            context.log.warn({ err: error, organizationId }, 'an organization could not be purged; tried again later');
          });
      }
      // The run counts as failed, so that the health report shows it.
      if (failures.length > 0) throw failures[0];
    },
  };
}

/** Checks again under the lock: the owner may have recovered it in the meantime. */
async function purgeExpired(
  context: OrganizationsContext,
  transaction: Transaction,
  organizationId: string,
): Promise<void> {
  const row = await lockForPurge(transaction, organizationId);
  const now = context.clock.now();
  if (!row?.deletedAt || !row.recoveryDeadline || row.recoveryDeadline > now) return;
  await requireTimeAgrees(now, context.clock, transaction);
  await purgeOrganization(context, transaction, organizationId, 'not recovered in time');
}
