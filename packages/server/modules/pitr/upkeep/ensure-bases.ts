import type { Transaction } from '../../../platform/database/database.ts';
import { minuteMs } from '../../../platform/durations.ts';
import { forEachByOrganization } from '../../../platform/for-each-by-organization.ts';
import { admitBackups, type BackupRow, baseStore } from '../../backups/index.ts';
import type { StoredError } from '../../job-error.ts';
import { missingBaseOf } from '../../notifications/index.ts';
import { type ProjectRow, projectStore } from '../../projects/index.ts';
import type { PitrContext } from '../context.ts';
import { coverageOfLog, isOpen, isReachable } from '../coverage.ts';
import { requestBase } from '../enable-pitr.ts';
import { type LogKey, pitrStore } from '../pitr-store.ts';

/** A base that failed is requested again after this long; after transient errors sooner, for the first times. */
const baseAgainMs = 10 * minuteMs;
const failuresCounted = 5;
/** How much the clocks of workers may differ. */
const clocksApartMs = minuteMs;

/**
 * Requests a new base when the last one failed, was deleted, or lies before a gap with unknown deletions: without a
 * base the log is useless.
 */
export async function ensureBases(context: PitrContext, signal: AbortSignal): Promise<void> {
  const { database, log } = context.backups.platform;
  let isAsked = false;
  const keys = await database.system((transaction) => pitrStore.all(transaction, { onlyEnabled: true }));
  await forEachByOrganization(
    keys,
    signal,
    async (key) => {
      isAsked = (await ensureBaseOf(context, key)) || isAsked;
    },
    (error, key) => log.warn({ err: error, ...key }, 'a log could not be given a base; tried again later'),
  );
  if (isAsked) await admitBackups(context.backups.platform);
}

/** Requests a base if the log needs one; returns whether it did. */
export async function ensureBaseOf(context: PitrContext, { organizationId, projectId }: LogKey): Promise<boolean> {
  const { database, clock } = context.backups.platform;
  return database.tenant(organizationId, async (transaction) => {
    const row = await pitrStore.find(transaction, organizationId, projectId);
    if (!row?.enabled) return false;
    const coverage = await coverageOfLog(transaction, row);
    if (isReachable(row.coveredThrough, coverage)) {
      await context.troubles.end(transaction, organizationId, ['pitr.stopped'], missingBaseOf(projectId));
      return false;
    }
    if (!(await context.backups.organizations.active(transaction, organizationId))) return false;
    const project = await projectStore.findKept(transaction, organizationId, projectId);
    if (!project) return false;
    if (coverage.baseError) await reportMissingBase(context, transaction, project, coverage.baseError);
    const now = clock.now();
    const soon = new Date(now.getTime() + clocksApartMs);
    const tried = await baseStore.newestForLog(transaction, organizationId, projectId, failuresCounted, soon);
    const [last] = tried;
    const isFresh = last && now.getTime() - triedAt(last, now).getTime() < pauseAfter(tried);
    // A new base may be later than the captured time; then capture only has to reach it.
    if (
      last &&
      (isOpen(last) || (isFresh && last.status !== 'completed') || (last.snapshotTime ?? '') > row.coveredThrough)
    )
      return false;
    await requestBase(context, transaction, project, row);
    return true;
  });
}

/** A clock that ran ahead may have left times in the future; these are ignored. */
function triedAt({ createdAt, completedAt }: BackupRow, now: Date): Date {
  return completedAt !== null && completedAt <= now ? completedAt : createdAt;
}

/** After a transient error, a base is tried again after one minute, two, four and so on. */
function pauseAfter(tried: readonly BackupRow[]): number {
  if (!tried[0]?.error?.retryable) return baseAgainMs;
  const others = tried.findIndex(({ status }) => status !== 'failed');
  const failures = others < 0 ? tried.length : others;
  return Math.min(baseAgainMs, minuteMs * 2 ** (failures - 1));
}

/** Reports that changes are captured but cannot be reached, which is as bad as no capture. */
async function reportMissingBase(
  { troubles }: PitrContext,
  transaction: Transaction,
  { id, name, organizationId }: ProjectRow,
  { message, advice }: StoredError,
): Promise<void> {
  await troubles.begin(transaction, organizationId, 'pitr.stopped', missingBaseOf(id), {
    title: `Captured moments of ${name} cannot be reached`,
    detail: message,
    advice,
    page: `/projects/${id}`,
  });
}
