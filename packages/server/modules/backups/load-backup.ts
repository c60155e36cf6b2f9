import type { ErrorCode } from '@holdfast/contract';
import type { BlobStore } from '@holdfast/engine';
import type { Transaction } from '../../platform/database/database.ts';
import { dayMs, later } from '../../platform/durations.ts';
import { Problem } from '../../platform/problem.ts';
import { type StoredError, toJobError } from '../job-error.ts';
import { type ProjectRow, projectStore } from '../projects/index.ts';
import { type DestinationRow, recordUse, storageStore } from '../storage/index.ts';
import { type BackupRow, backupStore, type CopyRow } from './backup-store.ts';
import type { BackupsContext } from './context.ts';
import type { BackupInEvent } from './events/backup-events.ts';
import { CopiesStore, type Copy } from './storage/copies-store.ts';

export interface LoadedBackup extends BackupInEvent {
  row: BackupRow;
  project: ProjectRow;
  copies: readonly CopyRow[];
  destinations: ReadonlyMap<string, DestinationRow>;
}

/** A backup with all that belongs to it; undefined when nothing has to be done for it any more. */
export async function loadBackup(
  context: BackupsContext,
  transaction: Transaction,
  organizationId: string,
  backupId: string,
): Promise<LoadedBackup | undefined> {
  const row = await backupStore.findAny(transaction, organizationId, backupId);
  const organization = await context.organizations.active(transaction, organizationId);
  const project = row && (await projectStore.findKept(transaction, organizationId, row.projectId));
  if (!row || !organization || !project) return undefined;
  const copies = await backupStore.copies(transaction, organizationId, [backupId]);
  const rows = await storageStore.many(
    transaction,
    organizationId,
    copies.map((copy) => copy.storageDestinationId),
  );
  const destinations = new Map(rows.map((destination) => [destination.id, destination]));
  return {
    row,
    project,
    copies,
    destinations,
    destination: destinations.get(row.storageDestinationId),
    organization: { id: organization.id, name: organization.name },
  };
}

/**
 * The destinations that a running backup still writes to, as one store. A destination that fails is marked and left
 * out.
 */
export async function openCopies(context: BackupsContext, loaded: LoadedBackup): Promise<CopiesStore> {
  const { database, clock } = context.platform;
  const { row } = loaded;
  const markFailed = async (storageDestinationId: string, error: unknown) => {
    const change = { status: 'failed' as const, error: toJobError(error, { storageDestinationId }) };
    await database.tenant(row.organizationId, async (transaction) => {
      await backupStore.updateCopy(transaction, row.organizationId, row.id, storageDestinationId, change);
      const destination = { organizationId: row.organizationId, id: storageDestinationId };
      if (isStorageFault(change.error)) await recordUse(context.platform, transaction, destination, change.error);
    });
  };
  const copies: Copy[] = [];
  let failure: unknown;
  for (const copy of loaded.copies) {
    const destination = loaded.destinations.get(copy.storageDestinationId);
    if (copy.status === 'failed' || !destination) continue;
    try {
      const store = await context.stores.open(destination);
      const { objectLock } = destination;
      const retainUntil = objectLock && later(clock.now(), objectLock.days * dayMs);
      copies.push({
        storageDestinationId: destination.id,
        store,
        ...(objectLock && retainUntil ? { lock: { mode: objectLock.mode, retainUntil } } : {}),
      });
    } catch (error) {
      failure ??= error;
      await markFailed(destination.id, error);
    }
  }
  return new CopiesStore(copies, markFailed, failure ?? failureBefore(loaded.copies));
}

/** The destination is to blame, not what was to be written. */
function isStorageFault({ code }: StoredError): boolean {
  return code.startsWith('STORAGE_');
}

/** Why an earlier job of the same backup left out a destination. */
function failureBefore(copies: readonly CopyRow[]): Problem | undefined {
  const error = copies.find((copy) => copy.status === 'failed')?.error;
  return error ? new Problem(error.code as ErrorCode, error.message, { details: { ...error.details } }) : undefined;
}

/** A store that a completed backup can be read from: its first good copy. */
export async function openReadable(
  context: BackupsContext,
  loaded: Pick<LoadedBackup, 'copies' | 'destinations'>,
): Promise<{ store: BlobStore; destination: DestinationRow }> {
  const readable = loaded.copies.filter((copy) => copy.status === 'completed');
  let failure: unknown;
  for (const copy of readable.length > 0 ? readable : loaded.copies) {
    const destination = loaded.destinations.get(copy.storageDestinationId);
    if (!destination) continue;
    try {
      return { store: await context.stores.open(destination), destination };
    } catch (error) {
      failure = error;
    }
  }
  throw failure ?? new Error('the backup has no copy that can be opened');
}
