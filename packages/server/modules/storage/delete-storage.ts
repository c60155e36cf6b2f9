import { isEngineError } from '@holdfast/engine';
import { secondMs } from '../../platform/durations.ts';
import type { VersionedCaller } from '../../platform/principal.ts';
import { Problem } from '../../platform/problem.ts';
import { toJobError } from '../job-error.ts';
import { isWithoutCredentials } from './access/open-store.ts';
import type { StorageContext } from './context.ts';
import { type DestinationRow, destinationEtag, storageStore } from './storage-store.ts';
import { taskStore } from './tasks/task-store.ts';

/** A user waits for the answer. */
const takeKeysTimeoutMs = 8 * secondMs;

/** What happened to the copies of the organization's keys in a removed destination. */
export type KeysThere = 'removed' | 'shared' | 'needed' | 'refused' | 'left';

/**
 * Removes a destination and the copies of the organization's keys in it: nobody could remove them later, when a key is
 * withdrawn or the organization purged. The keys are removed after the record, so that a job which is storing them
 * notices. When the destination cannot be reached, or moved backups still need the keys, the record is removed all the
 * same, and the answer says that the keys stay.
 */
export async function deleteStorage(context: StorageContext, caller: VersionedCaller, id: string): Promise<KeysThere> {
  const { row, isShared } = await removeRecord(context, caller, id);
  if (isShared) return 'shared';
  // A destination that came with a moved project and never got credentials holds no keys of this organization.
  if (isWithoutCredentials(row)) return 'removed';
  const { keys, error } = await context.dependents.takeKeys(row, AbortSignal.timeout(takeKeysTimeoutMs)).then(
    (taken) => ({ keys: taken, error: undefined }),
    (reason: unknown) => ({ keys: leftFor(reason), error: toJobError(reason) }),
  );
  await context.platform.database.tenant(row.organizationId, (transaction) =>
    context.audit.noteCaller(transaction, caller, {
      action: keys === 'removed' ? 'storage.keys_removed' : 'storage.keys_left',
      resource: { type: 'storage_destination', id },
      details: { name: row.name, ...(keys === 'needed' && { neededByMovedBackups: true }), ...(error && { error }) },
    }),
  );
  return keys;
}

/** The storage refused the removal, because of a lock or a missing permission. */
function leftFor(reason: unknown): KeysThere {
  return isEngineError(reason, 'STORAGE_PERMISSION_DENIED') ? 'refused' : 'left';
}

/** Whether another destination is the same place is also checked under the lock. */
async function removeRecord(
  context: StorageContext,
  caller: VersionedCaller,
  id: string,
): Promise<{ row: DestinationRow; isShared: boolean }> {
  const { database, clock } = context.platform;
  const organizationId = caller.organization.id;
  return database.tenant(organizationId, async (transaction) => {
    const row = await storageStore.lock(transaction, organizationId, id);
    caller.requireMatch(destinationEtag(row));
    const tasks = await taskStore.openOf(transaction, organizationId, id);
    const usedBy = [
      ...(await context.dependents.users(transaction, organizationId, id)),
      ...tasks.map((task) => ({ type: 'storage_task', id: task.id })),
    ];
    if (usedBy.length > 0)
      throw new Problem('RESOURCE_IN_USE', 'Backups lie in this destination or something works on it.', {
        details: { usedBy: usedBy.slice(0, 100) },
      });
    if ((await context.defaults.get(transaction, organizationId)) === id)
      await context.defaults.set(transaction, caller, null);
    await storageStore.update(transaction, row, { deletedAt: clock.now(), credentials: null });
    await context.dependents.removed(transaction, row);
    await context.audit.noteCaller(transaction, caller, {
      action: 'storage.deleted',
      resource: { type: 'storage_destination', id: id },
      details: { name: row.name },
    });
    const others = await storageStore.all(transaction, organizationId);
    return { row, isShared: row.placeId !== null && others.some(({ placeId }) => placeId === row.placeId) };
  });
}
