import type { Transaction } from '../../platform/database/database.ts';
import { isUnused } from '../../platform/database/use-locks.ts';
import type { Caller } from '../../platform/principal.ts';
import { Problem } from '../../platform/problem.ts';
import { taskStore } from '../storage/index.ts';
import { type BackupRow, backupEtag, backupStore } from './backup-store.ts';
import type { BackupsContext } from './context.ts';
import type { BackupHead } from './head-store.ts';
import { removeObjectsJob } from './jobs.ts';
import { admitBackups } from './run/admission.ts';
import { cancelBackup } from './run/end-backup.ts';

/** Cancels a waiting or running backup. Its workers notice within a second or two, and what was written is removed. */
export async function cancel(context: BackupsContext, caller: Caller, backupId: string): Promise<void> {
  const organizationId = caller.organization.id;
  await context.platform.database.tenant(organizationId, async (transaction) => {
    const row = await backupStore.lock(transaction, organizationId, backupId);
    if (!(await cancelBackup(context, transaction, row))) {
      throw new Problem('INVALID_STATE', `The backup is ${row.status} already.`, { details: { status: row.status } });
    }
    await context.audit.noteCaller(transaction, caller, {
      action: 'backup.cancelled',
      resource: resourceOf(row),
      details: { projectId: row.projectId },
    });
  });
  await admitBackups(context.platform);
}

/**
 * Deletes a backup: its record at once, its objects as a job. Refused when increments, restores, holds or locks need
 * it. Increments that were merged into a synthetic backup of the same moment do not count: their content lives on
 * there, and they are deleted together with their base. Returns how many backups were deleted.
 */
export async function deleteBackup(
  context: BackupsContext,
  caller: Caller,
  backupId: string,
  requireMatch: (etag: string) => void,
): Promise<number> {
  const organizationId = caller.organization.id;
  return context.platform.database.tenant(organizationId, async (transaction) => {
    const row = await backupStore.lock(transaction, organizationId, backupId);
    requireMatch(backupEtag(row));
    const going = await requireDeletable(context, transaction, row);
    for (const { row: removable, replacedBy } of going) {
      await removeRow(context, transaction, removable, replacedBy);
      const { projectId } = removable;
      const details = { projectId, ...(removable.id === backupId ? {} : { mergedWith: backupId }) };
      const note = { action: 'backup.deleted' as const, resource: resourceOf(removable), details };
      await context.audit.noteCaller(transaction, caller, note);
    }
    return going.length;
  });
}

export interface Removable {
  row: BackupHead;
  /** The synthetic backup with the same content; null when there is none and the backup is deleted all the same. */
  replacedBy: string | null;
}

/** The same as `requireRemovable`, for a deletion by a person: it must not make captured time unreachable. */
export async function requireDeletable(
  context: BackupsContext,
  transaction: Transaction,
  row: BackupHead,
): Promise<Removable[]> {
  const going = await requireRemovable(context, transaction, row);
  const ids = going.map(({ row: { id } }) => id);
  await context.requireNotOnlyBase(transaction, row, ids);
  return going;
}

/** The backup and the merged increments that are removed with it, newest first. Throws when one of them must stay. */
export async function requireRemovable(
  context: BackupsContext,
  transaction: Transaction,
  row: BackupHead,
): Promise<Removable[]> {
  requireFree(context, row);
  const { organizationId } = row;
  const below = await backupStore.descendants(transaction, organizationId, row.id);
  const usedBy = below.filter(({ mergedInto }) => mergedInto === null).map(({ id }) => ({ type: 'backup', id }));
  // The base is removed only when everything that replaces its increments was found whole.
  const removable: Removable[] = [{ row, replacedBy: below[0]?.mergedInto ?? null }];
  for (const { id, mergedInto } of usedBy.length === 0 ? below.toReversed() : []) {
    const increment = await backupStore.lock(transaction, organizationId, id);
    requireFree(context, increment);
    removable.unshift({ row: increment, replacedBy: mergedInto });
  }
  for (const { row: one } of removable) {
    usedBy.push(...(await context.readers(transaction, organizationId, one.id)));
    usedBy.push(...(await copyingTasks(transaction, one)));
    if (!(await isUnused(transaction, one.id))) usedBy.push({ type: 'reader', id: one.id });
  }
  if (usedBy.length > 0)
    throw new Problem('RESOURCE_IN_USE', inUse(usedBy), {
      details: { usedBy: usedBy.slice(0, 100) },
    });
  return removable;
}

function inUse(usedBy: readonly { type: string }[]): string {
  const increments = usedBy.filter(({ type }) => type === 'backup').length;
  if (increments === 0) return 'Something reads this backup now.';
  return 'Increments depend on this backup whose moments are in no other one, or in one that failed its verification: delete those first, the newest before the others.';
}

/** Open migrations of a place that holds the backup. */
export async function copyingTasks(transaction: Transaction, row: BackupHead): Promise<{ type: string; id: string }[]> {
  const copies = await backupStore.copies(transaction, row.organizationId, [row.id]);
  const tasks = new Set<string>();
  for (const { storageDestinationId } of copies)
    for (const { id, kind } of await taskStore.openOf(transaction, row.organizationId, storageDestinationId))
      if (kind === 'migrate') tasks.add(id);
  return [...tasks].map((id) => ({ type: 'storage_task', id }));
}

/** Throws when the backup is under legal hold, locked, or unfinished. */
export function requireFree(context: BackupsContext, row: BackupHead): void {
  const refuse = (reason: string) => {
    throw new Problem('INVALID_STATE', `The backup ${row.id} is ${reason}.`, { details: { status: row.status } });
  };
  if (row.legalHold) refuse('under legal hold');
  if (row.lockedUntil && row.lockedUntil > context.platform.clock.now())
    refuse(`locked by its storage until ${row.lockedUntil.toISOString()}`);
  if (row.status === 'pending' || row.status === 'running') refuse(`${row.status}; cancel it instead`);
}

/**
 * Marks a backup as removed, the first step of every removal; a job removes its objects. The replacement is read first,
 * and a backup whose replacement does not read well is kept.
 */
export async function removeRow(
  context: BackupsContext,
  transaction: Transaction,
  row: BackupHead,
  replacedBy: string | null = null,
): Promise<void> {
  const { clock, queue } = context.platform;
  const now = clock.now();
  await backupStore.update(transaction, row.organizationId, row.id, { deletedAt: now, updatedAt: now, replacedBy });
  await queue.enqueue(
    transaction,
    removeObjectsJob,
    { organizationId: row.organizationId, backupId: row.id },
    { key: `${row.id}/deleted` },
  );
}

export async function setHold(
  context: BackupsContext,
  caller: Caller,
  backupId: string,
  legalHold: boolean,
): Promise<void> {
  const organizationId = caller.organization.id;
  await context.platform.database.tenant(organizationId, async (transaction) => {
    // Deleting an organization checks for holds under the same lock.
    if (!(await context.organizations.hold(transaction, organizationId)))
      throw new Problem('ORGANIZATION_NOT_FOUND', 'There is no such organization.');
    await backupStore.lock(transaction, organizationId, backupId);
    const row = await backupStore.update(transaction, organizationId, backupId, {
      legalHold,
      updatedAt: context.platform.clock.now(),
    });
    if (!legalHold) await context.onFreed(transaction, row);
    const action = legalHold ? 'backup.held' : 'backup.released';
    await context.audit.noteCaller(transaction, caller, {
      action,
      resource: resourceOf(row),
      details: { projectId: row.projectId },
    });
  });
}

function resourceOf({ id }: Pick<BackupRow, 'id'>) {
  return { type: 'backup', id };
}
