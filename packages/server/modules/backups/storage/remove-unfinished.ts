import { deleteBackup, manifestKey } from '@holdfast/engine';
import { dayMs, later } from '../../../platform/durations.ts';
import { type DestinationRow, withStore } from '../../storage/index.ts';
import type { BackupRow } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';
import { type RemoveObjects, removeObjectsJob } from '../jobs.ts';
import { copyStore } from './copy-store.ts';
import { isRefusal, isUnregisteredImport, noteRemoval } from './removal.ts';

const pauseDaysMax = 30;

interface Places {
  destinations: readonly DestinationRow[];
  /** Destinations that have been removed. */
  forgottenIds: readonly string[];
}

/**
 * Removes what a failed or cancelled backup has left. What a lock, missing credentials or an outage keeps is tried
 * again, more and more rarely, until it is gone. In a removed destination it stays, and the audit log says so. A
 * manifest that nobody withdrew means that the backup is whole after all: the catalogue was restored from an older copy
 * and calls it unfinished. Then it stays, and a rescan links it again.
 */
export async function removeUnfinished(
  context: BackupsContext,
  row: BackupRow,
  { destinations, forgottenIds }: Places,
  job: RemoveObjects,
): Promise<void> {
  if (isUnregisteredImport(row)) return;
  const { id: backupId, organizationId } = row;
  const { clock, database, log, queue } = context.platform;
  const { left, looks = 0, isWithdrawn = false } = job.data;
  const kept: string[] = [];
  const failures: unknown[] = [];
  for (const destination of destinations.filter(({ id }) => left?.includes(id) ?? true))
    await removeFrom(context, destination, { backupId, isWithdrawn }, job.signal).catch((error: unknown) => {
      job.signal.throwIfAborted();
      log.warn({ err: error, backupId }, 'objects of an unfinished backup are locked or out of reach and stay for now');
      kept.push(destination.id);
      if (!isRefusal(error)) failures.push(error);
    });
  if (failures.length > 0 && !job.lastAttempt) throw failures[0];
  const lost = forgottenIds.filter((id) => left?.includes(id) ?? row.startedAt !== null);
  const startAfter = later(clock.now(), Math.min(2 ** looks, pauseDaysMax) * dayMs);
  await database.tenant(organizationId, async (transaction) => {
    if (lost.length > 0)
      await noteRemoval(context, transaction, row, 'backup.objects_left', { storageDestinationIds: lost });
    if (kept.length === 0) return;
    const next = { organizationId, backupId, isWithdrawn, left: kept, looks: looks + 1 };
    const key = `${backupId}/left/${startAfter.getTime()}`;
    await queue.enqueue(transaction, removeObjectsJob, next, { key, startAfter });
  });
}

async function removeFrom(
  context: BackupsContext,
  destination: DestinationRow,
  { backupId, isWithdrawn }: { backupId: string; isWithdrawn: boolean },
  signal: AbortSignal,
): Promise<void> {
  await withStore(context.stores, destination, async (store) => {
    if (isWithdrawn || (await store.head(manifestKey(backupId), { signal })) === undefined)
      await deleteBackup(store, backupId, { signal });
    else context.platform.log.warn({ backupId }, 'an unfinished backup has a manifest and stays; a rescan links it');
  });
}

/** The backup moved with its project: what it left is removed where the other organization knows its destinations. */
export async function followMoved({ platform }: BackupsContext, { data }: RemoveObjects): Promise<void> {
  const { backupId, isWithdrawn = false } = data;
  await platform.database.system(async (transaction) => {
    const found = await copyStore.findAnywhere(transaction, backupId);
    if (!found) return;
    const { organizationId } = found;
    await platform.queue.enqueue(
      transaction,
      removeObjectsJob,
      { organizationId, backupId, isWithdrawn },
      { key: `${backupId}/moved` },
    );
  });
}
