import {
  type BlobStore,
  backupPrefix,
  deleteBackup,
  isObjectOf,
  type ManifestBody,
  manifestKey,
} from '@holdfast/engine';
import { isUnused } from '../../../platform/database/use-locks.ts';
import { Problem } from '../../../platform/problem.ts';
import { admitTasks, type DestinationRow, requestRescan, storageStore, taskStore } from '../../storage/index.ts';
import { type BackupRow, backupStore } from '../backup-store.ts';
import { admitVerifications, verifyAgain } from '../contents/start-verification.ts';
import type { BackupsContext } from '../context.ts';
import { type RemoveObjects, removeObjectsJob } from '../jobs.ts';
import { chainStore } from './chain-store.ts';
import { hasObjects } from './moved-copies.ts';
import { isWholeInAny } from './prove-copy.ts';
import { isRefusal, isUnregisteredImport, noteRemoval, withStore } from './removal.ts';
import { followMoved, removeUnfinished } from './remove-unfinished.ts';
import type { UnknownBackups } from './unknown-backups.ts';

const keysPerCall = 500;

/**
 * The only place that removes the objects of deleted backups. The row was marked before. Then the backup that replaces
 * it is read and found whole, the objects are removed, manifest first, and the row is removed last. After a crash in
 * between, the job simply goes on. Locked objects, and those in a destination without credentials, outlive their
 * backup: its row stays, hidden, until they can be removed too. In a destination that was removed before, they stay,
 * and the audit log says so.
 */
export async function removeObjects(
  context: BackupsContext,
  unknown: UnknownBackups,
  job: RemoveObjects,
): Promise<void> {
  const { organizationId, backupId } = job.data;
  const found = await context.platform.database.tenant(organizationId, async (transaction) => {
    const row = await backupStore.findAny(transaction, organizationId, backupId);
    if (!row) return undefined;
    const copies = await backupStore.copies(transaction, organizationId, [backupId]);
    const ids = copies.map((copy) => copy.storageDestinationId);
    const destinations = await storageStore.many(transaction, organizationId, ids);
    const known = destinations.filter((destination) => destination.deletedAt === null);
    return { row, destinations: known, forgottenIds: ids.filter((id) => !known.some((one) => one.id === id)) };
  });
  if (!found) return await followMoved(context, job);
  const { row, destinations, forgottenIds } = found;
  if (row.deletedAt !== null) await removeDeleted(context, unknown, row, destinations, forgottenIds, job.signal);
  else if (row.status === 'failed' || row.status === 'cancelled')
    await removeUnfinished(context, row, { destinations, forgottenIds }, job);
}

async function removeDeleted(
  context: BackupsContext,
  unknown: UnknownBackups,
  row: BackupRow,
  destinations: readonly DestinationRow[],
  forgottenIds: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const { database, log, queue } = context.platform;
  const { organizationId, id: backupId } = row;
  const dependentsNow = () =>
    database.tenant(organizationId, (transaction) => chainStore.dependents(transaction, organizationId, backupId));
  const dependents = await dependentsNow();
  if (dependents.some(({ isDeleted }) => !isDeleted)) return unmark(context, row, 'what builds on it stays');
  // Their own removal is decided first. The last of them enqueues the removal of this one again.
  if (dependents.some(({ mayComeBack }) => mayComeBack)) return;
  const isGoing = await isReplaced(context, row, destinations, signal);
  if (!isGoing && (await isWholeSomewhere(context, row, destinations, signal)))
    return unmark(context, row, 'what replaces it could not be read whole');
  const own = isUnregisteredImport(row) ? [] : destinations;
  const chainIds = [backupId, ...dependents.map(({ id }) => id)];
  for (const destination of own)
    if (
      (await isNeededIn(context, unknown, destination, chainIds, signal)) &&
      (await isWholeSomewhere(context, row, own, signal))
    )
      return unmark(context, row, 'what builds on it lies in a destination, unknown to the catalogue', destination);
  // A rescan may have registered something that builds on it, while the destinations were searched for unknown backups.
  if ((await dependentsNow()).some(({ isDeleted }) => !isDeleted))
    return unmark(context, row, 'what builds on it was found meanwhile');
  // Nobody starts to read a marked backup. Whoever started before reads to the end.
  const isFree = await database.tenant(organizationId, (transaction) => isUnused(transaction, backupId));
  if (!isFree) throw new Problem('CONFLICT', 'The removed backup is still being read; its objects go afterwards.');
  const versionsKept: string[] = [];
  let isLocked = false;
  for (const destination of own) {
    try {
      const removed = await withStore(context, destination, (store) => deleteBackup(store, backupId, { signal }));
      if (removed.versionsKept) versionsKept.push(destination.id);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      isLocked = true;
      log.warn({ err: error, backupId }, 'objects of a removed backup are locked or out of reach and stay for now');
    }
  }
  if (isLocked) return;
  const isGone = isUnregisteredImport(row) || (await removeFormer(context, unknown, row, chainIds, own, signal));
  await database.tenant(organizationId, async (transaction) => {
    // Its removal cannot be undone any more, so its parent need not wait for objects that are left elsewhere.
    if (!isGone) await backupStore.update(transaction, organizationId, backupId, { replacedBy: null });
    else {
      await backupStore.purge(transaction, organizationId, backupId);
      // Objects in a removed destination can no longer be removed by anybody.
      if (forgottenIds.length > 0 && !isUnregisteredImport(row))
        await noteRemoval(context, transaction, row, 'backup.objects_left', { storageDestinationIds: forgottenIds });
      if (destinations.length > 0)
        await noteRemoval(context, transaction, row, 'backup.objects_removed', { versionsKept });
    }
    const parent = row.parentId && (await backupStore.findAny(transaction, organizationId, row.parentId));
    if (parent && parent.deletedAt !== null)
      await queue.enqueue(
        transaction,
        removeObjectsJob,
        { organizationId, backupId: parent.id },
        { key: `${parent.id}/deleted` },
      );
  });
}

/**
 * Removes what an interrupted migration left in its old or new place: a rescan there would register the deleted backup
 * again. Returns whether all of it is removed.
 */
async function removeFormer(
  context: BackupsContext,
  unknown: UnknownBackups,
  { id: backupId, organizationId }: BackupRow,
  chainIds: readonly string[],
  removedFrom: readonly DestinationRow[],
  signal: AbortSignal,
): Promise<boolean> {
  const { database, log } = context.platform;
  const former = await database.tenant(organizationId, async (transaction) => {
    const migrated = await taskStore.migratedPlaces(transaction, organizationId);
    const rows = await storageStore.many(transaction, organizationId, [...migrated]);
    return rows.filter(({ id, deletedAt }) => deletedAt === null && !removedFrom.some((one) => one.id === id));
  });
  let isGone = true;
  for (const destination of former) {
    // A destination that does not answer is asked later; nobody waits for it here.
    if (destination.status !== 'connected') isGone = false;
    else
      await withStore(context, destination, async (store) => {
        if (!(await hasObjects(store, backupId, signal))) return;
        if (!(await unknown.needAny(destination, store, chainIds, signal)))
          await deleteBackup(store, backupId, { signal });
      }).catch((error: unknown) => {
        if (!isRefusal(error)) throw error;
        isGone = false;
        log.warn({ err: error, backupId }, 'objects of a removed backup are kept by a place that it was moved from');
      });
  }
  return isGone;
}

/** A destination that refuses to be listed does not allow removals either. */
async function isNeededIn(
  context: BackupsContext,
  unknown: UnknownBackups,
  destination: DestinationRow,
  backupIds: readonly string[],
  signal: AbortSignal,
): Promise<boolean> {
  try {
    return await withStore(context, destination, (store) => unknown.needAny(destination, store, backupIds, signal));
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return false;
  }
}

/**
 * When a backup is removed because another one replaces it, the replacement is read, every byte, in each place from
 * which this one is removed.
 */
async function isReplaced(
  context: BackupsContext,
  row: BackupRow,
  destinations: readonly DestinationRow[],
  signal: AbortSignal,
): Promise<boolean> {
  const { organizationId, replacedBy } = row;
  if (replacedBy === null) return true;
  const copies = await context.platform.database.tenant(organizationId, (transaction) =>
    backupStore.copies(transaction, organizationId, [row.id, replacedBy]),
  );
  const goodOf = (id: string) =>
    copies
      .filter(({ backupId, status }) => backupId === id && status === 'completed')
      .map((copy) => copy.storageDestinationId);
  const mine = goodOf(row.id).filter((id) => destinations.some((destination) => destination.id === id));
  const beside = goodOf(replacedBy).filter((id) => mine.includes(id));
  // The replacement was merged into another place altogether; then it must be whole there.
  const places = beside.length > 0 ? beside.map((id) => [id]) : [goodOf(replacedBy)];
  for (const place of places)
    if (!(await isWholeInAny(context, organizationId, place, replacedBy, { signal, isThorough: true }))) return false;
  return true;
}

/**
 * Whether some place still has its manifest. Manifests are removed first, and without one the backup cannot be kept.
 * Throws when no place has a manifest and not all places could be asked.
 */
async function isWholeSomewhere(
  context: BackupsContext,
  { id }: BackupRow,
  destinations: readonly DestinationRow[],
  signal: AbortSignal,
): Promise<boolean> {
  const failures: unknown[] = [];
  for (const destination of destinations) {
    const look = withStore(context, destination, (store) => store.head(manifestKey(id), { signal }));
    const found = await look.catch((error: unknown) => void failures.push(error));
    if (found) return true;
  }
  if (failures.length > 0) throw failures[0];
  return false;
}

/**
 * Undoes the removal of the backup and of everything it builds on. If an unknown backup in a destination needs it, that
 * destination is rescanned.
 */
async function unmark(context: BackupsContext, row: BackupRow, why: string, neededIn?: DestinationRow): Promise<void> {
  const { database, log } = context.platform;
  const { organizationId, id: backupId, replacedBy } = row;
  log.error({ backupId, replacedBy }, `a backup stays, because ${why}`);
  await database.tenant(organizationId, async (transaction) => {
    await chainStore.bringBack(transaction, organizationId, backupId);
    await noteRemoval(context, transaction, row, 'backup.removal_refused', { replacedBy });
    // Nothing is removed in favour of the replacement again before it was found whole.
    if (replacedBy !== null && !neededIn) await verifyAgain(context, transaction, organizationId, replacedBy);
    if (neededIn) await requestRescan(context, transaction, neededIn);
  });
  if (neededIn) await admitTasks(context.platform);
  await admitVerifications(context.platform);
}

/** Removes objects that a dead worker stored and that the manifest does not list. */
export async function removeUnlisted(
  store: BlobStore,
  body: ManifestBody,
  signal: AbortSignal,
  descriptors?: AsyncIterable<{ id: string }>,
): Promise<void> {
  if (body.shards.length > 0 && !descriptors) return;
  const { backupId } = body;
  const listed = new Set([...body.segments, ...body.shards, ...(body.authUsers?.segments ?? [])].map(({ id }) => id));
  if (descriptors) for await (const { id } of descriptors) listed.add(id);
  let keys: string[] = [];
  for await (const { key } of store.list(backupPrefix(backupId), { signal })) {
    const isStray = isObjectOf(backupId, key) && key !== manifestKey(backupId);
    if (!isStray || listed.has(key.slice(key.lastIndexOf('/') + 1))) continue;
    keys.push(key);
    if (keys.length < keysPerCall) continue;
    await store.delete(keys, { signal });
    keys = [];
  }
  await store.delete(keys, { signal });
}
