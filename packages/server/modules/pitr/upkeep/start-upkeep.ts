import type { Transaction } from '../../../platform/database/database.ts';
import { dayMs } from '../../../platform/durations.ts';
import { admitBackups } from '../../backups/index.ts';
import { projectStore } from '../../projects/index.ts';
import { type DestinationRow, storageStore } from '../../storage/index.ts';
import type { PitrContext } from '../context.ts';
import { coverageOfLog, isReachable } from '../coverage.ts';
import { requestBase } from '../enable-pitr.ts';
import { reconcileJob } from '../jobs.ts';
import { keepManifestOfLocked } from '../log-manifest.ts';
import { type LogKey, type LogRow, pitrStore } from '../pitr-store.ts';
import { segmentStore } from '../segment-store.ts';
import { retainedFrom } from './retained-from.ts';

const dueAtOnce = 20;
/** With fewer segments than this, the log is read quickly enough on top of its old base. */
const compactSegmentsMin = 100;

/** Starts the nightly comparisons and compactions that are due, and looks at the locks of those logs. */
export async function startUpkeep(context: PitrContext, signal: AbortSignal): Promise<void> {
  const { database, clock, queue } = context.backups.platform;
  const now = clock.now();
  await database.system(async (transaction) => {
    for (const log of await pitrStore.due(transaction, 'reconcile', now, dueAtOnce)) {
      const again = new Date(now.getTime() + dayMs);
      await pitrStore.update(transaction, log.organizationId, log.projectId, { reconcileDueAt: again });
      await queue.enqueue(transaction, reconcileJob, { ...log }, { key: log.projectId });
    }
  });
  const due = await database.system((transaction) => pitrStore.due(transaction, 'compact', now, dueAtOnce));
  for (const log of due) {
    await keepManifestOfLocked(context, log, signal).catch((error: unknown) => {
      if (signal.aborted) throw error;
      context.backups.platform.log.warn({ err: error, ...log }, 'the lock of a log could not be looked at');
    });
    await compactIfWorthwhile(context, log, now).catch((error: unknown) => {
      context.backups.platform.log.warn({ err: error, ...log }, 'a log could not be compacted; tried again tomorrow');
      return postponeCompaction(context, log, now);
    });
  }
}

/** Failed logs must not come first again: each run handles only so many. */
async function postponeCompaction(context: PitrContext, { organizationId, projectId }: LogKey, now: Date) {
  const compactDueAt = new Date(now.getTime() + dayMs);
  await context.backups.platform.database.tenant(organizationId, (transaction) =>
    pitrStore.update(transaction, organizationId, projectId, { compactDueAt }),
  );
}

async function compactIfWorthwhile(context: PitrContext, log: LogKey, now: Date): Promise<void> {
  const { organizationId, projectId } = log;
  await context.backups.platform.database.tenant(organizationId, async (transaction) => {
    const row = await pitrStore.lock(transaction, organizationId, projectId);
    if (!row?.enabled) return;
    await pitrStore.update(transaction, organizationId, projectId, { compactDueAt: new Date(now.getTime() + dayMs) });
    if (!(await context.backups.organizations.active(transaction, organizationId))) return;
    const coverage = await coverageOfLog(transaction, row);
    const base = coverage.bases.at(-1);
    if (!base || !isReachable(row.coveredThrough, coverage)) return;
    const keys = await segmentStore.keysBetween(transaction, row.logId, base.snapshotTime, row.coveredThrough);
    // Old time can be removed only when a base of the log's own covers its end.
    const own = coverage.bases.findLast(({ trigger, isSound }) => trigger === 'pitr' && isSound);
    const place = await storageStore.find(transaction, organizationId, row.storageDestinationId);
    const isOld = !own || own.snapshotTime < retainedFrom({ ...row, retentionDays: daysOfBase(row, place) }, now);
    if (keys.length >= compactSegmentsMin || (isOld && keys.length > 0))
      await requestCompaction(context, transaction, row);
  });
  await admitBackups(context.backups.platform);
}

/** Locked segments are useless without their base, so a base is renewed while at least half of its lock is left. */
function daysOfBase({ retentionDays }: LogRow, place: DestinationRow | undefined): number {
  return place?.objectLock ? Math.min(retentionDays, place.objectLock.days / 2) : retentionDays;
}

/** Merges base and log into a full backup, so that a recovery has to read less. */
async function requestCompaction(context: PitrContext, transaction: Transaction, row: LogRow): Promise<void> {
  const project = await projectStore.get(transaction, row.organizationId, row.projectId);
  await requestBase(context, transaction, project, row, 'synthetic');
}
