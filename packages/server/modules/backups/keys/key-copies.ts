import { randomUUID } from 'node:crypto';
import {
  type BlobStore,
  firstBackupThatNeeds,
  isEngineError,
  keepKeyCopy,
  placeOfKeyCopy,
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
} from '../../storage/index.ts';
import type { BackupKeys, BackupsContext } from '../context.ts';
import { copyStore } from '../storage/copy-store.ts';

const destinationsAtOnce = 8;

/** What the copies of keys need; a command beside the service has no more than this. */
export interface KeyCopiesContext {
  platform: Pick<Platform, 'database' | 'keyring' | 'queue' | 'log'>;
  organizations: Pick<BackupsContext['organizations'], 'active'>;
  keys: Pick<BackupKeys, 'kept' | 'adopt' | 'isTaken'>;
  stores: Pick<StoreOpener, 'open'>;
}

/** Brings the keys that lie in one destination up to date. */
export const keyCopyJob = defineJob({
  name: 'organization-keys-copy',
  schema: z.object({ organizationId: z.string(), storageDestinationId: z.string() }),
  retryLimit: 20,
  retryDelaySeconds: 10,
  timeoutSeconds: 300,
  exclusive: true,
  perOrganizationMax: 2,
});

/** Enqueued in the transaction that changed the keys: every destination follows, and removed ones that can still be reached. */
export function renewKeyCopies(queue: Queue) {
  return async (transaction: Transaction, organizationId: string): Promise<void> => {
    const removed = await storageStore.removedFolders(transaction, organizationId);
    // Each change has a job of its own: one that is under way may have read the keys before it.
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

/** Puts what is current, then takes away what was: a key that was withdrawn is not left lying there. */
export async function copyKeys(
  context: KeyCopiesContext,
  job: RunningJob<{ organizationId: string; storageDestinationId: string }>,
): Promise<void> {
  const destination = await destinationOf(context, job.data);
  if (destination?.deletedAt) return withdrawKeys(context, destination, job.signal);
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
  const store = await context.stores.open(destination, options);
  try {
    // What has changed meanwhile is brought there too, so that none that was withdrawn stays behind.
    for (let put: string | undefined; ; ) {
      const { copyKey, copy } = await currentCopy(context, destination.organizationId);
      if (placeOfKeyCopy(copyKey, copy) === put) return;
      put = await renewCopies(context, destination, store, signal);
    }
  } finally {
    await store.close();
  }
}

/** Where the current ones lie now. */
async function renewCopies(
  context: KeyCopiesContext,
  destination: DestinationRow,
  store: BlobStore,
  signal: AbortSignal,
): Promise<string> {
  const { organizationId, id: storageDestinationId } = destination;
  const found = await takeInCopies(context, organizationId, store, signal);
  const { key } = await keepKeys(context, organizationId, store, signal);
  // Whoever removed the destination meanwhile may have taken the copies away before this one was put.
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
  /** Destinations in which the keys lie under the current master key now; under a former one only where nothing can be removed. */
  renewed: number;
  /** Where that could not be done, and why. */
  left: { storageDestinationId: string; name: string; reason: string }[];
}

/** After a new master key, in every destination of every organization, also of one that can still be recovered. */
export async function renewKeysEverywhere(context: KeyCopiesContext, options: RenewOptions): Promise<KeyCopiesReport> {
  const report: KeyCopiesReport = { renewed: 0, left: [] };
  const rows = await context.platform.database.system((transaction) => storageStore.holdingKeys(transaction));
  const waiting = rows.filter((destination) => !isWithoutCredentials(destination));
  const renewNext = async (): Promise<void> => {
    for (let destination = waiting.shift(); destination; destination = waiting.shift()) {
      const { id: storageDestinationId, name } = destination;
      try {
        if (destination.deletedAt) await withdrawKeys(context, destination, options.signal);
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

/** Also one that was removed; none of an organization that is deleted. */
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

/** From a removed folder. What is current is put by nobody, but stays: another destination may be the same place. */
async function withdrawKeys(
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

/** Takes the copies of the organization's keys out of a destination, unless they are needed there. */
export async function removeKeysFrom(
  context: KeyCopiesContext,
  destination: DestinationRow,
  { attemptsMax, keep, signal }: { keep?: string; signal: AbortSignal; attemptsMax?: number },
): Promise<'removed' | 'needed'> {
  const store = await context.stores.open(destination, attemptsMax === undefined ? {} : { attemptsMax });
  try {
    const found = await takeInCopies(context, destination.organizationId, store, signal);
    if (await areKeysNeeded(context, destination, store, signal)) return 'needed';
    await store.delete(
      found.filter((place) => place !== keep),
      { purge: true, signal },
    );
    return 'removed';
  } finally {
    await store.close();
  }
}

/**
 * Whether backups that moved to another organization can be read in this place with the copies of this one's keys alone: until
 * the other one's keys lie there and open the manifests. A folder is no such place: the other organization gets its own.
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
  const copyKeys = keyring.deriveAll('key copies');
  const backupId = await firstBackupThatNeeds(store, copyKeys, organizationId, others, { signal });
  if (backupId === undefined) return false;
  log.warn(
    { organizationId, storageDestinationId, backupId },
    'keys stay in a destination: a backup that moved to another organization can be read with nothing else there yet',
  );
  return true;
}

/**
 * Takes in what only the organization's copies in a store hold, and answers where they lie: after a database came back from an
 * older day, the keys of the time since are there and nowhere else. A copy that does not open is left where it is.
 */
async function takeInCopies(
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

/** Before anything is wrapped under a key in a place, the key lies there: the place and the master key are always enough. */
export async function keepKeys(
  context: KeyCopiesContext,
  organizationId: string,
  store: BlobStore,
  signal: AbortSignal,
) {
  const { copyKey, copy } = await currentCopy(context, organizationId);
  return keepKeyCopy(store, copyKey, copy, { signal });
}

/** A backup is called completed when its key lies beside it, as far as the destination lets us. */
export async function keepKeysBeside(
  context: KeyCopiesContext,
  organizationId: string,
  copies: readonly { store: BlobStore; storageDestinationId: string }[],
  signal: AbortSignal,
): Promise<void> {
  for (const { store, storageDestinationId } of copies)
    await keepKeys(context, organizationId, store, signal).catch((error: unknown) => {
      if (!isEngineError(error) || signal.aborted) throw error;
      context.platform.log.warn({ err: error, storageDestinationId }, 'the keys could not be put beside a backup');
    });
}

/**
 * Takes in the keys that lie in a destination and open with our master key. Those of an organization that lives here, or
 * was purged here, belong to nobody else: credentials of a bucket are no way into another tenant's backups.
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
