import { type BlobStore, type KeyRing, LogReader, type SealContext } from '@holdfast/engine';
import { Problem } from '../../platform/problem.ts';
import { storageStore } from '../storage/index.ts';
import type { PitrContext } from './context.ts';
import { type LogRow, pitrStore } from './pitr-store.ts';

export interface OpenedLog {
  readonly store: BlobStore;
  readonly seal: SealContext;
  readonly reader: LogReader;
  readonly lock: { mode: 'governance' | 'compliance'; days: number } | null;
  close(): Promise<void>;
}

/** The log of a project in its destination, with its key. */
export async function openLog(
  context: PitrContext,
  row: LogRow,
  options: { attemptsMax?: number } = {},
): Promise<OpenedLog> {
  const { keys, stores, platform } = context.backups;
  const { destination, ring } = await platform.database.tenant(row.organizationId, async (transaction) => ({
    destination: await storageStore.find(transaction, row.organizationId, row.storageDestinationId),
    ring: (await keys.ring(transaction, row.organizationId)).ring,
  }));
  if (!destination) throw new Problem('STORAGE_DESTINATION_NOT_FOUND', 'The destination of the log is gone.');
  const seal = await sealOf(row, ring);
  const store = await stores.open(destination, options);
  return {
    store,
    seal,
    reader: new LogReader(store, seal),
    lock: destination.objectLock,
    close: () => store.close(),
  };
}

/** The same for who reads old moments from it: from where it lies now, and nothing is removed from there meanwhile. */
export async function openLogToRead(
  context: PitrContext,
  row: LogRow,
  options: { attemptsMax?: number } = {},
): Promise<OpenedLog> {
  const { database } = context.backups.platform;
  const release = await database.useLocks.hold([useOfLog(row.logId, row.storageDestinationId)]);
  try {
    const current = await database.tenant(row.organizationId, (transaction) =>
      pitrStore.findByLog(transaction, row.logId),
    );
    const isElsewhere = current && current.storageDestinationId !== row.storageDestinationId;
    const opened = isElsewhere ? await openLogToRead(context, current, options) : await openLog(context, row, options);
    return { ...opened, close: () => opened.close().finally(release) };
  } catch (error) {
    await release();
    throw error;
  }
}

/** How the reading of a log in one destination is called: a migration takes it away from there alone. */
export function useOfLog(logId: string, destinationId: string): string {
  return `${logId} in ${destinationId}`;
}

/** How the removal of a log from one destination is called: a migration into it waits until it is over. */
export function removalOfLog(logId: string, destinationId: string): string {
  return `removal of ${useOfLog(logId, destinationId)}`;
}

/** The same for a store that somebody has opened. */
export async function readerOf(context: PitrContext, row: LogRow, store: BlobStore): Promise<LogReader> {
  const { keys, platform } = context.backups;
  const { ring } = await platform.database.tenant(row.organizationId, (transaction) =>
    keys.ring(transaction, row.organizationId),
  );
  return new LogReader(store, await sealOf(row, ring));
}

async function sealOf(row: Pick<LogRow, 'logId' | 'database' | 'envelope'>, ring: KeyRing): Promise<SealContext> {
  return { ownerId: row.logId, dataKey: await ring.unwrap(row.logId, row.envelope), database: row.database };
}
