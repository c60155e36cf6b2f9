import { type BlobStore, isEngineError, keepKeyCopy, readKeyCopies, removeKeyCopies } from '@holdfast/engine';
import { z } from 'zod';
import type { Transaction } from '../../../platform/database/database.ts';
import { defineJob, type Queue, type RunningJob } from '../../../platform/queue.ts';
import { storageStore } from '../../storage/index.ts';
import type { BackupsContext } from '../context.ts';

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

/** Enqueued in the transaction that changed the keys: every destination follows. */
export function renewKeyCopies(queue: Queue) {
  return async (transaction: Transaction, organizationId: string): Promise<void> => {
    for (const { id } of await storageStore.all(transaction, organizationId))
      await enqueueKeyCopy(queue, transaction, organizationId, id);
  };
}

export async function enqueueKeyCopy(
  queue: Queue,
  transaction: Transaction,
  organizationId: string,
  storageDestinationId: string,
): Promise<void> {
  const key = storageDestinationId;
  await queue.enqueue(transaction, keyCopyJob, { organizationId, storageDestinationId }, { key });
}

/** Puts what is current, then takes away what is not: a key that was withdrawn is not left lying there. */
export async function copyKeys(
  context: BackupsContext,
  job: RunningJob<{ organizationId: string; storageDestinationId: string }>,
): Promise<void> {
  const { organizationId, storageDestinationId } = job.data;
  const destination = await context.platform.database.tenant(organizationId, async (transaction) =>
    (await context.organizations.active(transaction, organizationId))
      ? storageStore.find(transaction, organizationId, storageDestinationId)
      : undefined,
  );
  if (destination?.status !== 'connected') return;
  const store = await context.stores.open(destination);
  try {
    const { key } = await keepKeys(context, organizationId, store, job.signal);
    await removeKeyCopies(store, organizationId, { keep: key, signal: job.signal }).catch((error: unknown) => {
      if (!isEngineError(error, 'STORAGE_PERMISSION_DENIED')) throw error;
      context.platform.log.warn({ err: error, storageDestinationId }, 'former copies of keys could not be removed');
    });
  } finally {
    await store.close();
  }
}

async function keepKeys(context: BackupsContext, organizationId: string, store: BlobStore, signal: AbortSignal) {
  const { database, keyring } = context.platform;
  const keys = await database.tenant(organizationId, (transaction) => context.keys.kept(transaction, organizationId));
  return keepKeyCopy(store, keyring.derive('key copies'), { organizationId, keys }, { signal });
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
