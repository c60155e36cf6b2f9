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
import { defineJob, type Queue, type RunningJob } from '../../../platform/queue.ts';
import {
  type DestinationRow,
  isWithoutCredentials,
  type OpenableDestination,
  storageStore,
} from '../../storage/index.ts';
import type { BackupsContext } from '../context.ts';
import { copyStore } from '../storage/copy-store.ts';

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
  context: BackupsContext,
  job: RunningJob<{ organizationId: string; storageDestinationId: string }>,
): Promise<void> {
  const { organizationId } = job.data;
  const destination = await destinationOf(context, job.data);
  if (destination?.deletedAt) return withdrawKeys(context, destination, job.signal);
  if (destination?.status !== 'connected') return;
  const store = await context.stores.open(destination);
  try {
    // What has changed meanwhile is brought there too, so that none that was withdrawn stays behind.
    for (let put: string | undefined; ; ) {
      const { copyKey, copy } = await currentCopy(context, organizationId);
      if (placeOfKeyCopy(copyKey, copy) === put) return;
      put = await renewCopies(context, job, destination, store);
    }
  } finally {
    await store.close();
  }
}

/** Where the current ones lie now. */
async function renewCopies(
  context: BackupsContext,
  job: RunningJob<{ organizationId: string; storageDestinationId: string }>,
  destination: DestinationRow,
  store: BlobStore,
): Promise<string> {
  const { organizationId, storageDestinationId } = job.data;
  const found = await takeInCopies(context, organizationId, store, job.signal);
  const { key } = await keepKeys(context, organizationId, store, job.signal);
  // Whoever removed the destination meanwhile may have taken the copies away before this one was put.
  const isRemoved = (await destinationOf(context, job.data))?.deletedAt;
  const isLeft = isRemoved && !(await areKeysNeeded(context, destination, store, job.signal));
  const former = isLeft ? [...found, key] : found.filter((place) => place !== key);
  await store.delete(former, { purge: true, signal: job.signal }).catch((error: unknown) => {
    if (!isEngineError(error, 'STORAGE_PERMISSION_DENIED')) throw error;
    context.platform.log.warn({ err: error, storageDestinationId }, 'former copies of keys could not be removed');
  });
  return key;
}

/** Also one that was removed; none of an organization that is deleted. */
function destinationOf(
  { platform: { database }, organizations }: BackupsContext,
  { organizationId, storageDestinationId }: { organizationId: string; storageDestinationId: string },
): Promise<DestinationRow | undefined> {
  return database.tenant(organizationId, async (transaction) => {
    if (!(await organizations.active(transaction, organizationId))) return undefined;
    const [found] = await storageStore.many(transaction, organizationId, [storageDestinationId]);
    return found;
  });
}

/** From a removed folder. What is current is put by nobody, but stays: another destination may be the same place. */
async function withdrawKeys(context: BackupsContext, destination: DestinationRow, signal: AbortSignal): Promise<void> {
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
  context: BackupsContext,
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
  { platform: { database, keyring, log } }: BackupsContext,
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
  context: BackupsContext,
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

async function currentCopy({ platform, keys }: BackupsContext, organizationId: string) {
  const { database, keyring } = platform;
  const kept = await database.tenant(organizationId, (transaction) => keys.kept(transaction, organizationId));
  return { copyKey: keyring.derive('key copies'), copy: { organizationId, keys: kept } };
}

/** Before anything is wrapped under a key in a place, the key lies there: the place and the master key are always enough. */
export async function keepKeys(context: BackupsContext, organizationId: string, store: BlobStore, signal: AbortSignal) {
  const { copyKey, copy } = await currentCopy(context, organizationId);
  return keepKeyCopy(store, copyKey, copy, { signal });
}

/** A backup is called completed when its key lies beside it, as far as the destination lets us. */
export async function keepKeysBeside(
  context: BackupsContext,
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
  context: BackupsContext,
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
