import { isEngineError, logContinuesFrom } from '@holdfast/engine';
import { requireTimeAgrees } from '../../../platform/clock-agreement.ts';
import type { Transaction } from '../../../platform/database/database.ts';
import { dayMs, minuteMs } from '../../../platform/durations.ts';
import { forEachByOrganization } from '../../../platform/for-each-by-organization.ts';
import { Problem } from '../../../platform/problem.ts';
import {
  admitBackups,
  type BackupRow,
  backupStore,
  baseStore,
  removeRow,
  requireRemovable,
} from '../../backups/index.ts';
import type { StoredError } from '../../job-error.ts';
import { missingBaseOf } from '../../notifications/index.ts';
import { type ProjectRow, projectStore } from '../../projects/index.ts';
import { admitTasks, type DestinationRow, requestRescan, storageStore } from '../../storage/index.ts';
import type { PitrContext } from '../context.ts';
import { coverageOfLog, isOpen, isReachable } from '../coverage.ts';
import { deleteLogOf, removeOriginals } from '../disable-pitr.ts';
import { requestBase } from '../enable-pitr.ts';
import { reconcileJob } from '../jobs.ts';
import { type OpenedLog, openLog } from '../log-access.ts';
import { keepManifestOfLocked } from '../log-manifest.ts';
import { type LogKey, type LogRow, pitrStore } from '../pitr-store.ts';
import { holdsUnknownLaterTime } from '../storage/unknown-time.ts';
import { retainedFrom } from './retained-from.ts';

const dueAtOnce = 20;
const segmentsAtOnce = 500;
/** With fewer segments than this, the log is read quickly enough on top of its old base. */
const compactSegmentsMin = 100;
/** A base that failed is requested again after this long; after transient errors sooner, for the first times. */
const baseAgainMs = 10 * minuteMs;
const failuresCounted = 5;
/** How much the clocks of workers may differ. */
const clocksApartMs = minuteMs;

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
    const keys = await pitrStore.keysBetween(transaction, row.logId, base.snapshotTime, row.coveredThrough);
    // Old time can be removed only when a base of the log's own covers its end.
    const own = coverage.bases.findLast(({ trigger, isSound }) => trigger === 'pitr' && isSound);
    const place = await storageStore.find(transaction, organizationId, row.storageDestinationId);
    const isOld = !own || own.snapshotTime < retainedFrom({ ...row, retentionDays: daysOfBase(row, place) }, now);
    if (keys.length >= compactSegmentsMin || (isOld && keys.length > 0))
      await requestCompaction(context, transaction, row);
  });
  await admitBackups(context.backups.platform);
}

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

/** Merges base and log into a full backup, so that a recovery has to read less. */
async function requestCompaction(context: PitrContext, transaction: Transaction, row: LogRow): Promise<void> {
  const project = await projectStore.get(transaction, row.organizationId, row.projectId);
  await requestBase(context, transaction, project, row, 'synthetic');
}

/**
 * Removes time that is older than its days, once a base covers its end: segments first, then bases that nobody needs.
 */
export async function removeOldLog(context: PitrContext, signal: AbortSignal): Promise<void> {
  const { database, log } = context.backups.platform;
  const keys = await database.system((transaction) => pitrStore.all(transaction));
  await forEachByOrganization(
    keys,
    signal,
    (key, ownSignal) => removeOldOf(context, key, ownSignal),
    (error, { projectId }) =>
      log.warn({ err: error, projectId }, 'an old part of a log could not be removed; tried again later'),
  );
}

async function removeOldOf(context: PitrContext, key: LogKey, signal: AbortSignal): Promise<void> {
  const { database, clock } = context.backups.platform;
  const { organizationId, projectId } = key;
  const now = clock.now();
  const found = await database.tenant(organizationId, async (transaction) => {
    await requireTimeAgrees(now, clock, transaction);
    const row = await pitrStore.find(transaction, organizationId, projectId);
    const moments = await context.momentsRead(transaction, organizationId, projectId);
    // Time that an open restore reads stays.
    if (!row || moments.length > 0 || !(await mayRemove(context, transaction, key))) return undefined;
    const place = await storageStore.find(transaction, organizationId, row.storageDestinationId);
    return { row, coverage: await coverageOfLog(transaction, row), retentionDays: daysKept(row, place) };
  });
  if (!found) return;
  const { row, coverage, retentionDays } = found;
  const cut = retainedFrom({ ...row, retentionDays }, now);
  if (!row.enabled && row.coveredThrough < cut) return removeWhole(context, row, cut, signal);
  // Only a base of the log's own: others are removed by their schedules, and the time after them would be lost.
  const kept = coverage.bases.findLast(
    ({ snapshotTime, exactFrom, trigger, isSound }) =>
      isSound && exactFrom <= cut && trigger === 'pitr' && logContinuesFrom(snapshotTime, coverage.log, exactFrom),
  );
  if (!kept) return;
  // Nothing is removed before the base that replaces it was opened.
  const chain = await context.chains.openChainOf(organizationId, kept.id, signal);
  await chain.close();
  if (!(await removeSegments(context, row, kept.snapshotTime, signal))) return;
  const outdated = [...coverage.bases, ...coverage.others]
    .filter((base) => base.snapshotTime < kept.snapshotTime && base.trigger === 'pitr')
    .toSorted((left, right) => (left.snapshotTime < right.snapshotTime ? -1 : 1));
  // Newest first: an increment is removed before its base.
  for (const { id } of outdated.toReversed()) {
    await database.tenant(organizationId, async (transaction) => {
      if (!(await mayRemove(context, transaction, key))) return;
      const backup = await backupStore.lock(transaction, organizationId, id);
      for (const { row, replacedBy } of await removable(context, transaction, backup))
        await removeRow(context.backups, transaction, row, replacedBy);
    });
  }
}

/** Locked segments are useless without their base, so a base is renewed while at least half of its lock is left. */
function daysOfBase({ retentionDays }: LogRow, place: DestinationRow | undefined): number {
  return place?.objectLock ? Math.min(retentionDays, place.objectLock.days / 2) : retentionDays;
}

/** Locked time stays reachable until its lock ends; one day is added for what was stored late. */
function daysKept({ retentionDays }: LogRow, place: DestinationRow | undefined): number {
  return place?.objectLock ? Math.max(retentionDays, place.objectLock.days + 1) : retentionDays;
}

/** False for a deleted organization, whose data stays until its deadline, and for a project with frozen retention. */
async function mayRemove({ backups }: PitrContext, transaction: Transaction, key: LogKey): Promise<boolean> {
  const project = await projectStore.findKept(transaction, key.organizationId, key.projectId);
  if (project && project.retentionFrozen !== null) return false;
  return (await backups.organizations.active(transaction, key.organizationId)) !== undefined;
}

/**
 * Removes a log that is switched off and older than its days, unless it was switched on again, here or with a newer
 * catalogue.
 */
async function removeWhole(context: PitrContext, found: LogRow, cut: string, signal: AbortSignal): Promise<void> {
  if (await holdsUnknownLaterTime(context, found, signal)) return rescanLater(context, found);
  await context.backups.platform.database.tenant(found.organizationId, async (transaction) => {
    const row = await pitrStore.lock(transaction, found.organizationId, found.projectId);
    const isSame = row?.logId === found.logId && row.coveredThrough === found.coveredThrough;
    if (!isSame || row.enabled || row.coveredThrough >= cut || !(await mayRemove(context, transaction, row))) return;
    await deleteLogOf(context, transaction, row);
  });
}

async function rescanLater({ backups }: PitrContext, row: LogRow): Promise<void> {
  const { organizationId, projectId, logId, storageDestinationId } = row;
  backups.platform.log.warn({ projectId, logId }, 'a log stays, because it goes on behind what its catalogue knows');
  await backups.platform.database.tenant(organizationId, async (transaction) => {
    const destination = await storageStore.find(transaction, organizationId, storageDestinationId);
    if (destination) await requestRescan(backups, transaction, destination);
  });
  await admitTasks(backups.platform);
}

/** Increments that build on a base keep it until they are removed themselves. */
async function removable(
  context: PitrContext,
  transaction: Transaction,
  backup: BackupRow,
): ReturnType<typeof requireRemovable> {
  try {
    return await requireRemovable(context.backups, transaction, backup);
  } catch (error) {
    if (error instanceof Problem) return [];
    throw error;
  }
}

/** Moved or copied objects were locked when they were written, so the last of them is unlocked last. */
async function isStillLocked(
  { backups }: PitrContext,
  { store, destination }: OpenedLog,
  lastKey: string | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  if (destination.objectLock === null || lastKey === undefined) return false;
  const { lockedUntil } = (await store.head(lastKey, { signal })) ?? {};
  return lockedUntil !== undefined && lockedUntil > backups.platform.clock.now();
}

/** Returns whether all of them were removed. */
async function removeSegments(
  context: PitrContext,
  row: LogRow,
  through: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { database, log } = context.backups.platform;
  const opened = await openLog(context, row);
  try {
    for (let more = true; more && !signal.aborted; ) {
      const segments = await database.tenant(row.organizationId, async (transaction) =>
        (await mayRemove(context, transaction, row))
          ? pitrStore.segmentsThrough(transaction, row.logId, through, segmentsAtOnce)
          : undefined,
      );
      if (!segments) return false;
      const keys = segments.map((segment) => segment.key);
      if (await isStillLocked(context, opened, keys.at(-1), signal)) return false;
      if (keys.length > 0)
        await opened.store.delete(keys, { signal }).catch((error: unknown) => {
          // A rule of the bucket or another lock keeps some of them. Others are removed, so the catalogue must not
          // promise any of them.
          if (!isEngineError(error, 'STORAGE_PERMISSION_DENIED') || !error.details.lockedKeys) throw error;
          log.warn({ err: error, logId: row.logId }, 'an old part of a log is locked; a sweep removes it afterwards');
        });
      await database.tenant(row.organizationId, (transaction) =>
        pitrStore.removeSegments(
          transaction,
          row.logId,
          segments.map(({ sequence }) => sequence),
        ),
      );
      more = segments.length === segmentsAtOnce;
    }
    await database.tenant(row.organizationId, async (transaction) => {
      const current = await pitrStore.lock(transaction, row.organizationId, row.projectId);
      if (current?.logId !== row.logId || current.startedFrom >= through) return;
      const joined = current.joined.filter((taken) => taken.through > through);
      await pitrStore.update(transaction, row.organizationId, row.projectId, { startedFrom: through, joined });
      await removeOriginals(context, transaction, current, joined);
    });
    return true;
  } finally {
    await opened.close();
  }
}
