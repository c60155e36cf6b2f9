import { deleteBackup, type Envelope, isEngineError, replaceEnvelope } from '@holdfast/engine';
import { dayMs, later } from '../../../platform/durations.ts';
import type { RunningJob } from '../../../platform/queue.ts';
import { type DestinationRow, isWithoutCredentials, storageStore, withStore } from '../../storage/index.ts';
import { type BackupRow, backupStore } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';
import { type MovedFrom, rewrapManifestJob } from '../jobs.ts';
import { loadBackup } from '../load-backup.ts';
import { isWholeInAny } from '../storage/prove-copy.ts';
import { storeKeys } from './key-copies.ts';

/**
 * Writes the catalogue's current envelope, after a rotation or a move, into the manifests of all copies. A manifest
 * under an object lock stays as it is until the lock ends; the retired key that opens it lies in `keys/` beside it.
 */
export async function rewrapManifest(context: BackupsContext, job: RunningJob<Rewrapped>): Promise<void> {
  try {
    await rewrapCopies(context, job);
  } catch (error) {
    // Only this job knows that there are manifests under a former key.
    if (!job.lastAttempt || job.signal.aborted) throw error;
    const { clock, log } = context.platform;
    log.error({ err: error, backupId: job.data.backupId }, 'manifests are under a former key; tried again tomorrow');
    await rewrapLater(context, job.data, later(clock.now(), dayMs));
  }
}

interface Rewrapped {
  organizationId: string;
  backupId: string;
  movedFrom?: MovedFrom | undefined;
}

async function rewrapCopies(context: BackupsContext, job: RunningJob<Rewrapped>): Promise<void> {
  const { database, clock } = context.platform;
  const { organizationId, backupId } = job.data;
  let lockedUntil: Date | undefined;
  for (let done: string | undefined; ; ) {
    const loaded = await database.tenant(organizationId, (transaction) =>
      loadBackup(context, transaction, organizationId, backupId),
    );
    const envelope = loaded?.row.envelope;
    if (!loaded || !envelope || loaded.row.deletedAt) return;
    // One that failed never gets a manifest.
    if (loaded.row.status === 'failed' || loaded.row.status === 'cancelled') return;
    // A backup that is still being made may have the former envelope. Its manifest is rewrapped once it exists.
    if (loaded.row.status !== 'completed') throw new Error('the backup has no manifest yet');
    if (envelope.wrapped === done) break;
    const { ring } = await database.tenant(organizationId, (transaction) =>
      context.keys.ring(transaction, organizationId),
    );
    const dataKey = await ring.unwrap(backupId, envelope);
    const failures: unknown[] = [];
    for (const copy of loaded.copies.filter(({ status }) => status === 'completed')) {
      const destination = loaded.destinations.get(copy.storageDestinationId);
      // A destination that came with a moved project has no credentials yet. Once it has, its manifests are checked
      // again.
      if (!destination || isWithoutCredentials(destination)) continue;
      const rewrapped = rewrapCopy(context, loaded.row, destination, { dataKey, envelope }, job.signal);
      // One place that is away must not keep the others under the former key.
      if (await rewrapped.catch((error: unknown) => failures.push(error) > 0)) continue;
      if (isLocked(loaded.row, destination, clock.now())) lockedUntil = loaded.row.lockedUntil ?? undefined;
      else lockedUntil ??= later(clock.now(), dayMs);
    }
    if (failures.length > 0) throw failures[0];
    // Another rotation may have happened meanwhile. This job follows it too, because only one job waits per backup.
    done = envelope.wrapped;
  }
  if (lockedUntil) await rewrapLater(context, { organizationId, backupId }, lockedUntil);
  if (job.data.movedFrom) await removeFromOldFolders(context, job.data, job.data.movedFrom, job.signal);
}

/** False when the manifest keeps its former key for now. */
export async function rewrapCopy(
  context: BackupsContext,
  row: BackupRow,
  destination: DestinationRow,
  wrapped: { dataKey: Uint8Array; envelope: Envelope },
  signal: AbortSignal,
): Promise<boolean> {
  const { organizationId, id: backupId } = row;
  if (isLocked(row, destination, context.platform.clock.now())) return false;
  return await withStore(context.stores, destination, async (store) => {
    try {
      await storeKeys(context, organizationId, store, signal);
      await replaceEnvelope(store, backupId, wrapped, { signal });
      return true;
    } catch (error) {
      if (!isEngineError(error, 'STORAGE_PERMISSION_DENIED') && !isDamage(error)) throw error;
      // A bucket may lock by its own rule, or its credentials may no longer write. And one damaged copy must not keep
      // the other copies under the former key.
      context.platform.log.warn({ err: error, backupId }, 'a manifest stays under its former key for now');
      return false;
    }
  });
}

function isDamage(error: unknown): boolean {
  return (['INTEGRITY_ERROR', 'DECRYPTION_ERROR', 'STORAGE_NOT_FOUND'] as const).some((code) =>
    isEngineError(error, code),
  );
}

function isLocked({ lockedUntil }: BackupRow, { objectLock }: DestinationRow, now: Date): boolean {
  return objectLock !== null && lockedUntil !== null && lockedUntil > now;
}

async function rewrapLater(
  { platform: { database, queue } }: BackupsContext,
  data: Rewrapped,
  startAfter: Date,
): Promise<void> {
  const key = `${data.backupId}/later/${startAfter.getTime()}`;
  await database.tenant(data.organizationId, (transaction) =>
    queue.enqueue(transaction, rewrapManifestJob, data, { key, startAfter }),
  );
}

/** Removes what a moved backup left in local folders of its former organization, once it is whole in its new place. */
async function removeFromOldFolders(
  context: BackupsContext,
  { organizationId, backupId }: { organizationId: string; backupId: string },
  from: MovedFrom,
  signal: AbortSignal,
): Promise<void> {
  const { database } = context.platform;
  const [rows, copies] = [
    await database.tenant(from.organizationId, (transaction) =>
      storageStore.many(transaction, from.organizationId, from.storageDestinationIds),
    ),
    await database.tenant(organizationId, (transaction) => backupStore.copies(transaction, organizationId, [backupId])),
  ];
  const folders = rows.filter(({ type }) => type === 'local');
  const places = copies.filter(({ status }) => status === 'completed').map((copy) => copy.storageDestinationId);
  if (folders.length === 0) return;
  if (!(await isWholeInAny(context, organizationId, places, backupId, { signal, isThorough: true }))) return;
  for (const folder of folders)
    await withStore(context.stores, folder, (store) => deleteBackup(store, backupId, { signal }));
}
