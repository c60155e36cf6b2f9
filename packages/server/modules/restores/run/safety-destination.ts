import type { BlobStore } from '@holdfast/engine';
import { Problem } from '../../../platform/problem.ts';
import { backupStore } from '../../backups/index.ts';
import { storageStore, withStore } from '../../storage/index.ts';
import type { RestoresContext } from '../context.ts';
import { type RestoreRow, restoreStore } from '../restore-store.ts';
import { openBackup } from './open-one-source.ts';

/**
 * Chooses the destination of the safety backup. Usually it is the one from which the restored data was read. This is
 * for a restore that did not read from a single destination; an undo may also outlive its data.
 */
export async function chooseSafetyDestination(
  context: RestoresContext,
  row: RestoreRow,
  signal: AbortSignal,
): Promise<string> {
  const { organizationId } = row;
  const asked = row.undoOf === null ? row : await undoneBy(context, row, row.undoOf);
  const backupId = row.backupId ?? asked.backupId ?? asked.items?.find((item) => item.backupId !== null)?.backupId;
  const readable = backupId ? await readablePlace(context, organizationId, backupId, signal) : undefined;
  if (readable) return readable;
  const usual = backupId ? [] : await placeOfLog(context, row, asked);
  const places = [...new Set([...usual, ...(await knownPlaces(context, row, backupId))])];
  const [first] = places;
  if (first === undefined)
    throw new Problem(
      'STORAGE_UNAVAILABLE',
      'What is about to be overwritten has nowhere to be saved, because the organization has no default storage destination.',
    );
  // With only one destination there is nothing to choose.
  if (places.length > 1) for (const place of places) if (await answers(context, row, place, signal)) return place;
  return first;
}

/** Another destination, after these refused the safety backup. */
export async function nextSafetyDestination(
  context: RestoresContext,
  row: RestoreRow,
  refused: readonly string[],
): Promise<string | undefined> {
  const places = await knownPlaces(context, row, row.backupId);
  return places.find((place) => !refused.includes(place));
}

async function placeOfLog(context: RestoresContext, row: RestoreRow, { projectId }: RestoreRow): Promise<string[]> {
  try {
    return [await context.moments.destinationOf(row.organizationId, projectId)];
  } catch (error) {
    // The log it was restored from may have been removed.
    if (row.undoOf === null || !(error instanceof Problem)) throw error;
    return [];
  }
}

/** The destinations of the backup, of the organization, and of other backups of the target, newest first. */
async function knownPlaces(
  context: RestoresContext,
  { organizationId, targetProjectId }: RestoreRow,
  backupId: string | null | undefined,
): Promise<string[]> {
  return context.platform.database.tenant(organizationId, async (transaction) => {
    const backup = backupId ? await backupStore.find(transaction, organizationId, backupId) : undefined;
    const organization = await context.organizations.active(transaction, organizationId);
    const others = await backupStore.newestCompleted(transaction, organizationId, targetProjectId, behindAllIds);
    const copies = await backupStore.copies(
      transaction,
      organizationId,
      others.map(({ id }) => id),
    );
    const whole = copies.filter(({ status }) => status === 'completed').map((copy) => copy.storageDestinationId);
    return [backup?.storageDestinationId ?? [], organization?.defaultStorageId ?? [], whole].flat();
  });
}

const behindAllIds = 'bkp_~';

/** A destination of the backup that can be read now. An undo does not need the backup's data, and may outlive it. */
async function readablePlace(
  context: RestoresContext,
  organizationId: string,
  backupId: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const { readFrom, close } = await openBackup(context, organizationId, backupId, signal);
    await close();
    return readFrom;
  } catch (error) {
    if (signal.aborted) throw error;
    return undefined;
  }
}

/** Whether the destination answers a listing. */
async function answers(
  { platform, stores }: RestoresContext,
  { organizationId }: RestoreRow,
  destinationId: string,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const destination = await platform.database.tenant(organizationId, (transaction) =>
      storageStore.get(transaction, organizationId, destinationId),
    );
    const ask = async (store: BlobStore) => {
      for await (const _ of store.list(`keys/${organizationId}/`, { signal })) break;
    };
    await withStore(stores, destination, ask, { attemptsMax: 2 });
    return true;
  } catch (error) {
    if (signal.aborted) throw error;
    return false;
  }
}

async function undoneBy(context: RestoresContext, { organizationId }: RestoreRow, id: string): Promise<RestoreRow> {
  return context.platform.database.tenant(organizationId, (transaction) =>
    restoreStore.get(transaction, organizationId, id),
  );
}
