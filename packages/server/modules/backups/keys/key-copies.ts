import { randomUUID } from 'node:crypto';
import {
  type BlobStore,
  firstBackupThatNeeds,
  isEngineError,
  placeOfKeyCopy,
  putKeyCopy,
  readKeyCopies,
} from '@holdfast/engine';
import { z } from 'zod';
import type { Transaction } from '../../../platform/database/database.ts';
import type { Platform } from '../../../platform/platform.ts';
import { defineJob, type Queue, type RunningJob } from '../../../platform/queue.ts';
import {
  type DestinationRow,
  isWithoutCredentials,
  type OpenableDestination,
  type StoreOpener,
  storageStore,
  withStore,
} from '../../storage/index.ts';
import type { BackupKeys, BackupsContext } from '../context.ts';
import { copyStore } from '../storage/copy-store.ts';

const destinationsAtOnce = 8;

/** What copies of keys need; the command line tool beside the service has nothing more. */
export interface KeyCopiesContext {
  platform: Pick<Platform, 'database' | 'keyring' | 'queue' | 'log'>;
  organizations: Pick<BackupsContext['organizations'], 'active'>;
  keys: Pick<BackupKeys, 'kept' | 'adopt' | 'isTaken'>;
  stores: Pick<StoreOpener, 'open'>;
}

/** Updates the copy of the organization's keys in one destination. */
export const keyCopyJob = defineJob({
  name: 'organization-keys-copy',
  schema: z.object({ organizationId: z.string(), storageDestinationId: z.string() }),
  retryLimit: 20,
  retryDelaySeconds: 10,
  timeoutSeconds: 300,
  exclusive: true,
  perOrganizationMax: 2,
});

/**
 * Enqueued in the transaction that changed the keys, for every destination and for removed ones that can still be
 * reached.
 */
export function renewKeyCopies(queue: Queue) {
  return async (transaction: Transaction, organizationId: string): Promise<void> => {
    const removed = await storageStore.removedFolders(transaction, organizationId);
    // Each change has its own job: a job that runs already may have read the keys before the change.
    const change = randomUUID();
    for (const { id } of [...(await storageStore.all(transaction, organizationId)), ...removed])
      await enqueueKeyCopy(queue, transaction, organizationId, id, `${id}/${change}`);
  };
}

export async function enqueueKeyCopy(
  queue: Queue,
  transaction: Transaction,
  organizationId: string,
  storageDestinationId: string,
  key = storageDestinationId,
): Promise<void> {
  await queue.enqueue(transaction, keyCopyJob, { organizationId, storageDestinationId }, { key });
}

/** Stores the current keys, then removes the former copies, so that a withdrawn key does not stay there. */
export async function runKeyCopy(
  context: KeyCopiesContext,
  job: RunningJob<{ organizationId: string; storageDestinationId: string }>,
): Promise<void> {
  const destination = await destinationOf(context, job.data);
  if (destination?.deletedAt) return removeFormerCopies(context, destination, job.signal);
  if (destination?.status === 'connected') await renewKeysIn(context, destination, { signal: job.signal });
}

interface RenewOptions {
  readonly signal: AbortSignal;
  readonly attemptsMax?: number;
}

async function renewKeysIn(
  context: KeyCopiesContext,
  destination: DestinationRow,
  { signal, ...options }: RenewOptions,
): Promise<void> {
  const renew = async (store: BlobStore) => {
    // Repeats when the keys changed meanwhile, so that no withdrawn key stays behind.
    for (let put: string | undefined; ; ) {
      const { copyKey, copy } = await currentCopy(context, destination.organizationId);
      if (placeOfKeyCopy(copyKey, copy) === put) return;
      put = await renewCopies(context, destination, store, signal);
    }
  };
  await withStore(context.stores, destination, renew, options);
}

/** Returns the object key of the current copy. */
async function renewCopies(
  context: KeyCopiesContext,
  destination: DestinationRow,
  store: BlobStore,
  signal: AbortSignal,
): Promise<string> {
  const { organizationId, id: storageDestinationId } = destination;
  const found = await adoptFromCopies(context, organizationId, store, signal);
  const { key } = await storeKeys(context, organizationId, store, signal);
  // The destination may have been removed meanwhile, and its copies with it, before this one was stored.
  const isRemoved = (await destinationOf(context, { organizationId, storageDestinationId }))?.deletedAt;
  const isLeft = isRemoved && !(await areKeysNeeded(context, destination, store, signal));
  const former = isLeft ? [...found, key] : found.filter((place) => place !== key);
  await store.delete(former, { purge: true, signal }).catch((error: unknown) => {
    if (!isEngineError(error, 'STORAGE_PERMISSION_DENIED')) throw error;
    context.platform.log.warn({ err: error, storageDestinationId }, 'former copies of keys could not be removed');
  });
  return key;
}

export interface KeyCopiesReport {
  /**
   * Destinations that now hold the keys under the current master key. Copies under a former one remain only where
   * nothing can be removed.
   */
  renewed: number;
  /** Destinations where that failed, and why. */
  left: { storageDestinationId: string; name: string; reason: string }[];
}

/**
 * After a change of the master key: in every destination of every organization, also of one that is deleted but can
 * still be recovered.
 */
export async function renewKeysEverywhere(context: KeyCopiesContext, options: RenewOptions): Promise<KeyCopiesReport> {
  const report: KeyCopiesReport = { renewed: 0, left: [] };
  const rows = await context.platform.database.system((transaction) => storageStore.holdingKeys(transaction));
  const waiting = rows.filter((destination) => !isWithoutCredentials(destination));
  const renewNext = async (): Promise<void> => {
    for (let destination = waiting.shift(); destination; destination = waiting.shift()) {
      const { id: storageDestinationId, name } = destination;
      try {
        if (destination.deletedAt) await removeFormerCopies(context, destination, options.signal);
        else await renewKeysIn(context, destination, options);
        report.renewed++;
      } catch (error) {
        report.left.push({ storageDestinationId, name, reason: (error as Error).message });
      }
    }
  };
  await Promise.all(Array.from({ length: destinationsAtOnce }, renewNext));
  return report;
}

/** Also a removed destination; undefined for a deleted organization. */
function destinationOf(
  { platform: { database }, organizations }: KeyCopiesContext,
  { organizationId, storageDestinationId }: { organizationId: string; storageDestinationId: string },
): Promise<DestinationRow | undefined> {
  return database.tenant(organizationId, async (transaction) => {
    if (!(await organizations.active(transaction, organizationId))) return undefined;
    const [found] = await storageStore.many(transaction, organizationId, [storageDestinationId]);
    return found;
  });
}

/**
 * Removes former copies from a removed folder. The current one is not written there, but stays if it is there: another
 * destination may be the same place.
 */
async function removeFormerCopies(
  context: KeyCopiesContext,
  destination: DestinationRow,
  signal: AbortSignal,
): Promise<void> {
  if (isWithoutCredentials(destination)) return;
  const { copyKey, copy } = await currentCopy(context, destination.organizationId);
  const keep = placeOfKeyCopy(copyKey, copy);
  await removeKeysFrom(context, destination, { keep, signal }).catch((error: unknown) => {
    if (!isEngineError(error) || signal.aborted) throw error;
    const about = { err: error, storageDestinationId: destination.id };
    context.platform.log.warn(about, 'former copies of keys in a removed destination could not be removed');
  });
}

/** Removes the copies of the organization's keys from a destination, unless they are needed there. */
export async function removeKeysFrom(
  context: KeyCopiesContext,
  destination: DestinationRow,
  { keep, signal, ...options }: { keep?: string; signal: AbortSignal; attemptsMax?: number },
): Promise<'removed' | 'needed'> {
  const remove = async (store: BlobStore) => {
    const found = await adoptFromCopies(context, destination.organizationId, store, signal);
    if (await areKeysNeeded(context, destination, store, signal)) return 'needed';
    await store.delete(
      found.filter((place) => place !== keep),
      { purge: true, signal },
    );
    return 'removed';
  };
  return await withStore(context.stores, destination, remove, options);
}

/**
 * Whether backups that moved to another organization still need the keys of this one in this place: until the other
 * organization's keys lie there and open the manifests. Local folders are never shared like this: the other
 * organization gets its own.
 */
export async function areKeysNeeded(
  { platform: { database, keyring, log } }: KeyCopiesContext,
  destination: OpenableDestination,
  store: BlobStore,
  signal: AbortSignal,
): Promise<boolean> {
  const { organizationId, id: storageDestinationId } = destination;
  const others = await database.system(async (transaction) =>
    copyStore.inAny(transaction, await storageStore.ofOthersAt(transaction, destination)),
  );
  const runKeyCopy = keyring.deriveAll('key copies');
  const backupId = await firstBackupThatNeeds(store, runKeyCopy, organizationId, others, { signal });
  if (backupId === undefined) return false;
  log.warn(
    { organizationId, storageDestinationId, backupId },
    'keys stay in a destination: a backup that moved to another organization can be read with nothing else there yet',
  );
  return true;
}

/**
 * Adopts keys that exist only in the copies in a store, and returns where the copies lie. After the database was
 * restored from an older backup, newer keys exist nowhere else. A copy that does not open stays where it is.
 */
async function adoptFromCopies(
  context: KeyCopiesContext,
  organizationId: string,
  store: BlobStore,
  signal: AbortSignal,
): Promise<string[]> {
  const { database, keyring, queue, log } = context.platform;
  const { copies } = await readKeyCopies(store, keyring.deriveAll('key copies'), { signal, of: organizationId });
  const adopted = await database.tenant(organizationId, async (transaction) => {
    let count = 0;
    for (const { keys } of copies) count += await context.keys.adopt(transaction, organizationId, keys);
    if (count > 0) await renewKeyCopies(queue)(transaction, organizationId);
    return count;
  });
  if (adopted > 0) log.warn({ organizationId, adopted }, 'keys that only lay beside backups were taken in');
  return copies.map(({ place }) => place);
}

async function currentCopy({ platform, keys }: KeyCopiesContext, organizationId: string) {
  const { database, keyring } = platform;
  const kept = await database.tenant(organizationId, (transaction) => keys.kept(transaction, organizationId));
  return { copyKey: keyring.derive('key copies'), copy: { organizationId, keys: kept } };
}

/**
 * Stores the keys in a place before anything there is wrapped with them, so that the place and the master key are
 * always enough.
 */
export async function storeKeys(
  context: KeyCopiesContext,
  organizationId: string,
  store: BlobStore,
  signal: AbortSignal,
) {
  const { copyKey, copy } = await currentCopy(context, organizationId);
  return putKeyCopy(store, copyKey, copy, { signal });
}

/** A backup is completed only when its keys lie beside it, as far as the destination allows. */
export async function storeKeysBeside(
  context: KeyCopiesContext,
  organizationId: string,
  copies: readonly { store: BlobStore; storageDestinationId: string }[],
  signal: AbortSignal,
): Promise<void> {
  for (const { store, storageDestinationId } of copies)
    await storeKeys(context, organizationId, store, signal).catch((error: unknown) => {
      if (!isEngineError(error) || signal.aborted) throw error;
      context.platform.log.warn({ err: error, storageDestinationId }, 'the keys could not be put beside a backup');
    });
}

/**
 * Adopts keys in a destination that our master key opens. Keys of an organization that exists here, or was purged here,
 * are not adopted: credentials for a bucket must be no way into another tenant's backups.
 */
export async function adoptKeys(
  context: KeyCopiesContext,
  organizationId: string,
  store: BlobStore,
  signal: AbortSignal,
): Promise<{ adopted: number; unopened: number }> {
  const { database, keyring, log } = context.platform;
  const { copies, unopened } = await readKeyCopies(store, keyring.deriveAll('key copies'), { signal });
  let adopted = 0;
  for (const copy of copies) {
    const isOurs = copy.organizationId === organizationId;
    const isTaken = !isOurs && (await database.system((tx) => context.keys.isTaken(tx, copy.organizationId)));
    if (isTaken) {
      log.warn({ organizationId, owner: copy.organizationId }, 'keys of another organization lie in a destination');
      continue;
    }
    adopted += await database.tenant(organizationId, (tx) => context.keys.adopt(tx, organizationId, copy.keys));
  }
  return { adopted, unopened };
}
