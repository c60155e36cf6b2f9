import {
  type BackupReader,
  type BlobStore,
  isEngineError,
  openChain,
  proveBackup,
  timeOfStore,
} from '@holdfast/engine';
import { requireClockAgreesWith } from '../../../platform/clock-agreement.ts';
import { type DestinationRow, storageStore, withStore } from '../../storage/index.ts';
import { backupStore } from '../backup-store.ts';
import { requireComplete } from '../contents/manifest-columns.ts';
import { asDamage } from '../contents/open-chain.ts';
import type { BackupsContext } from '../context.ts';
import { BackupKeyRing } from '../keys/backup-keys.ts';

export interface ProofOptions {
  signal: AbortSignal;
  /**
   * Reads and checks every byte. Otherwise only manifests are checked, and that every object is there in its full
   * length.
   */
  isThorough: boolean;
  /** Backups that were proved in this store before, such as the base of many increments. */
  proven?: Set<string>;
  /** Called for the backup and for everything it builds on, once they are opened. */
  onOpened?(reader: BackupReader): void;
}

/** Reads a backup and everything it builds on from one store, and throws when something is wrong with them. */
export async function proveCopy(
  context: BackupsContext,
  organizationId: string,
  store: BlobStore,
  backupId: string,
  { signal, isThorough, proven = new Set(), onOpened }: ProofOptions,
): Promise<void> {
  const keys = await BackupKeyRing.load(context, organizationId);
  const open = openChain({ store, backupId, keys, codec: context.engine.codec, signal });
  const chain = await open.catch((error: unknown) => {
    throw asDamage(error, backupId);
  });
  const prove = (reader: BackupReader) =>
    isThorough ? proveBackup(reader, { signal }) : requireComplete(store, reader, signal);
  for (const reader of chain) {
    onOpened?.(reader);
    if (proven.has(reader.backupId)) continue;
    await prove(reader).catch((error: unknown) => {
      throw asDamage(error, reader.backupId);
    });
    proven.add(reader.backupId);
  }
}

/** False only when the copy itself is damaged. Throws when the storage does not answer. */
export async function isCopyWhole(...proof: Parameters<typeof proveCopy>): Promise<boolean> {
  try {
    await proveCopy(...proof);
    return true;
  } catch (error) {
    if (isEngineError(error, 'INTEGRITY_ERROR') || isEngineError(error, 'DECRYPTION_ERROR')) return false;
    throw error;
  }
}

/** Whether one of the destinations holds the whole backup. A destination that cannot be asked does not count. */
export async function isWholeInAny(...where: Parameters<typeof conditionIn>): Promise<boolean> {
  return (await conditionIn(...where)) === 'whole';
}

/** The same, but tells a broken copy from a destination that could not be asked and may still hold a whole one. */
async function conditionIn(
  context: BackupsContext,
  organizationId: string,
  destinationIds: readonly string[],
  backupId: string,
  options: ProofOptions & { provenIn?: Map<string, Set<string>>; isTimeAsked?: boolean },
): Promise<'whole' | 'broken' | 'unknown'> {
  let found: 'broken' | 'unknown' = 'broken';
  for (const destination of await destinationsOf(context, organizationId, destinationIds)) {
    const proven = options.provenIn?.get(destination.id) ?? new Set<string>();
    options.provenIn?.set(destination.id, proven);
    try {
      await withStore(context.stores, destination, async (store) => {
        await proveCopy(context, organizationId, store, backupId, { ...options, proven });
        if (options.isTimeAsked)
          requireClockAgreesWith(context.platform.clock, await timeOfStore(store, options), store.location);
      });
      return 'whole';
    } catch (error) {
      if (options.signal.aborted || !isEngineError(error)) throw error;
      // A missing key says nothing about the objects that it sealed.
      if (error.code !== 'INTEGRITY_ERROR') found = 'unknown';
    }
  }
  return found;
}

/**
 * Whether a backup can still be read from the destinations that the catalogue names. Checks manifests and the length of
 * every object. Other backups are removed because this one exists and because of their age, so it throws when the clock
 * of a storage differs from ours: then nothing may be removed.
 */
export async function conditionOfBackup(
  context: BackupsContext,
  organizationId: string,
  backupId: string,
  signal: AbortSignal,
): ReturnType<typeof conditionIn> {
  const copies = await context.platform.database.tenant(organizationId, (transaction) =>
    backupStore.copies(transaction, organizationId, [backupId]),
  );
  const good = copies.filter(({ status }) => status === 'completed').map((copy) => copy.storageDestinationId);
  return conditionIn(context, organizationId, good, backupId, { signal, isThorough: false, isTimeAsked: true });
}

async function destinationsOf(
  context: BackupsContext,
  organizationId: string,
  ids: readonly string[],
): Promise<DestinationRow[]> {
  const rows = await context.platform.database.tenant(organizationId, (transaction) =>
    storageStore.many(transaction, organizationId, ids),
  );
  return rows.filter((row) => row.deletedAt === null);
}
