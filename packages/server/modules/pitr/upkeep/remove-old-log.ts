import { isEngineError, logContinuesFrom } from '@holdfast/engine';
import { requireTimeAgrees } from '../../../platform/clock-agreement.ts';
import type { Transaction } from '../../../platform/database/database.ts';
import { forEachByOrganization } from '../../../platform/for-each-by-organization.ts';
import { Problem } from '../../../platform/problem.ts';
import { type BackupRow, backupStore, removeRow, requireRemovable } from '../../backups/index.ts';
import { projectStore } from '../../projects/index.ts';
import { admitTasks, type DestinationRow, requestRescan, storageStore } from '../../storage/index.ts';
import type { PitrContext } from '../context.ts';
import { type Coverage, coverageOfLog } from '../coverage.ts';
import { deleteLogOf, removeOriginals } from '../disable-pitr.ts';
import { type OpenedLog, openLog } from '../log-access.ts';
import { type LogKey, type LogRow, pitrStore } from '../pitr-store.ts';
import { segmentStore } from '../segment-store.ts';
import { holdsUnknownLaterTime } from '../storage/unknown-time.ts';
import { retainedFrom } from './retained-from.ts';

const segmentsAtOnce = 500;

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
  if (await removeSegments(context, row, kept.snapshotTime, signal))
    await removeBasesBefore(context, key, kept.snapshotTime, coverage);
}

async function removeBasesBefore(
  context: PitrContext,
  key: LogKey,
  snapshotTime: string,
  { bases, others }: Coverage,
): Promise<void> {
  const outdated = [...bases, ...others]
    .filter((base) => base.snapshotTime < snapshotTime && base.trigger === 'pitr')
    .toSorted((left, right) => (left.snapshotTime < right.snapshotTime ? -1 : 1));
  // Newest first: an increment is removed before its base.
  for (const { id } of outdated.toReversed())
    await context.backups.platform.database.tenant(key.organizationId, async (transaction) => {
      if (!(await mayRemove(context, transaction, key))) return;
      const backup = await backupStore.lock(transaction, key.organizationId, id);
      for (const { row, replacedBy } of await removable(context, transaction, backup))
        await removeRow(context.backups, transaction, row, replacedBy);
    });
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
          ? segmentStore.endingBy(transaction, row.logId, through, segmentsAtOnce)
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
        segmentStore.remove(
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
