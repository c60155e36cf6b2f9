import type { Transaction } from '../../../platform/database/database.ts';
import { findEarlierResult } from '../../../platform/earlier-result.ts';
import type { Caller } from '../../../platform/principal.ts';
import { invalid, Problem } from '../../../platform/problem.ts';
import { requireOtherPlace } from '../access/places.ts';
import type { StorageContext } from '../context.ts';
import { type DestinationRow, storageStore } from '../storage-store.ts';
import { admitTasks } from './task-admission.ts';
import { type TaskRow, taskStore } from './task-store.ts';

export interface TaskOptions {
  /** Where a migration goes. */
  toId?: string;
  dryRun?: boolean;
}

/** Writes the task as pending; it runs once it is admitted. */
export async function startTask(
  context: StorageContext,
  caller: Caller,
  kind: TaskRow['kind'],
  destinationId: string,
  { toId, dryRun = false }: TaskOptions = {},
): Promise<TaskRow> {
  const { database, clock, ids } = context.platform;
  const organizationId = caller.organization.id;
  const made = await findEarlierResult(context.platform, caller, 'tsk', taskStore.find);
  if (made) return made;
  if (toId !== undefined) await requireOtherPlaces(context, organizationId, destinationId, toId);
  const task = await database.tenant(organizationId, async (transaction) => {
    // Two migrations in opposite directions would each take the other's originals for its own copies and remove them.
    await storageStore.lockPlaces(
      transaction,
      organizationId,
      toId === undefined ? [destinationId] : [destinationId, toId],
    );
    const row = await storageStore.get(transaction, organizationId, destinationId);
    if (toId !== undefined) {
      requireTarget(await storageStore.get(transaction, organizationId, toId), row);
      await requireIdle(context, transaction, organizationId, [destinationId, toId]);
    }
    const inserted = await taskStore.insert(transaction, {
      id: ids.next('tsk', caller.origin.newId),
      organizationId,
      storageDestinationId: destinationId,
      kind,
      status: 'pending',
      progress: { percent: 0, phase: 'Waiting', documents: 0, bytes: 0, etaSeconds: null },
      toStorageDestinationId: toId ?? null,
      ...(dryRun ? { result: { dryRun } } : {}),
      createdAt: clock.now(),
    });
    await context.audit.noteCaller(transaction, caller, {
      action: `storage.${kind}_started`,
      resource: { type: 'storage_destination', id: destinationId },
      details: { taskId: inserted.id, ...(toId ? { to: toId } : {}), ...(dryRun ? { dryRun } : {}) },
    });
    return inserted;
  });
  await admitTasks(context.platform);
  return task;
}

/** Done before the transaction, because both places have to be asked. */
async function requireOtherPlaces(
  context: StorageContext,
  organizationId: string,
  fromId: string,
  toId: string,
): Promise<void> {
  const [from, to] = await context.platform.database.tenant(organizationId, async (transaction) => [
    await storageStore.get(transaction, organizationId, fromId),
    await storageStore.get(transaction, organizationId, toId),
  ]);
  requireTarget(to as DestinationRow, from as DestinationRow);
  await requireOtherPlace(context, from as DestinationRow, to as DestinationRow);
}

function requireTarget(target: DestinationRow, from: DestinationRow): void {
  if (target.id === from.id) throw invalid('toStorageDestinationId', 'must be another destination');
  if (target.status !== 'connected') throw invalid('toStorageDestinationId', 'does not work at present; test it first');
}

/** Throws unless nothing else works on these destinations: a migration needs both for itself. */
async function requireIdle(
  context: StorageContext,
  transaction: Transaction,
  organizationId: string,
  destinationIds: readonly string[],
): Promise<void> {
  const usedBy: { type: string; id: string }[] = [];
  for (const id of destinationIds) {
    const tasks = await taskStore.openOf(transaction, organizationId, id);
    usedBy.push(...tasks.map((task) => ({ type: 'storage_task', id: task.id })));
    usedBy.push(...(await context.dependents.workOn(transaction, organizationId, id)));
  }
  if (usedBy.length > 0)
    throw new Problem('RESOURCE_IN_USE', 'Something works on these destinations; wait for it or cancel it.', {
      details: { usedBy: usedBy.slice(0, 100) },
    });
}
