import { isDeepStrictEqual } from 'node:util';
import { type BlobStore, type KeyRing, LogReader, type PutOptions, type SealContext } from '@holdfast/engine';
import { dayMs, later } from '../../platform/durations.ts';
import { Problem } from '../../platform/problem.ts';
import { type DestinationRow, storageStore } from '../storage/index.ts';
import type { PitrContext } from './context.ts';
import { type LogRow, pitrStore } from './pitr-store.ts';

export interface OpenedLog {
  readonly store: BlobStore;
  readonly seal: SealContext;
  readonly reader: LogReader;
  /** As it was when it was opened. */
  readonly destination: DestinationRow;
  /** The options for putting an object now. */
  put(): PutOptions;
  close(): Promise<void>;
}

/** Opens the log of a project with its key. */
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
    destination,
    put: () => lockOf(destination, platform.clock.now()),
    close: () => store.close(),
  };
}

/** The same for reading old moments. Opens the log where it lies now, and keeps it from being removed there. */
export async function openLogToRead(
  context: PitrContext,
  row: LogRow,
  options: { attemptsMax?: number } = {},
): Promise<OpenedLog> {
  const { database } = context.backups.platform;
  const release = await database.useLocks.hold([logLockName(row.logId, row.storageDestinationId)]);
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

/** The name of the lock for reading a log in one destination: a migration waits for that alone. */
export function logLockName(logId: string, destinationId: string): string {
  return `${logId} in ${destinationId}`;
}

/** The name of the lock for removing a log from one destination: a migration into it waits. */
export function logRemovalLockName(logId: string, destinationId: string): string {
  return `removal of ${logLockName(logId, destinationId)}`;
}

/** A reader of the log in a store that is already open. */
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

/**
 * Whether the destination still has the settings with which it was opened: bucket, credentials and lock count for what
 * is written next.
 */
export function hasSameSettings(before: DestinationRow, now: DestinationRow | undefined): boolean {
  const settings = ({ bucket, region, endpoint, forcePathStyle, credentials, objectLock }: DestinationRow) => [
    [bucket, region, endpoint, forcePathStyle],
    [credentials, objectLock],
  ];
  return now !== undefined && isDeepStrictEqual(settings(before), settings(now));
}

export function lockOf({ objectLock }: Pick<DestinationRow, 'objectLock'>, now: Date): PutOptions {
  return objectLock ? { lock: { mode: objectLock.mode, retainUntil: later(now, objectLock.days * dayMs) } } : {};
}
