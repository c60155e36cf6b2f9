import { deleteBackup, manifestKey } from '@holdfast/engine';
import type { Transaction } from '../../../platform/database/database.ts';
import { isUnused } from '../../../platform/database/use-locks.ts';
import { Problem } from '../../../platform/problem.ts';
import {
  admitTasks,
  type DestinationRow,
  requestRescan,
  storageStore,
  taskStore,
  withStore,
} from '../../storage/index.ts';
import { type BackupRow, backupStore } from '../backup-store.ts';
import { admitVerifications, verifyAgain } from '../contents/start-verification.ts';
import type { BackupsContext } from '../context.ts';
import { removeObjectsJob } from '../jobs.ts';
import { chainStore } from './chain-store.ts';
import { hasObjects } from './moved-copies.ts';
import { isWholeInAny } from './prove-copy.ts';
import { isRefusal, isUnregisteredImport, noteRemoval } from './removal.ts';
import type { UnknownBackups } from './unknown-backups.ts';

interface Removal {
  readonly context: BackupsContext;
  readonly unknown: UnknownBackups;
  readonly row: BackupRow;
  readonly destinations: readonly DestinationRow[];
  /** Destinations that have been removed. */
  readonly forgottenIds: readonly string[];
  readonly signal: AbortSignal;
}

interface ReasonToStay {
  readonly why: string;
  /** The destination in which an unknown backup needs it. */
  readonly neededIn?: DestinationRow;
}

/**
 * Removes the objects of a deleted backup. Its row was marked before. Then the backup that replaces it is read and
 * found whole, the objects are removed, manifest first, and the row is removed last. After a crash in between, the job
 * simply goes on. Locked objects, and those in a destination without credentials, outlive their backup: its row stays,
 * hidden, until they can be removed too. In a destination that was removed before, they stay, and the audit log says so.
 */
export async function removeDeleted(removal: Removal): Promise<void> {
  const { row, destinations } = removal;
  const dependents = await dependentsOf(removal);
  if (dependents.some(({ isDeleted }) => !isDeleted)) return unmark(removal, { why: 'what builds on it stays' });
  // Their own removal is decided first. The last of them enqueues the removal of this one again.
  if (dependents.some(({ mayComeBack }) => mayComeBack)) return;
  const own = isUnregisteredImport(row) ? [] : destinations;
  const chainIds = [row.id, ...dependents.map(({ id }) => id)];
  const reason = await reasonToStay(removal, own, chainIds);
  if (reason) return unmark(removal, reason);
  await requireUnread(removal);
  const { isLocked, versionsKept } = await removeFrom(removal, own);
  if (isLocked) return;
  if (isUnregisteredImport(row) || (await removeFormer(removal, chainIds, own))) await purge(removal, versionsKept);
  else await giveUpReplacement(removal);
}

function dependentsOf({ context, row: { organizationId, id } }: Removal): ReturnType<typeof chainStore.dependents> {
  return context.platform.database.tenant(organizationId, (transaction) =>
    chainStore.dependents(transaction, organizationId, id),
  );
}

/** Looks at everything that could still need the backup. Without a whole copy of it, there is nothing to keep. */
async function reasonToStay(
  removal: Removal,
  own: readonly DestinationRow[],
  chainIds: readonly string[],
): Promise<ReasonToStay | undefined> {
  if (!(await isReplaced(removal)) && (await isWholeSomewhere(removal, removal.destinations)))
    return { why: 'what replaces it could not be read whole' };
  for (const destination of own)
    if ((await isNeededIn(removal, destination, chainIds)) && (await isWholeSomewhere(removal, own)))
      return { why: 'what builds on it lies in a destination, unknown to the catalogue', neededIn: destination };
  // A rescan may have registered something that builds on it, while the destinations were searched for unknown backups.
  if ((await dependentsOf(removal)).some(({ isDeleted }) => !isDeleted))
    return { why: 'what builds on it was found meanwhile' };
  return undefined;
}

/** Nobody starts to read a marked backup. Whoever started before reads to the end. */
async function requireUnread({ context, row }: Removal): Promise<void> {
  const { organizationId, id } = row;
  const isFree = await context.platform.database.tenant(organizationId, (transaction) => isUnused(transaction, id));
  if (!isFree) throw new Problem('CONFLICT', 'The removed backup is still being read; its objects go afterwards.');
}

async function removeFrom(
  { context, row, signal }: Removal,
  own: readonly DestinationRow[],
): Promise<{ isLocked: boolean; versionsKept: string[] }> {
  const versionsKept: string[] = [];
  let isLocked = false;
  for (const destination of own) {
    try {
      const removed = await withStore(context.stores, destination, (store) => deleteBackup(store, row.id, { signal }));
      if (removed.versionsKept) versionsKept.push(destination.id);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      isLocked = true;
      const said = 'objects of a removed backup are locked or out of reach and stay for now';
      context.platform.log.warn({ err: error, backupId: row.id }, said);
    }
  }
  return { isLocked, versionsKept };
}

/** Removes the row, now that its objects are gone. */
async function purge(removal: Removal, versionsKept: readonly string[]): Promise<void> {
  const { context, row, destinations, forgottenIds } = removal;
  const { organizationId, id } = row;
  await context.platform.database.tenant(organizationId, async (transaction) => {
    await backupStore.purge(transaction, organizationId, id);
    // Objects in a removed destination can no longer be removed by anybody.
    if (forgottenIds.length > 0 && !isUnregisteredImport(row))
      await noteRemoval(context, transaction, row, 'backup.objects_left', { storageDestinationIds: forgottenIds });
    if (destinations.length > 0)
      await noteRemoval(context, transaction, row, 'backup.objects_removed', { versionsKept });
    await removeParentAgain(removal, transaction);
  });
}

/** Its removal cannot be undone any more, so its parent need not wait for objects that are left elsewhere. */
async function giveUpReplacement(removal: Removal): Promise<void> {
  const { organizationId, id } = removal.row;
  await removal.context.platform.database.tenant(organizationId, async (transaction) => {
    await backupStore.update(transaction, organizationId, id, { replacedBy: null });
    await removeParentAgain(removal, transaction);
  });
}

async function removeParentAgain({ context, row }: Removal, transaction: Transaction): Promise<void> {
  const { organizationId, parentId } = row;
  const parent = parentId && (await backupStore.findAny(transaction, organizationId, parentId));
  if (!parent || parent.deletedAt === null) return;
  const job = { organizationId, backupId: parent.id };
  await context.platform.queue.enqueue(transaction, removeObjectsJob, job, { key: `${parent.id}/deleted` });
}

/**
 * Removes what an interrupted migration left in its old or new place: a rescan there would register the deleted backup
 * again. Returns whether all of it is removed.
 */
async function removeFormer(
  { context, unknown, row, signal }: Removal,
  chainIds: readonly string[],
  removedFrom: readonly DestinationRow[],
): Promise<boolean> {
  const { id: backupId, organizationId } = row;
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
      await withStore(context.stores, destination, async (store) => {
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
  { context, unknown, signal }: Removal,
  destination: DestinationRow,
  backupIds: readonly string[],
): Promise<boolean> {
  try {
    return await withStore(context.stores, destination, (store) =>
      unknown.needAny(destination, store, backupIds, signal),
    );
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return false;
  }
}

/**
 * When a backup is removed because another one replaces it, the replacement is read, every byte, in each place from
 * which this one is removed.
 */
async function isReplaced({ context, row, destinations, signal }: Removal): Promise<boolean> {
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
  { context, row, signal }: Removal,
  destinations: readonly DestinationRow[],
): Promise<boolean> {
  const failures: unknown[] = [];
  for (const destination of destinations) {
    const look = withStore(context.stores, destination, (store) => store.head(manifestKey(row.id), { signal }));
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
async function unmark({ context, row }: Removal, { why, neededIn }: ReasonToStay): Promise<void> {
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
