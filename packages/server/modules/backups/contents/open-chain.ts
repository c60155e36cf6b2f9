import { BackupReader, type BlobStore, EngineError, isEngineError, openChain } from '@holdfast/engine';
import { Problem } from '../../../platform/problem.ts';
import type { DestinationRow } from '../../storage/index.ts';
import { backupStore } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';
import { BackupKeyRing } from '../keys/backup-keys.ts';
import { type LoadedBackup, loadBackup } from '../load-backup.ts';

export interface OpenedChain {
  readers: BackupReader[];
  /** The destination it is read from; damaged objects are read from the others. */
  readFrom: string;
  close(): Promise<void>;
}

export interface OpenChainOptions {
  /** Calls with a waiting user set this low. */
  attemptsMax?: number;
  /** Opens only the backup itself, not what it builds on: the content of one increment. */
  alone?: boolean;
}

/** Attempts per call to a destination while a person waits for the answer. */
export const interactive: OpenChainOptions = { attemptsMax: 4 };

/**
 * Opens a completed backup and everything it builds on. It cannot be removed until it is closed. Throws
 * BACKUP_NOT_FOUND and INVALID_STATE as the API documents them.
 */
export async function openChainOf(
  context: BackupsContext,
  organizationId: string,
  backupId: string,
  signal: AbortSignal,
  options: OpenChainOptions = {},
): Promise<OpenedChain> {
  return keepingUse(context, backupId, async () => {
    const loaded = await context.platform.database.tenant(organizationId, async (transaction) => {
      const row = await backupStore.get(transaction, organizationId, backupId);
      if (row.status !== 'completed')
        throw new Problem(
          'INVALID_STATE',
          `Only a completed backup can be read; the status of this one is ${row.status}.`,
          {
            details: { status: row.status },
          },
        );
      return loadBackup(context, transaction, organizationId, backupId);
    });
    if (!loaded) throw notThere();
    return openFirstGood(context, loaded, signal, options);
  });
}

/**
 * Opens the first copy whose chain can be opened, with the same protection. Damaged objects are read from the other
 * copies. When no copy opens, throws the error of the first one.
 */
export async function openAnyCopy(
  context: BackupsContext,
  loaded: Pick<LoadedBackup, 'row' | 'copies' | 'destinations'>,
  signal: AbortSignal,
  options: OpenChainOptions = {},
): Promise<OpenedChain> {
  const { id: backupId, organizationId } = loaded.row;
  return keepingUse(context, backupId, async () => {
    const row = await context.platform.database.tenant(organizationId, (transaction) =>
      backupStore.find(transaction, organizationId, backupId),
    );
    if (!row) throw notThere();
    return openFirstGood(context, loaded, signal, options);
  });
}

function notThere(): Problem {
  return new Problem('BACKUP_NOT_FOUND', 'There is no such backup in this organization.');
}

/** Holds the backup in use until it is closed: a removal waits or is refused. */
async function keepingUse(
  { platform: { database } }: BackupsContext,
  backupId: string,
  open: () => Promise<OpenedChain>,
): Promise<OpenedChain> {
  const release = await database.useLocks.hold([backupId]);
  try {
    const opened = await open();
    return { ...opened, close: () => opened.close().finally(release) };
  } catch (error) {
    await release();
    throw error;
  }
}

/** The name of the lock for using a backup in one destination: a migration waits for that alone. */
export function copyLockName(backupId: string, destinationId: string): string {
  return `${backupId} in ${destinationId}`;
}

async function openFirstGood(
  context: BackupsContext,
  loaded: Pick<LoadedBackup, 'row' | 'copies' | 'destinations'>,
  signal: AbortSignal,
  options: OpenChainOptions,
): Promise<OpenedChain> {
  const keys = await BackupKeyRing.load(context, loaded.row.organizationId);
  const failures: unknown[] = [];
  const destinations = loaded.copies
    .filter(({ status }) => status === 'completed')
    .flatMap(({ storageDestinationId }) => loaded.destinations.get(storageDestinationId) ?? []);
  for (const destination of destinations) {
    const places = [destination, ...destinations.filter((other) => other !== destination)] as const;
    try {
      return await openIn(context, loaded.row.id, places, keys, signal, options);
    } catch (error) {
      if (signal.aborted || !isEngineError(error)) throw error;
      failures.push(error);
    }
  }
  throw failures[0] ?? new Problem('INTEGRITY_ERROR', 'No copy of this backup is left.');
}

async function openIn(
  context: BackupsContext,
  backupId: string,
  places: readonly [DestinationRow, ...DestinationRow[]],
  keys: BackupKeyRing,
  signal: AbortSignal,
  options: OpenChainOptions,
): Promise<OpenedChain> {
  const { useLocks } = context.platform.database;
  const store = await context.stores.open(places[0], options);
  const others = await openOthers(context, places.slice(1), options);
  const closeStores = async () => {
    for (const one of [store, ...others.keys()]) await one.close();
  };
  const usesOf = (id: string) => places.map((place) => copyLockName(id, place.id));
  const release = await useLocks.hold(usesOf(backupId));
  try {
    const opening = { store, otherStores: [...others.keys()], backupId, keys, codec: context.engine.codec, signal };
    const readers = options.alone ? [await BackupReader.open(opening)] : await openChain(opening);
    const parents = readers.slice(0, -1).flatMap((reader) => usesOf(reader.backupId));
    const releaseParents = parents.length > 0 ? await useLocks.hold(parents) : async () => undefined;
    return {
      readers,
      readFrom: others.get(readers.at(-1)!.store)?.id ?? places[0].id,
      close: async () => {
        await Promise.all([release(), releaseParents()]);
        await closeStores();
      },
    };
  } catch (error) {
    await release();
    await closeStores();
    throw asDamage(error, backupId);
  }
}

/** Destinations that cannot be opened are left out. */
async function openOthers(
  context: BackupsContext,
  places: readonly DestinationRow[],
  options: OpenChainOptions,
): Promise<Map<BlobStore, DestinationRow>> {
  const opening = places.map(async (place) => [await context.stores.open(place, options), place] as const);
  const opened = await Promise.allSettled(opening);
  return new Map(opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])));
}

/** The record says that the backup exists. So a missing manifest is damage and not a wrong address. */
export function asDamage(error: unknown, backupId: string): unknown {
  if (!isEngineError(error, 'STORAGE_NOT_FOUND')) return error;
  return new EngineError('INTEGRITY_ERROR', `The manifest of ${backupId} is gone from its destination.`, {
    cause: error,
  });
}
